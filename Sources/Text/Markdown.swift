/// A parsed Markdown text. Only those parts of Markdown are supported that the documentation's pages and the set-up
/// guides use.
package struct Markdown: Sendable {
    package enum Block: Sendable, Equatable {
        case heading(level: Int, String)
        case paragraph(String)
        case list([String])
        case table(head: [String], rows: [[String]])
        case code(String)
    }

    package private(set) var blocks: [Block] = []

    package init(parsing text: String) {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
        while let line = lines.first {
            if line.allSatisfy(\.isWhitespace) {
                lines.removeFirst()
            } else if line.hasPrefix("```") {
                lines.removeFirst()
                let body = lines.prefix { !$0.hasPrefix("```") }
                lines = lines.dropFirst(body.count + 1)
                blocks.append(.code(body.joined(separator: "\n")))
            } else if line.hasPrefix("#") {
                let level = line.prefix { $0 == "#" }.count
                blocks.append(.heading(level: level, String(line.dropFirst(level + 1))))
                lines.removeFirst()
            } else if line.hasPrefix("|") {
                parseTable(&lines)
            } else if Markdown.isItem(line) {
                parseList(&lines)
            } else {
                let body = lines.prefix {
                    !$0.isEmpty && !$0.hasPrefix("#") && !$0.hasPrefix("```") && !$0.hasPrefix("|")
                }
                lines = lines.dropFirst(max(body.count, 1))
                blocks.append(.paragraph(body.joined(separator: " ")))
            }
        }
    }

    private static func isItem(_ line: Substring) -> Bool {
        line.hasPrefix("- ") || line.hasPrefix("* ") || line.drop { $0.isNumber }.hasPrefix(". ")
    }

    private mutating func parseList(_ lines: inout ArraySlice<Substring>) {
        var items: [String] = []
        while let line = lines.first, !line.isEmpty {
            let text = line.drop { $0 == " " }
            if Markdown.isItem(text) {
                items.append(String(text.drop { $0 != " " }.dropFirst()))
            } else if !items.isEmpty {
                items[items.count - 1] += " \(text)"
            }
            lines.removeFirst()
        }
        blocks.append(.list(items))
    }

    private mutating func parseTable(_ lines: inout ArraySlice<Substring>) {
        var rows: [[String]] = []
        while let line = lines.first, line.hasPrefix("|") {
            rows.append(Markdown.cells(line))
            lines.removeFirst()
        }
        guard rows.count > 1 else { return }
        // The second line is dashes.
        blocks.append(.table(head: rows[0], rows: Array(rows.dropFirst(2))))
    }

    /// Returns the cells of a table's line, which are separated by `|`. A `|` in code or behind a backslash doesn't
    /// separate cells.
    private static func cells(_ line: Substring) -> [String] {
        var cells: [String] = []
        var cell = ""
        var isCode = false
        var isEscaped = false
        for character in line.dropFirst() {
            if character == "`" { isCode.toggle() }
            if character == "|", !isCode, !isEscaped {
                cells.append(String(cell.drop { $0 == " " }))
                cell = ""
            } else if character != "\\" {
                cell.append(character)
            }
            isEscaped = character == "\\"
        }
        return cells.map { cell in
            var cell = cell
            while cell.hasSuffix(" ") { cell.removeLast() }
            return cell
        }
    }
}
