/// How large the parts of a sequence diagram are, in pixels. A page has its diagrams in two sizes, and shows the one that fits.
struct DiagramSize {
    /// The class in the style sheet, which also sets the size of letters.
    let name: String
    /// Between two lifelines.
    let column: Int
    /// Between the first lifeline and the edge.
    let margin: Int
    /// Of a party's name.
    let box: (width: Int, height: Int)
    /// Between two arrows.
    let line: Int
    /// How wide a letter is, nearly.
    let letter: Int
    /// How many lines a label may have.
    let labelLines: Int
    /// Whether paths stand below arrows.
    let hasDetails: Bool

    /// As much of a window as there are parties to fill it with.
    static func wide(parties: Int) -> DiagramSize {
        let columns = [440, 440, 440, 380, 265]
        return DiagramSize(
            name: "wide", column: parties < columns.count ? columns[parties] : 196, margin: 110, box: (184, 30),
            line: 48,
            letter: 7, labelLines: 2, hasDetails: true)
    }

    /// Three parties on a phone.
    static let narrow = DiagramSize(
        name: "narrow", column: 108, margin: 54, box: (102, 40), line: 54, letter: 6, labelLines: 3, hasDetails: false)

    /// `text` in lines of at most `room` pixels, cut where it needs more than `limit` of them.
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
