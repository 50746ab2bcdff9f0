import EmulatorCore
import HTTPServer
import JSON
import OAuth
import Recordings
import Time

// These sections describe a person at GitHub.

extension GitHubProvider {
    package func sections(of account: Account, in exchange: Exchange) -> [InspectedSection] {
        let apps = InspectedGrants<GitHubGrant>(of: account, in: exchange.world).section {
            $0.details.scopes.names
        } _: { grant in
            let app = directory.apps[grant.client]
            return InspectedItem(
                grant, named: app?.name, kind: app.map { $0.isGitHubApp ? "GitHub App" : "OAuth app" },
                since: grant.createdAt, scopes: grant.scopes.names, of: account, at: name)
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

    package func endToken(_ text: String, in exchange: Exchange) throws -> (kind: String, client: String)? {
        guard GitHubToken.kind(of: text) != nil else { return nil }
        return try exchange.world.update { tables in
            guard let token = tables.find(Token<GitHubGrant>.self, text) else { return nil }
            tables.revoke(token, because: "the token was revoked at a test's request")
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
                    "The browsers are signed out.",
                    .members([.required("sessions", .count, "The number of sessions that have ended.")])),
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
            account = fields("account", .text(.nonEmpty), "The ID of the account whose browsers are signed out.")
            session = fields.nullable("session", .text(.nonEmpty), "The ID of the only session to end.")
        }
    }

    /// Signs a person out at github.com, in all browsers or in one browser session, at a test's request.
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

extension GitHubProvider {
    package static var explainedValues: [ExplainedValue: String] {
        [.accessToken: "A token of GitHub's, to check its form"]
    }

    package static func explain(token text: String, meantAsIDToken: Bool) -> [ExplainedPart]? {
        guard let kind = GitHubToken.kind(of: text) else { return nil }
        typealias Finding = ExplainedPart.Finding
        var findings = [Finding(holds: nil, "it begins with \(kind.rawValue): \(kind.about)")]
        if meantAsIDToken {
            let advice = "it isn't an ID token: GitHub issues none; send it as the access token, without a nonce"
            findings.append(Finding(holds: false, advice))
        }
        let length = kind.rawValue.utf8.count + kind.length + GitHubToken.checksumLength
        switch GitHubToken.checksumHolds(in: text) {
        case nil:
            let advice = "it has \(text.utf8.count) characters where \(length) are expected: was it cut off?"
            findings.append(Finding(holds: false, advice))
        case true?:
            findings.append(Finding(holds: true, "its checksum, the last six characters, fits"))
        case false?:
            findings.append(
                Finding(
                    holds: false,
                    "its checksum, the last six characters, doesn't fit: it was mistyped or made up, as the samples in "
                        + "documentation are, or minted with \"tokenChecksum\": \"invalid\""))
        }
        findings.append(Finding(holds: nil, "whether it works, only the server knows: GET /user says"))
        return [ExplainedPart("GitHub token", findings)]
    }

    package static func explain(error: String) -> String? {
        guard let code = OAuthError.Code(rawValue: error) else { return nil }
        switch code {
        case .accessDenied: return "the person chose Cancel at GitHub's page: offer the sign-in again"
        case .redirectURIMismatch:
            return
                "the redirect_uri isn't the app's registered callback URL, nor below it: register it, or send the registered one"
        case .applicationSuspended: return "the app is suspended at GitHub: nobody can sign in with it"
        default: return OAuthError.description(of: code)
        }
    }

}

/// The GitHub apps and organizations in a seed, found by the names and numbers that requests use.
struct GitHubDirectory: Sendable {
    typealias TeamPlace = (organization: GitHubSection.Organization, team: GitHubSection.Team)

    let apps: [String: GitHubSection.App]
    private let organizations: [GitHubSection.Organization]
    private let byLogin: [String: Int]
    private let byNumber: [Int: Int]
    /// The positions of the GitHub teams in the seed, by team number. A seed may give several teams equal numbers.
    private let teamsByNumber: [Int: [(organization: Int, team: Int)]]
    /// The client IDs of all apps, sorted, for hints about unknown client IDs.
    private let clientIDs: [String]

    init(_ section: GitHubSection) {
        apps = Dictionary(section.apps.map { ($0.clientID, $0) }, uniquingKeysWith: { $1 })
        clientIDs = apps.keys.sorted()
        organizations = section.organizations
        byLogin = Dictionary(
            organizations.enumerated().map { ($1.login.lowercased(), $0) }, uniquingKeysWith: { first, _ in first })
        byNumber = Dictionary(
            organizations.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
        let teams = organizations.enumerated().flatMap { place, organization in
            organization.teams.enumerated().map { (number: $1.id, place: (organization: place, team: $0)) }
        }
        teamsByNumber = Dictionary(grouping: teams, by: \.number).mapValues { $0.map(\.place) }
    }

    /// Returns the GitHub organization with this login. Upper and lower case make no difference.
    func organization(_ login: String) -> GitHubSection.Organization? {
        byLogin[login.lowercased()].map { organizations[$0] }
    }

    func organization(number: Int) -> GitHubSection.Organization? { byNumber[number].map { organizations[$0] } }

    /// Returns the GitHub organizations to which an account belongs, in the seed's order.
    func organizations(of account: Account) -> [GitHubSection.Organization] {
        Set(account.github.orgs.compactMap { byLogin[$0.lowercased()] }).sorted().map { organizations[$0] }
    }

    /// Returns the GitHub team with this number, the first in the seed if there are several. If `organization` isn't
    /// `nil`, the team must belong to the organization with that number.
    func team(number: Int, inOrganization organization: Int? = nil) -> TeamPlace? {
        let places = teamsByNumber[number] ?? []
        guard
            let place = places.first(where: { organization == nil || organizations[$0.organization].id == organization }
            )
        else { return nil }
        return (organizations[place.organization], organizations[place.organization].teams[place.team])
    }

    func hint(forClient id: String) -> String { Spelling.hint(id, among: clientIDs) }

    func hint(forOrganization login: String) -> String {
        Spelling.hint(login, among: organizations.prefix(Spelling.limit).map(\.login))
    }
}
