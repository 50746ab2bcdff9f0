import JSON

/// A text that a client can read: <https://modelcontextprotocol.io/specification/2026-07-28/server/resources>.
package struct Resource: Sendable {
    let uri: String
    let name: String
    let title: String
    let type: String
    let text: @Sendable () -> String

    /// Describes a resource.
    ///
    /// - Parameters:
    ///   - uri: the URI by which it is read.
    ///   - type: the media type.
    ///   - text: makes the text, each time it is read.
    package init(uri: String, name: String, title: String, type: String, text: @escaping @Sendable () -> String) {
        self.uri = uri
        self.name = name
        self.title = title
        self.type = type
        self.text = text
    }

    func json(in revision: Revision) -> JSONValue {
        var object = JSONObject([("uri", .string(uri)), ("name", .string(name))])
        if revision.hasTitlesAndStructure { object["title"] = .string(title) }
        object["mimeType"] = .string(type)
        return .object(object)
    }

    var contents: JSONValue { [["uri": .string(uri), "mimeType": .string(type), "text": .string(text())]] }
}
