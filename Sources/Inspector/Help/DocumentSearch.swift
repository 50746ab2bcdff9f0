import EmulatorCore

/// A section of a page with all words of a search.
struct FoundSection: Sendable {
    /// The page's name, such as `errors/apple`, and its title.
    let page, title: String
    /// The heading; `nil` for the section before the first heading below the title.
    let heading: String?
    /// The paragraph or the row with the most of the words.
    let excerpt: String
    fileprivate let score: Int
}

extension Documents {
    /// Returns the sections that have all words of `text`, the best first.
    static func search(_ text: String) -> [FoundSection] {
        let words = text.lowercased().split(whereSeparator: \.isWhitespace).prefix(8).map(String.init)
        guard !words.isEmpty else { return [] }
        return all.sorted { $0.key < $1.key }.flatMap { page, document in
            document.value.sections.compactMap { found(words, in: $0, of: page, document.value.title) }
        }.sorted { ($1.score, $0.page) < ($0.score, $1.page) }
    }

    private static func found(
        _ words: [String], in section: (heading: String?, texts: [String]), of page: String, _ title: String
    ) -> FoundSection? {
        func count(_ text: String) -> Int {
            let text = text.lowercased()
            return words.filter { text.contains($0) }.count
        }
        let heading = "\(title) \(section.heading ?? "")"
        let whole = "\(heading) \(section.texts.joined(separator: " "))"
        guard count(whole) == words.count else { return nil }
        let best = section.texts.max { count($0) < count($1) } ?? ""
        return FoundSection(
            page: page, title: title, heading: section.heading, excerpt: best,
            score: 4 * count(heading) + 2 * count(best) + (section.heading == nil ? 1 : 0))
    }
}

extension Document {
    /// The texts below each heading; a table has one for each row.
    fileprivate var sections: [(heading: String?, texts: [String])] {
        var sections: [(heading: String?, texts: [String])] = [(nil, [])]
        for (number, block) in blocks.enumerated() {
            var texts: [String] = []
            switch block {
            case .heading(_, let text):
                if number > 0 { sections.append((text, [])) }
            case .paragraph(let text), .code(let text): texts = [text]
            case .list(let items): texts = items
            case .table(_, let rows): texts = rows.map { $0.joined(separator: ": ") }
            }
            sections[sections.count - 1].texts += texts
        }
        return sections
    }
}
