import EmulatorCore
import JSON
import ModelContextProtocol

/// The tools of a protected resource. They show whose token a client has.
enum ResourceTools {
    /// The tool that needs a further scope.
    static let writeNote = "write_note"

    static let identity = ServerIdentity(
        name: "understudy-resource", title: "Understudy's protected resource", version: "1.0",
        about: "A server of the Model Context Protocol that takes access tokens of an issuer of Understudy's.",
        instructions: "whoami tells whose token is used; echo repeats a text; write_note needs a further scope.")

    private struct Message: SchemaObject {
        let text: String

        init(_ fields: inout Fields) { text = fields("text", .text(.any), "The text.") }
    }

    private struct Nothing: SchemaObject {
        init(_ fields: inout Fields) {}
    }

    private static let person = Schema.members([
        .required("issuer", .string, "Who gave the token out."),
        .required("client", .string, "The client that it was given to."),
        .required("sub", .string, "The person, or the client where it acts for itself."),
        .optional("account", .string, "The person's account."),
        .optional("name", .string, "The person's name."),
        .required("scopes", .strings(), "What was granted."),
        .optional("expires", .string, "Until when the token works."),
    ])
    private static let text = Schema.members([.required("text", .string, "The text.")])

    static func all(_ access: ResourceAccess) -> [Tool] {
        [
            Tool(
                "whoami", title: "Who am I", .reads, "Tells whose access token the request has, and what it allows.",
                arguments: Nothing.self, answers: person
            ) { _, _ in .object(description(of: access)) },
            Tool(
                "echo", title: "Echo", .reads, "Repeats a text.", arguments: Message.self, answers: text
            ) { message, _ in .object(JSONObject([("text", .string(message.text))])) },
            Tool(
                writeNote, title: "Write a note", .adds,
                "Takes a note, for which the access token needs a further scope. Nothing is kept.",
                arguments: Message.self, answers: text
            ) { message, _ in .object(JSONObject([("text", .string(message.text))])) },
        ]
    }

    private static func description(of access: ResourceAccess) -> JSONObject {
        var person = JSONObject([
            ("issuer", .string(access.issuer)), ("client", .string(access.client)), ("sub", .string(access.subject)),
        ])
        person["account"] = access.account.map { .string($0.id) }
        person["name"] = access.account.map { .string($0.fullName) }
        person["scopes"] = .array(access.scopes.map { .string($0) })
        person["expires"] = access.expires.map { .string($0.text) }
        return person
    }
}
