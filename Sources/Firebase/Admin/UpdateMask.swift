import EmulatorCore
import HTTPServer

/// `updateMask`: the fields that a PATCH sets, by their paths, such as `signIn.allowDuplicateEmails`.
/// <https://google.aip.dev/134>
///
/// A field that it names and that the body lacks is set to its default. What production does with a path that no field has
/// isn't documented: here it names nothing.
struct UpdateMask: Sendable {
    private let paths: [String]

    /// Of the request's query, in camel case or with underscores.
    init(_ exchange: Exchange) {
        let query = exchange.request.queryForm
        self.init(query["updateMask"] ?? query["update_mask"] ?? "")
    }

    init(_ text: String) {
        paths = text.split(separator: ",").prefix(UpdateMask.limit).map { path in
            path.split(separator: ".").map { MessageFields.camelCase(String($0)) }.joined(separator: ".")
        }
    }

    /// Names these fields, in camel case.
    init(named fields: [String]) { paths = fields }

    /// More paths than any resource has fields.
    private static let limit = 100

    /// Whether all fields are meant.
    var isFullUpdate: Bool { paths.isEmpty }

    /// Whether the field at this path is to be set: the mask names it or a message that it is part of, or is empty.
    func names(_ path: String) -> Bool {
        isFullUpdate || paths.contains { $0 == path || path.hasPrefix("\($0).") }
    }

    /// The paths that the mask names, of this field and of what is in it.
    func paths(below field: String) -> [String] {
        if names(field) { return [field] }
        return paths.filter { $0.hasPrefix("\(field).") }
    }

    /// Whether the mask names the message at this path, or any field of it.
    func touches(_ path: String) -> Bool { names(path) || paths.contains { $0.hasPrefix("\(path).") } }
}
