import EmulatorCore
import Text

/// A page of the documentation, which the build embeds from the folder `docs`.
package struct Document: Sendable {
    package let blocks: [Markdown.Block]

    /// The title of the documentation page: the text of its first heading.
    package var title: String {
        for case .heading(_, let text) in blocks { return text }
        return "Help"
    }

    init(parsing text: String) { blocks = Markdown(parsing: text).blocks }
}

extension Document {
    /// Returns the documentation page as HTML. `link` returns the URL for a link in the text, or `nil` to keep only the
    /// link's words. All table rows of the page are numbered: their IDs are `row-1`, `row-2` and so on.
    func html(link: (String) -> String?) -> [HTML] {
        var row = 0
        func inline(_ text: String) -> HTML { .group(Document.inline(text, link)) }
        return blocks.dropFirst(blocks.first.map(Document.isHeading) ?? false ? 1 : 0).map { block in
            switch block {
            case .heading(let level, let text):
                return .of("h\(min(max(level, 2), 4))", ["id": Document.anchor(text)], inline(text))
            case .paragraph(let text): return .of("p", inline(text))
            case .list(let items): return .list("ul", items.map(inline))
            case .code(let text): return .of("pre", ["tabindex": "0"], .of("code", .text(text)))
            case .table(let head, let rows):
                let rows = rows.map { cells in
                    row += 1
                    var line = HTML.Row(["id": "row-\(row)"])
                    line.cells = zip(cells, head).map { cell, _ in inline(cell) }
                    return line
                }
                return .table("stack", head, rows)
            }
        }
    }

    private static func isHeading(_ block: Markdown.Block) -> Bool {
        if case .heading = block { return true }
        return false
    }

    /// Returns the ID of a heading, made by the rules that GitHub uses:
    /// <https://docs.github.com/get-started/writing-on-github/getting-started-with-writing-and-formatting-on-github/basic-writing-and-formatting-syntax#section-links>
    static func anchor(_ heading: String) -> String {
        let kept = heading.lowercased().filter { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" || $0 == " " }
        return String(kept.map { $0 == " " ? "-" : $0 })
    }

    /// Returns a line of Markdown as HTML, with code, links and emphasis.
    static func inline(_ text: String, _ link: (String) -> String?) -> [HTML] {
        var output: [HTML] = []
        var plain = ""
        var rest = text[...]
        func flush() {
            if !plain.isEmpty { output.append(.text(plain)) }
            plain = ""
        }
        while let character = rest.first {
            if character == "`", let end = rest.dropFirst().firstIndex(of: "`") {
                flush()
                output.append(.of("code", .text(String(rest[rest.index(after: rest.startIndex)..<end]))))
                rest = rest[rest.index(after: end)...]
            } else if rest.hasPrefix("**"), let end = rest.dropFirst(2).firstRange(of: "**") {
                flush()
                let body = String(rest.dropFirst(2)[..<end.lowerBound])
                output.append(.of("strong", .group(inline(body, link))))
                rest = rest[end.upperBound...]
            } else if rest.hasPrefix("!["),
                let end = rest.firstRange(of: "](").flatMap({ middle in
                    rest[middle.upperBound...].firstIndex(of: ")")
                })
            {
                // Pictures of pages are left out: the pages themselves are here.
                rest = rest[rest.index(after: end)...]
            } else if character == "[", let middle = rest.firstRange(of: "]("),
                let end = rest[middle.upperBound...].firstIndex(of: ")")
            {
                flush()
                let words = HTML.group(inline(String(rest.dropFirst()[..<middle.lowerBound]), link))
                output.append(
                    link(String(rest[middle.upperBound..<end])).map { .of("a", ["href": $0], words) } ?? words)
                rest = rest[rest.index(after: end)...]
            } else {
                plain.append(character)
                rest.removeFirst()
            }
        }
        flush()
        return output
    }
}

/// A section of the documentation that contains all words of a search.
struct FoundSection: Sendable {
    /// The name of the documentation page that contains the section, such as `errors/apple`, and the page's title.
    let page, title: String
    /// The section's heading; `nil` for the text between the page's title and the first heading.
    let heading: String?
    /// The paragraph, list item or table row of the section that contains the most of the searched words.
    let excerpt: String
    fileprivate let score: Int
}

extension Documents {
    /// Returns the sections of the documentation that contain all words of `text`, the best first.
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
    /// The sections of the documentation page: each heading with the paragraphs and table rows below it.
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
