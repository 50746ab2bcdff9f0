import EmulatorCore
import HTTPServer
import JSON
import OAuth
import Time

// These sections describe a person at GitHub.

extension GitHubProvider {
    package func sections(of account: Account, in exchange: Exchange) -> [InspectedSection] {
        let apps = InspectedGrants<GitHubGrant>(of: account, in: exchange.world).section {
            $0.details.scopes.scopes.map(\.rawValue)
        } _: { grant in
            let app = directory.apps[grant.client]
            var item = InspectedItem(
                app?.name ?? grant.client, kind: app.map { $0.isGitHubApp ? "GitHub App" : "OAuth app" })
            item.facts = [
                InspectedFact("Client", .code(grant.client)), InspectedFact("Since", .time(grant.createdAt)),
            ]
            item.scopes = grant.scopes.scopes.map(\.rawValue)
            item.actions = app == nil ? [] : [.revoke(grant.client, of: account, at: name)]
            return item
        }
        let profile = profile(of: account, in: exchange)
        return [InspectedSection("Profile", [profile]), apps, browsers(of: account, in: exchange)]
    }

    private func profile(of account: Account, in exchange: Exchange) -> InspectedItem {
        let (known, document) = (account.github, UserDocument(account, RESTBase(exchange.address, isEnterprise: false)))
        var item = InspectedItem(known.login, kind: "GitHub account")
        item.facts = [InspectedFact("ID", .code(String(known.id)))]
        let organizations = directory.organizations(of: account)
        if !organizations.isEmpty {
            let shown = organizations.prefix(InspectedSection.limit).map { organization in
                let state = Membership(organization).state(of: account)
                return state == .pending ? "\(organization.login) (pending)" : organization.login
            }
            item.facts.append(InspectedFact("Organizations", .codes(shown)))
        }
        item.documents = [
            InspectedDocument("GET /user", .object(document.full(isPrivate: true))),
            InspectedDocument("GET /user/emails", .array(document.emails)),
        ]
        return item
    }

    private func browsers(of account: Account, in exchange: Exchange) -> InspectedSection {
        let (sessions, count) = exchange.world.read { tables in
            let sessions = tables.newest(Session.byAccount, account.id, limit: InspectedSection.limit)
            return (sessions.filter { $0.expires > tables.now }, tables.count(Session.byAccount, account.id))
        }
        let items = sessions.map { session in
            var item = InspectedItem(session.id, kind: "session at \(GitHubProvider.host)")
            item.facts = [InspectedFact("Until", .time(session.expires))]
            item.actions = [
                InspectedAction(
                    "Sign out", isDestructive: true, calling: "POST", "github/logouts",
                    ["account": .string(account.id), "session": .string(session.id)])
            ]
            return item
        }
        return .browsers(items, more: count - max(items.count, min(count, InspectedSection.limit)))
    }

    package func account(named subject: String, in world: World) -> String? {
        world.read { tables in tables.first(Account.byIdentifier, "github.id:\(subject)")?.id }
    }

    package func endToken(_ text: String, in exchange: Exchange) throws -> (kind: String, client: String)? {
        guard GitHubToken.kind(of: text) != nil else { return nil }
        return try exchange.world.update { tables in
            guard let token = tables.find(Token<GitHubGrant>.self, text) else { return nil }
            tables.revoke(token, because: "it was revoked by an order")
            return (token.kind.name, token.client)
        }
    }

    // MARK: - POST /_understudy/v1/github/logouts

    var logoutCall: Endpoint {
        .control(
            "POST", "github/logouts", "Signs a person out at github.com, in all browsers or in one.",
            reads: .body(LogoutOrder.self),
            answers: [
                .json(
                    "They are signed out.", .members([.required("sessions", .count, "How many sessions have ended.")])),
                .refusal(404, "noSuchAccount", "There is no such account."),
                .refusal(404, "noSuchSession", "The person has no such session."),
            ]
        ) { try signOutByOrder($0, $1) }
    }

    private struct LogoutOrder: SchemaObject {
        static let schemaName: String? = "GitHubLogout"

        let account: String
        let session: String?

        init(_ fields: inout Fields) {
            account = fields("account", .text(.nonEmpty), "Whose browsers are signed out.")
            session = fields.nullable("session", .text(.nonEmpty), "Only this session, by its id.")
        }
    }

    /// Signs a person out at github.com, in all browsers or in one.
    private func signOutByOrder(_ exchange: Exchange, _ order: LogoutOrder) throws -> Response {
        let (ended, isPerson) = try exchange.world.update { tables in
            let sessions = tables.rows(Session.byAccount, order.account).filter { session in
                session.expires > tables.now && order.session.map { $0 == session.id } ?? true
            }
            for session in sessions { tables.remove(Session.self, session.key) }
            return (sessions.count, tables.account(order.account) != nil)
        }
        guard isPerson || ended > 0 else {
            return ControlAnswer.error(404, "noSuchAccount", exchange.noAccount(order.account), path: "$.account")
        }
        if let session = order.session, ended == 0 {
            let message = "account \(Diagnosis.quote(order.account)) has no session \(Diagnosis.quote(session))"
            return ControlAnswer.error(404, "noSuchSession", message, path: "$.session")
        }
        return ControlAnswer.ok(["sessions": .integer(Int64(ended))])
    }
}
