import JSON
import ModelContextProtocol
import Understudy

// The people who can sign in.

extension DaemonTools {
    private struct Listing: SchemaObject {
        let id: String?
        let after: String?
        let limit: Int
        let world: String?

        init(_ fields: inout Fields) {
            id = fields.optional("id", .text(.nonEmpty), "Only the person with this ID.")
            after = fields.optional("after", .text(.nonEmpty), "Those after the person with this ID.")
            limit = fields("limit", .integer(1...100), default: 20, "How many at most.")
            world = WorldChoice.declare(&fields)
        }
    }

    var accounts: Tool {
        Tool(
            "list_accounts", title: "Who can sign in", .reads,
            "The people who can sign in, with their IDs (which other tools call account), addresses and what each provider knows of "
                + "them.",
            arguments: Listing.self
        ) { listing, _ throws(ToolFailure) in
            if let id = listing.id {
                let path = "accounts/\(DaemonAccess.segment(id))"
                let account = try daemon.call("GET", path, about: .world(listing.world))
                return .object(AnswerSize.fitted(account.object ?? JSONObject()))
            }
            let query = [("after", listing.after), ("limit", String(listing.limit))]
            let answer = try daemon.call("GET", "accounts", query: query, about: .world(listing.world))
            let page = Page.answer(
                "accounts", answer["accounts"]?.array ?? [], more: answer["more"]?.bool ?? false, last: { $0["id"] })
            return .object(page)
        }
    }

    var saveAccount: Tool {
        Tool(
            "save_account", title: "Add or change a person", .changes,
            "Adds a person who can sign in or, where there is one with this ID, changes the members that are given and leaves the "
                + "others. What the providers' objects may hold is in the documentation, page seed, section accounts[].",
            arguments: .withWorld(Providers.seedFormat.account.schema.outline)
        ) { arguments, _ throws(ToolFailure) in
            let (body, world) = arguments.bodyAndWorld
            let added = try daemon.ask("POST", "accounts", body: body, about: .world(world))
            guard added.status == 409, added.json["error"]?["code"]?.string == "accountExists" else {
                guard added.isSuccess else { throw DaemonAccess.failure(added) }
                return .object(AnswerSize.fitted(added.json.object ?? JSONObject()))
            }
            let path = "accounts/\(DaemonAccess.segment(body["id"]?.string ?? ""))"
            let changed = try daemon.call("PATCH", path, body: body, about: .world(world))
            return .object(AnswerSize.fitted(changed.object ?? JSONObject()))
        }
    }

    private struct AccountChoice: SchemaObject {
        let id: String
        let world: String?

        init(_ fields: inout Fields) {
            id = fields("id", .text(.nonEmpty), "The person's ID.")
            world = WorldChoice.declare(&fields)
        }
    }

    var removeAccount: Tool {
        Tool(
            "remove_account", title: "Remove a person", .changes,
            "Removes a person; what they had signed in to ends, as when an account is deleted at the provider.",
            arguments: AccountChoice.self
        ) { choice, _ throws(ToolFailure) in
            try daemon.call("DELETE", "accounts/\(DaemonAccess.segment(choice.id))", about: .world(choice.world))
            return .object(JSONObject([("removed", .string(choice.id))]))
        }
    }
}

extension Schema {
    /// The object without what its larger objects hold: they may be any. The daemon says what is wrong with them.
    fileprivate var outline: Schema {
        guard case .object(let members) = self else { return self }
        let large = members.fields.filter { field in
            guard case .object(let inner) = field.schema else { return false }
            return inner.fields.count > 3
        }
        let outlined = ComposedRule { fields in
            large.map { fields.optional($0.name, .map(of: .any), $0.about)?.count }
        }
        guard case .object(let others) = outlined.schema else { return self }
        let small = members.fields.filter { field in !large.contains { $0.name == field.name } }
        return .object(Members(small + others.fields))
    }
}
