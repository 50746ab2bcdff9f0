import JSON

/// A server's name, and its instructions for models.
package struct ServerIdentity: Sendable {
    let name: String
    let title: String
    let version: String
    let about: String
    let instructions: String

    /// Describes a server.
    ///
    /// - Parameters:
    ///   - about: a sentence for people.
    ///   - instructions: a text for models, which they read before they choose a tool.
    package init(name: String, title: String, version: String, about: String, instructions: String) {
        self.name = name
        self.title = title
        self.version = version
        self.about = about
        self.instructions = instructions
    }

    func json(in revision: Revision) -> JSONValue {
        var object = JSONObject([("name", .string(name))])
        if revision.hasTitlesAndStructure { object["title"] = .string(title) }
        object["version"] = .string(version)
        if revision.hasServerDescription { object["description"] = .string(about) }
        return .object(object)
    }
}
