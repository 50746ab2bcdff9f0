import JSON

/// A ready-made message to a language model. The user of a client chooses the message, and the client sends it:
/// <https://modelcontextprotocol.io/specification/2026-07-28/server/prompts>.
package struct Prompt: Sendable {
    package struct Argument: Sendable {
        let name: String
        let about: String
        let isRequired: Bool

        package init(_ name: String, _ about: String, isRequired: Bool = false) {
            self.name = name
            self.about = about
            self.isRequired = isRequired
        }
    }

    let name: String
    let title: String
    let about: String
    let arguments: [Argument]
    let text: @Sendable ([String: String]) -> String

    /// Describes a prompt. `text` makes the words for the language model from the arguments that the user has given.
    package init(
        _ name: String, title: String, _ about: String, arguments: [Argument],
        text: @escaping @Sendable ([String: String]) -> String
    ) {
        self.name = name
        self.title = title
        self.about = about
        self.arguments = arguments
        self.text = text
    }

    func json(in revision: Revision) -> JSONValue {
        var object = JSONObject([("name", .string(name))])
        if revision.hasTitlesAndStructure { object["title"] = .string(title) }
        object["description"] = .string(about)
        object["arguments"] = .array(
            arguments.map { argument in
                [
                    "name": .string(argument.name), "description": .string(argument.about),
                    "required": .bool(argument.isRequired),
                ]
            })
        return .object(object)
    }

    /// Returns the result of a request `prompts/get`. `given` are the arguments in the request.
    func result(_ given: JSONValue) throws(RPCError) -> JSONObject {
        var values: [String: String] = [:]
        for (name, value) in given.object?.members ?? [] {
            guard arguments.contains(where: { $0.name == name }), let text = value.string else {
                let known = arguments.map(\.name).joined(separator: ", ")
                throw .invalidParams("arguments: \(self.name) takes \(known), each a string")
            }
            values[name] = text
        }
        for argument in arguments where argument.isRequired && values[argument.name] == nil {
            throw .invalidParams("arguments: \(argument.name) is missing: \(argument.about)")
        }
        let content: JSONValue = ["type": "text", "text": .string(text(values))]
        return JSONObject([
            ("description", .string(about)), ("messages", [["role": "user", "content": content]]),
        ])
    }
}

/// A text that a client of the Model Context Protocol can read:
/// <https://modelcontextprotocol.io/specification/2026-07-28/server/resources>.
package struct Resource: Sendable {
    let uri: String
    let name: String
    let title: String
    let type: String
    let text: @Sendable () -> String

    /// Describes a resource of the Model Context Protocol.
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
