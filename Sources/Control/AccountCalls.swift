import HTTPServer
import JSON
import EmulatorCore

// The calls GET and POST /_understudy/v1/accounts; GET, PATCH and DELETE /_understudy/v1/accounts/ID

extension ControlAPI {
    /// The greatest number of accounts in one answer of `GET accounts`. Such an answer has about a megabyte.
    private static let accountsShown = 1_000

    private struct AccountPage: SchemaObject {
        let after: String?
        let limit: Int

        init(_ fields: inout Fields) {
            after = fields.optional("after", .text(.nonEmpty), "List accounts after the one with this ID.")
            limit = fields(
                "limit", .integer(1...ControlAPI.accountsShown), default: ControlAPI.accountsShown,
                "The most accounts to list.")
        }
    }

    var accountCalls: [Endpoint] {
        let shown = format.account
        let gone = CallAnswer.refusal(404, "noSuchAccount", "No account has this ID.")
        let taken = CallAnswer.refusal(
            409, "identifierTaken", "Another account has this login or numeric ID.")
        let path = ["The account's ID."]
        return [
            .control(
                "GET", "accounts", "Lists accounts: those in the seed first, then added ones.",
                reads: .query(AccountPage.self),
                answers: [
                    .json(
                        "Accounts.",
                        .members([
                            .required("accounts", .sequence(of: shown.schema), "The accounts."),
                            .optional("more", .boolean, "Whether more accounts follow after `last`."),
                            .optional("last", .string, "The last account's ID, if more follow."),
                        ])), .refusal(400, "noSuchAccount", "No account has the ID given as `after`."),
                ]
            ) { accounts($0, $1) },
            .control(
                "POST", "accounts", "Adds an account, in the seed file's format.", reads: .body(shown),
                answers: [
                    .json(201, "The account is added.", shown.schema),
                    .refusal(409, "accountExists", "An account with this ID exists."),
                    taken, .refusal(409, "tooManyAccounts", "The world has too many accounts."),
                ]
            ) { try addAccount($0, $1) },
            .control(
                "GET", "accounts/:id", "Shows an account, including defaults.", path: path,
                answers: [.json("The account.", shown.schema), gone]
            ) { account($0) },
            .control(
                "PATCH", "accounts/:id",
                "Changes an account by a JSON Merge Patch (RFC 7396): members of the patch replace the account's, and null restores a default.",
                path: path, reads: .unread(shown.schema.mergePatch, isOptional: false),
                answers: [.json("The account as changed.", shown.schema), gone, taken]
            ) { try changeAccount($0) },
            .control(
                "DELETE", "accounts/:id", "Deletes an account and its grants to apps.", path: path,
                answers: [.empty("The account is deleted."), gone]
            ) { try removeAccount($0) },
        ]
    }

    /// Lists a test world's accounts page by page: first those of the seed, in the seed's order, then those that were
    /// added at run time.
    private func accounts(_ exchange: Exchange, _ page: AccountPage) -> Response {
        let limit = page.limit
        let found = exchange.world.read { tables -> [Account]? in
            if let after = page.after, tables.account(after) == nil { return nil }
            return tables.rows(Account.self, after: page.after, limit: limit + 1)
        }
        guard let found else {
            return ControlAnswer.error(400, "noSuchAccount", exchange.noAccount(page.after ?? ""), path: "$.after")
        }
        var answer = JSONObject([("accounts", .array(found.prefix(limit).map(\.json)))])
        if found.count > limit, let last = found.prefix(limit).last {
            answer["more"] = true
            answer["last"] = .string(last.id)
        }
        return ControlAnswer.ok(.object(answer))
    }

    private func account(_ exchange: Exchange) -> Response {
        guard let account = find(exchange) else { return noSuchAccount(exchange) }
        return ControlAnswer.ok(account.json)
    }

    /// The greatest number of bytes that an account may have as JSON if it is added or changed at run time.
    private static let sizeLimit = 64 << 10

    private static func excess(of account: Account) -> Response? {
        let size = account.writtenJSON.serialized().count
        guard size > sizeLimit else { return nil }
        return ControlAnswer.error(
            400, "invalidBody", "the account has \(size) bytes of JSON; at most \(sizeLimit) bytes are allowed",
            path: "$")
    }

    private func addAccount(_ exchange: Exchange, _ account: Account) throws -> Response {
        if let refusal = ControlAPI.excess(of: account) { return refusal }
        let issues = account.issues(in: exchange.world.seed)
        guard issues.isEmpty else { return ControlAnswer.error(ControlAPI.issues(issues)) }
        let written = (try? body(of: exchange)) ?? [:]
        let outcome = try exchange.world.update { tables -> Addition in
            guard tables.count(Account.self) < Account.limit else { return .tooMany }
            guard tables.account(account.id) == nil else { return .notAsExpected }
            if let (path, owner) = tables.takenIdentifier(of: account, written: written) {
                return .taken(path: path, owner: owner)
            }
            tables.put(account)
            return .done
        }
        switch outcome {
        case .done: return ControlAnswer.ok(account.json, status: 201)
        case .taken(let path, let owner): return ControlAPI.makeIdentifierConflict(path, owner)
        case .tooMany:
            let message = "a test world can have at most \(Account.limit) accounts: delete some, or reset the world"
            return ControlAnswer.error(409, "tooManyAccounts", message)
        case .notAsExpected:
            let message =
                "the account \(Diagnosis.quote(account.id)) exists already: change it with PATCH accounts/\(account.id)"
            return ControlAnswer.error(409, "accountExists", message, path: "$.id")
        }
    }

