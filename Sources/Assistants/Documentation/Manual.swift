import Inspector
import JSON
import ModelContextProtocol

/// Searches the documentation that is built into the program.
enum Manual {
    static let names = Documents.all.keys.sorted()

    /// The names of the providers for which the documentation has a page of errors.
    static let providersWithErrors = names.filter { $0.hasPrefix(errors) }.map { String($0.dropFirst(errors.count)) }
    private static let errors = "errors/"

    static var resources: [Resource] {
        names.map { name in
            Resource(
                uri: "understudy://docs/\(name)", name: name, title: Documents.all[name]?.value.title ?? name,
                type: "text/markdown"
            ) { Documents.text(name) ?? "" }
        }
    }

    // MARK: - Errors

    /// The greatest number of documented errors that one answer lists.
    private static let rowLimit = 12

    /// Returns the rows of the documentation's error tables that contain `text`, in upper or lower case.
    static func errors(named text: String, of provider: String?) -> JSONObject {
        let wanted = text.lowercased()
        var rows: [JSONValue] = []
        for name in providersWithErrors where provider == nil || name == provider {
            for case .table(let head, let all) in Documents.all[errors + name]?.value.blocks ?? [] {
                for cells in all where cells.contains(where: { $0.lowercased().contains(wanted) }) {
                    var row = JSONObject([("provider", .string(name))])
                    for (title, cell) in zip(head, cells) { row[title] = .string(cell) }
                    rows.append(.object(row))
                }
            }
        }
        var answer = JSONObject([
            ("found", .integer(Int64(rows.count))), ("errors", .array(Array(rows.prefix(rowLimit)))),
        ])
        if rows.isEmpty {
            answer["advice"] =
                "no documented error matches: try search_documentation, or list_sign_ins, which says why a request was refused"
        }
        return answer
    }
}

/// A section of a documentation page: one heading and the text below it.
struct ManualSection: Sendable {
    let page: String
    /// The section's heading, without Markdown's markup.
    let heading: String
    /// The Markdown of the section, including its heading.
    let text: String

    /// Returns the sections of the documentation page called `page`.
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

    /// Returns how well the section matches a search for `words`, which are in lower case. Up to five occurrences of
    /// each word count, and words in the heading count more. The result is 0 if the section lacks one of the words.
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

    /// Returns at most six lines of the section, beginning one line before the first line that contains one of the
    /// searched `words`. Of these lines, only the first `limit` bytes are returned.
    func excerpt(_ words: [String], limit: Int) -> String {
        let lines = text.split(separator: "\n")
        let first = lines.firstIndex { line in words.contains { line.lowercased().contains($0) } } ?? 0
        return AnswerSize.cut(lines[max(0, first - 1)...].prefix(6).joined(separator: "\n"), to: limit)
    }
}
