/// The sizes of the parts of a sequence diagram, in pixels. A page has its diagrams in two sizes, and shows the one
/// that fits.
struct DiagramSize {
    /// The class in the style sheet, which also sets the size of letters.
    let name: String
    /// The space between two lifelines.
    let column: Int
    /// The space between the first lifeline and the edge.
    let margin: Int
    /// The size of the box with a party's name.
    let box: (width: Int, height: Int)
    /// The space between two arrows.
    let line: Int
    /// The approximate width of a letter.
    let letter: Int
    /// The greatest number of lines in a label.
    let labelLines: Int
    /// Whether paths are shown below arrows.
    let hasDetails: Bool

    /// Returns the size for a window that is as wide as this number of parties needs.
    static func wide(parties: Int) -> DiagramSize {
        let columns = [440, 440, 440, 380, 265]
        return DiagramSize(
            name: "wide", column: parties < columns.count ? columns[parties] : 196, margin: 110, box: (184, 30),
            line: 48,
            letter: 7, labelLines: 2, hasDetails: true)
    }

    /// The size for three parties on a phone.
    static let narrow = DiagramSize(
        name: "narrow", column: 108, margin: 54, box: (102, 40), line: 54, letter: 6, labelLines: 3, hasDetails: false)

    /// Breaks `text` into lines of at most `room` pixels, and cuts it after `limit` lines.
    func lines(_ text: String, room: Int, limit: Int) -> [String] {
        let length = max(8, room / letter)
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, last.count + 1 + word.count <= length {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append(String(word))
            }
        }
        let isCut = lines.count > limit
        return lines.prefix(limit).enumerated().map { number, line in
            let goesOn = isCut && number == limit - 1
            if line.count <= length - (goesOn ? 2 : 0) { return goesOn ? "\(line) …" : line }
            return line.prefix(length - 1) + "…"
        }
    }
}