    private enum Addition {
        case done
        /// The account isn't in the state that the call expected: it exists already, or another request has changed it.
        case notAsExpected
        case taken(path: String, owner: String)
        case tooMany
    }

    private static func makeIdentifierConflict(_ path: String, _ owner: String) -> Response {
        ControlAnswer.error(
            409, "identifierTaken",
            "the account \(Diagnosis.quote(owner)) already has this value, which must be unique", path: path)
    }

    private static func issues(_ found: [(path: String, message: String)]) -> [Issue] {
        found.map { Issue(file: "body", path: $0.path, message: $0.message) }
    }

    /// Changes an account by a JSON Merge Patch. This also changes each provider's data about the person, except for
    /// data that were set explicitly.
    private func changeAccount(_ exchange: Exchange) throws -> Response {
        while true {
            guard let account = find(exchange) else { return noSuchAccount(exchange) }
            let (changed, patch): (Account, JSONValue)
            do {
                patch = try body(of: exchange)
                if let id = patch["id"], id != .string(account.id) {
                    return ControlAnswer.error(
                        400, "invalidBody", "the id of an account can't be changed", path: "$.id")
                }
                changed = try self.account(ControlAPI.merge(account.writtenJSON, patch), in: exchange)
            } catch let issues as Issues {
                return ControlAnswer.error(issues.all)
            } catch {
                return (error as? ControlRefusal)?.response ?? ControlAnswer.error(400, "invalidBody", "\(error)")
            }
            if let refusal = ControlAPI.excess(of: changed) { return refusal }
            let known = Set(account.issues(in: exchange.world.seed).map(\.message))
            let issues = changed.issues(in: exchange.world.seed).filter { !known.contains($0.message) }
            guard issues.isEmpty else { return ControlAnswer.error(ControlAPI.issues(issues)) }
            // A change by another request in between is kept: this one is then computed again from its result.
            let outcome = try exchange.world.update { tables -> Addition in
                guard tables.account(account.id) == account else { return .notAsExpected }
                if let (path, owner) = tables.takenIdentifier(of: changed, written: patch, before: account) {
                    return .taken(path: path, owner: owner)
                }
                tables.change(Account.self, account.id) { $0 = changed }
                return .done
            }
            switch outcome {
            case .done: return ControlAnswer.ok(changed.json)
            case .taken(let path, let owner): return ControlAPI.makeIdentifierConflict(path, owner)
            case .notAsExpected, .tooMany: continue
            }
        }
    }

    private func removeAccount(_ exchange: Exchange) throws -> Response {
        guard let account = find(exchange) else { return noSuchAccount(exchange) }
        let reason = exchange.cause("the account was deleted")
        let removed = try exchange.world.update { tables -> [@Sendable (Exchange) throws -> Void]? in
            guard tables.account(account.id) != nil else { return nil }
            // This is done before the account is removed, so that providers can still look it up.
            let following = providers.compactMap {
                ($0 as? any KeepsGrants)?.accountDeleted(account.id, because: reason, from: &tables)
            }
            tables.remove(Account.self, account.id)
            return following
        }
        guard let removed else { return noSuchAccount(exchange) }
        for action in removed { try action(exchange) }
        return Response(status: 204)
    }

    // MARK: -

    private func account(_ json: JSONValue, in exchange: Exchange) throws(Issues) -> Account {
        try exchange.world.seed.format.account.value(checking: LocatedJSON(json, file: "body"))
    }

    private func find(_ exchange: Exchange) -> Account? {
        exchange.world.read { $0.account(exchange.parameters["id"] ?? "") }
    }

    private func noSuchAccount(_ exchange: Exchange) -> Response {
        let id = exchange.parameters["id"] ?? ""
        return ControlAnswer.error(404, "noSuchAccount", exchange.noAccount(id))
    }

    private func body(of exchange: Exchange) throws(ControlRefusal) -> JSONValue {
        do { return try JSONValue(parsing: exchange.request.body, limits: .control) } catch {
            throw ControlRefusal(
                ControlAnswer.error(400, "notJSON", "the body can't be read as JSON: \(error)", path: "$"))
        }
    }

    static func merge(_ target: JSONValue, _ patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var result = target.object ?? JSONObject()
        for (key, value) in changes.members {
            result[key] = value.isNull ? nil : merge(result[key] ?? .null, value)
        }
        return .object(result)
    }
}
