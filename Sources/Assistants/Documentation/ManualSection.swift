import Inspector

/// A section of a page: one heading and the text below it.
struct ManualSection: Sendable {
    let page: String
    /// The heading without Markdown's signs.
    let heading: String
    /// The text with its heading, in Markdown.
    let text: String

    /// Returns the sections of a page, in order.
    static func all(of page: String) -> [ManualSection] {
        var sections: [ManualSection] = []
        var (heading, lines, isCode) = (page, [Substring](), false)
        func end() {
            guard lines.contains(where: { !$0.isEmpty }) else { return }
            sections.append(ManualSection(page: page, heading: heading, text: lines.joined(separator: "\n")))
        }
        for line in (Documents.text(page) ?? "").split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") { isCode.toggle() }
            if !isCode, line.hasPrefix("#") {
                end()
                heading = String(line.drop { $0 == "#" }.dropFirst()).replacing("`", with: "")
                lines = []
            }
            lines.append(line)
        }
        end()
        return sections
    }

    /// Returns how often lower-case words occur in this section; a heading counts more. It is zero if one of them
    /// doesn't occur.
    func score(_ words: [String]) -> Int {
        let (heading, text) = (heading.lowercased(), "\(page) \(text)".lowercased())
        var score = 0
        for word in words {
            let count = min(text.ranges(of: word).count, 5)
            guard count > 0 else { return 0 }
            score += count + (heading.contains(word) ? 10 : 0)
        }
        return score
    }

    /// Returns the lines around the first one that has one of the words.
    func excerpt(_ words: [String], limit: Int) -> String {
        let lines = text.split(separator: "\n")
        let first = lines.firstIndex { line in words.contains { line.lowercased().contains($0) } } ?? 0
        return AnswerSize.cut(lines[max(0, first - 1)...].prefix(6).joined(separator: "\n"), to: limit)
    }
}
