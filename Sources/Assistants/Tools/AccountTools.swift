import JSON
import ModelContextProtocol

// These are tools for the people who can sign in.

extension DaemonTools {
    private struct Listing: SchemaObject {
        let id: String?
        let limit: Int
        let world: String?

        init(_ fields: inout Fields) {
            id = fields.optional("id", .text(.nonEmpty), "Only the person with this ID.")
            limit = fields("limit", .integer(1...100), default: 20, "How many at most.")
            world = WorldChoice.declare(&fields)
        }
    }

    /// The schema of an account in a tool's answer. Objects with one provider's data are described without their
    /// members.
    private static let person = DeclaredCall("GET", "accounts/:id").answer.outline

    var accounts: Tool {
        let page = Page("accounts", of: DaemonTools.person, "People.", goesOn: true)
        return Tool(
            "list_accounts", title: "Who can sign in", .reads,
            "The people who can sign in, with their IDs (which other tools call account), addresses and what each provider knows of "
                + "them.",
            arguments: .arguments(DeclaredCall("GET", "accounts").fields("after"), Listing.schema.fields),
            answers: page.schema
        ) { arguments, _ throws(ToolFailure) in
            let listing = Listing(reading: arguments)
            if let id = listing.id {
                let path = "accounts/\(DaemonAccess.segment(id))"
                return .object(try page.answer([try daemon.call("GET", path, about: .world(listing.world))]))
            }
            let query = [("after", arguments["after"]?.string), ("limit", String(listing.limit))]
            let answer = try daemon.call("GET", "accounts", query: query, about: .world(listing.world))
            return .object(
                try page.answer(
                    DaemonAccess.list("accounts", in: answer), more: answer["more"]?.bool ?? false, last: { $0["id"] }))
        }
    }

    var saveAccount: Tool {
        Tool(
            "save_account", title: "Add or change a person", .changes,
            "Adds a person who can sign in or, where there is one with this ID, changes the members that are given and leaves the "
                + "others. What the providers' objects may hold is in the documentation, page seed, section accounts[].",
            arguments: .withWorld(Schema.arguments(DeclaredCall("POST", "accounts").fields).outline.fields),
            answers: DaemonTools.person.answered
        ) { arguments, _ throws(ToolFailure) in
            let (body, world) = arguments.bodyAndWorld
            let added = try daemon.ask("POST", "accounts", body: body, about: .world(world))
            guard added.status == 409, added.json["error"]?["code"]?.string == "accountExists" else {
                guard added.isSuccess else { throw DaemonAccess.failure(added) }
                return .object(try AnswerSize.fitted(added.json.object ?? JSONObject(), DaemonTools.person))
            }
            let path = "accounts/\(DaemonAccess.segment(body["id"]?.string ?? ""))"
            return try daemon.answer("PATCH", path, body: body, about: .world(world), as: DaemonTools.person)
        }
    }
}
