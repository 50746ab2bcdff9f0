import EmulatorCore

extension Document {
    /// Returns the page's blocks. `link` returns the address of a link in the text; `nil` leaves the words without a
    /// link. Rows of tables have the IDs `row-1`, `row-2` and so on, through all tables of the page.
    func html(link: (String) -> String?) -> [HTML] {
        var row = 0
        return blocks.dropFirst(blocks.first.map(Document.isHeading) ?? false ? 1 : 0).map { block in
            switch block {
            case .heading(let level, let text):
                return .element(
                    "h\(min(max(level, 2), 4))", attributes: [(name: "id", value: Document.anchor(text))],
                    children: Document.inline(text, link))
            case .paragraph(let text):
                return .element("p", attributes: [], children: Document.inline(text, link))
            case .list(let items):
                return .element(
                    "ul", attributes: [],
                    children: items.map { .element("li", attributes: [], children: Document.inline($0, link)) })
            case .code(let text):
                return .tag("pre", [("tabindex", "0")], .tag("code", [], text))
            case .table(let head, let rows):
                let cells = rows.map { cells -> HTML in
                    row += 1
                    return .element(
                        "tr", attributes: [(name: "id", value: "row-\(row)")],
                        children: zip(cells, head).map { cell, name in
                            .element(
                                "td", attributes: [(name: "data-label", value: name)],
                                children: Document.inline(cell, link))
                        })
                }
                return .tag(
                    "table", [("class", "stack")],
                    .tag(
                        "thead", [],
                        .element(
                            "tr", attributes: [],
                            children: head.map { name in
                                .element(
                                    "th", attributes: [(name: "scope", value: "col")],
                                    children: Document.inline(name, link))
                            })),
                    .element("tbody", attributes: [], children: cells))
            }
        }
    }

    private static func isHeading(_ block: Block) -> Bool {
        if case .heading = block { return true }
        return false
    }

    /// Returns the ID of a heading, as GitHub makes it:
    /// <https://docs.github.com/get-started/writing-on-github/getting-started-with-writing-and-formatting-on-github/basic-writing-and-formatting-syntax#section-links>
    static func anchor(_ heading: String) -> String {
        let kept = heading.lowercased().filter { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" || $0 == " " }
        return String(kept.map { $0 == " " ? "-" : $0 })
    }

    /// Returns a text with code, links and emphasis.
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
                output.append(.tag("code", [], String(rest[rest.index(after: rest.startIndex)..<end])))
                rest = rest[rest.index(after: end)...]
            } else if rest.hasPrefix("**"), let end = rest.dropFirst(2).firstRange(of: "**") {
                flush()
                let body = String(rest.dropFirst(2)[..<end.lowerBound])
                output.append(.element("strong", attributes: [], children: inline(body, link)))
                rest = rest[end.upperBound...]
            } else if rest.hasPrefix("!["),
                let end = rest.firstRange(of: "](").flatMap({ middle in
                    rest[middle.upperBound...].firstIndex(of: ")")
                })
            {
                // This is a picture of a page, left out because the page itself is here.
                rest = rest[rest.index(after: end)...]
            } else if character == "[", let middle = rest.firstRange(of: "]("),
                let end = rest[middle.upperBound...].firstIndex(of: ")")
            {
                flush()
                let words = inline(String(rest.dropFirst()[..<middle.lowerBound]), link)
                if let url = link(String(rest[middle.upperBound..<end])) {
                    output.append(.element("a", attributes: [(name: "href", value: url)], children: words))
                } else {
                    output += words
                }
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
