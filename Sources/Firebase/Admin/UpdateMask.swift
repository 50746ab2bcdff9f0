import EmulatorCore
import HTTPServer

/// The parameter `updateMask`: the paths of the fields that a PATCH sets, such as `signIn.allowDuplicateEmails`.
/// <https://google.aip.dev/134>
///
/// A field that the mask names and the body lacks is set to its default. What production does with the path of an
/// unknown field isn't documented: here it is ignored.
struct UpdateMask: Sendable {
    private let paths: [String]

    /// Reads the mask in the request's query, in camel case or with underscores.
    init(_ exchange: Exchange) {
        let query = exchange.request.queryForm
        self.init(query["updateMask"] ?? query["update_mask"] ?? "")
    }

    init(_ text: String) {
        paths = text.split(separator: ",").prefix(UpdateMask.limit).map { path in
            path.split(separator: ".").map { MessageFields.camelCase(String($0)) }.joined(separator: ".")
        }
    }

    /// Makes a mask of these fields, in camel case.
    init(named fields: [String]) { paths = fields }

    /// The greatest number of paths: more than any resource has fields.
    private static let limit = 100

    /// Whether the mask is empty, which means all fields.
    var isFullUpdate: Bool { paths.isEmpty }

    /// Whether the field at this path is to be set: the mask is empty, or names it or a message that it is part of.
    func names(_ path: String) -> Bool {
        isFullUpdate || paths.contains { $0 == path || path.hasPrefix("\($0).") }
    }

    /// Returns the paths in the mask that are this field or a part of it.
    func paths(below field: String) -> [String] {
        if names(field) { return [field] }
        return paths.filter { $0.hasPrefix("\(field).") }
    }

    /// Whether the mask names the message at this path, or any field of it.
    func touches(_ path: String) -> Bool { names(path) || paths.contains { $0.hasPrefix("\(path).") } }
}
