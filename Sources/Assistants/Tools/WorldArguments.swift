import EmulatorCore
import JSON
import Time

/// The argument that every tool has which is about a world.
struct WorldChoice: SchemaObject {
    let world: String?

    init(_ fields: inout Fields) { world = WorldChoice.declare(&fields) }

    static func declare(_ fields: inout Fields) -> String? {
        fields.optional(
            "world", .text(.world),
            "The world that it is about. Left out: the one that the app under test uses by default.")
    }
}

extension TextRule {
    static let world = TextRule(about: WorldName.rule, pattern: "^[A-Za-z0-9._-]{1,64}$") { WorldName.isValid($0) }

    static let signedDuration = TextRule(
        about: "a duration such as \"6m\", or \"-6m\" to go back", pattern: "^-?[0-9]+(ms|s|m|h|d)$"
    ) { TimeSpan($0) != nil }

    /// How long a tool may wait.
    static let wait = TextRule(about: "a duration of at most a minute, such as \"20s\"", pattern: "^[0-9]+(ms|s|m)$") {
        text in
        TimeSpan(text).map { (.zero ... .minutes(1)).contains($0) } ?? false
    }
}

extension Schema {
    /// An object with the members of a call's body, and a world.
    static func withWorld(_ body: Schema) -> Schema {
        let fields = [body, WorldChoice.schema].flatMap { schema -> [Field] in
            guard case .object(let members) = schema else { return [] }
            return members.fields
        }
        return .object(Members(fields))
    }
}

extension JSONValue {
    /// Arguments that are a call's body and a world.
    var bodyAndWorld: (body: JSONValue, world: String?) {
        var body = object ?? JSONObject()
        let world = body["world"]?.string
        body["world"] = nil
        return (.object(body), world)
    }
}
