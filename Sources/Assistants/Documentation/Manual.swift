import Inspector
import JSON
import ModelContextProtocol

/// Searches the built-in documentation.
enum Manual {
    static let names = Documents.all.keys.sorted()

    /// The providers that have a page of errors.
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

    /// The most rows that are shown.
    private static let rowLimit = 12

    /// Returns the rows of the error tables that contain a text, in upper or lower case.
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
                "no table has it: search_documentation finds it elsewhere, and list_sign_ins says why a request was refused"
        }
        return answer
    }
}
