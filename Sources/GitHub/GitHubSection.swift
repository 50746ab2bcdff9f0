import EmulatorCore
import JOSE
import JSON
import OAuth
import Time

/// The section `github` of the seed (the test data).
struct GitHubSection: SeedSection {
    static let name = "github"
    static let about = "GitHub."

    enum RedirectMismatch: String, CaseIterable, Sendable {
        case page
        case redirect
    }

    private enum DevicePolling: String, CaseIterable, Sendable {
        case tolerant
        case strict
    }

    private enum Checksum: String, CaseIterable, Sendable {
        case valid
        case invalid
    }

    /// Whether GitHub's authorization responses have the parameter `iss`. `nil` means that they have it if GitHub sends
    /// it on the day that the seed's `asOf` names.
    let addsIssuer: Bool?
    let redirectMismatch: RedirectMismatch
    /// The longest time by which a device may poll too early. GitHub has told devices that poll exactly every five
    /// seconds to slow down, so its tolerance seems to vary.
    let pollingTolerance: TimeSpan
    let deviceErrorStatus: Int
    let hasValidChecksums: Bool
    let codeLifetime: TimeSpan
    let deviceCodeLifetime: TimeSpan
    let accessTokenLifetime: TimeSpan
    let refreshTokenLifetime: TimeSpan
    let rateLimit: Int
    let anonymousRateLimit: Int
    let apps: [App]
    let organizations: [Organization]

    init(_ fields: inout Fields) {
        addsIssuer = fields.optional(
            "callbackIssuer", .boolean,
            "Add `iss` (RFC 9207) to callbacks; by default as github.com does on the day that `asOf` names.")
        redirectMismatch = fields(
            "redirectMismatch", .choice(RedirectMismatch.self), default: .page,
            "The answer to a redirect_uri that doesn't match: the page that github.com shows, or the redirect that its "
                + "documentation describes.")
        let polling = fields(
            "devicePolling", .choice(DevicePolling.self), default: .tolerant,
            "Whether a poll may come up to a second early.")
        pollingTolerance = polling == .strict ? .zero : .seconds(1)
        let errorStatus = fields(
            "deviceErrorStatus", .choice(["200", "400"]), default: "200",
            "The HTTP status of the device flow's errors; reports differ.")
        deviceErrorStatus = errorStatus == "400" ? 400 : 200
        let checksum = fields(
            "tokenChecksum", .choice(Checksum.self), default: .valid,
            "\"invalid\" keeps secret scanners from taking test tokens for real ones.")
        hasValidChecksums = checksum == .valid
        codeLifetime = fields(
            "codeLifetime", .duration, default: .minutes(10), "The lifetime of an authorization code.")
        deviceCodeLifetime = fields(
            "deviceCodeLifetime", .duration, default: .minutes(15), "The lifetime of a device code.")
        accessTokenLifetime = fields(
            "accessTokenLifetime", .duration, default: .hours(8), "The lifetime of an expiring token.")
        refreshTokenLifetime = fields(
            "refreshTokenLifetime", .duration, default: .days(184), "The lifetime of a refresh token that isn't used.")
        rateLimit = fields(
            "rateLimit", .integer(1...1_000_000_000), default: 5000, "Requests that a person may make in an hour.")
        anonymousRateLimit = fields(
            "anonymousRateLimit", .integer(1...1_000_000_000), default: 60, "Requests an hour without a token.")
        let oauthApps = fields.list(
            "oauthApps", of: ComposedRule { App(&$0, isGitHubApp: false) }, key: "clientID", "OAuth apps.")
        let githubApps = fields.list(
            "githubApps", of: ComposedRule { App(&$0, isGitHubApp: true) }, key: "clientID", "GitHub Apps.")
        apps = oauthApps + githubApps
        organizations = fields.list("orgs", of: Organization.self, key: "login", "Organizations.")
    }

    var seededClients: [SeededClient] {
        apps.map { app in
            let kind = app.isGitHubApp ? "GitHub App" : "OAuth app at GitHub"
            return SeededClient(
                id: app.clientID, kind: app.isSuspended ? "\(kind), suspended" : kind,
                addresses: app.callbacks.map(\.text).joined(separator: " "))
        }
    }

    func secret(ofClient id: String) -> String? { apps.first { $0.clientID == id }?.secret }

    /// Returns a numeric GitHub ID for an object that has none in the seed. The ID follows from the object's name.
    static func number(from text: String) -> Int {
        Int(DerivedNumber.of("github:\(text)") % 100_000_000) + 1000
    }
}

// MARK: - References

extension GitHubSection {
    static func check(_ references: inout SeedReferences) {
        let section = references.root[name]
        var clients: [String: LocatedJSON] = [:]
        let apps = (section?["oauthApps"]?.items ?? []) + (section?["githubApps"]?.items ?? [])
        for app in apps {
            references.claim(app["clientID"], as: "client ID", in: &clients)
            references.checkInteraction(app["interaction"])
            let callbacks = (app["callbackURLs"]?.items ?? []) + (app["exactCallbackURLs"]?.items ?? [])
            if callbacks.count > 10 { references.add(callbacks[10], "an app has at most ten callback URLs") }
        }
        let people = references.accounts.compactMap { $0[name]?["login"]?.string ?? $0["id"]?.string }
        let logins = KnownNames(section?["orgs"], "login") + KnownNames(people)
        for installation in apps.flatMap({ $0["installations"]?.items ?? [] }) {
            references.expect(installation, among: logins, "person or organization")
        }
        let members = Members(references)
        let clientIDs = KnownNames(clients.keys.sorted())
        for organization in section?["orgs"]?.items ?? [] {
            for list in ["owners", "publicMembers", "pendingMembers"] {
                members.check(organization[list], of: organization, &references)
            }
            for app in organization["approvedApps"]?.items ?? [] {
                references.expect(app, among: clientIDs, "app", in: " in github.oauthApps")
            }
            for team in organization["teams"]?.items ?? [] {
                for list in ["members", "maintainers"] { members.check(team[list], of: organization, &references) }
            }
        }
    }

    /// The members of GitHub organizations in a seed. An account lists its organizations. An organization only says
    /// which of its members are owners, public or pending.
    private struct Members {
        private let organizations: [String: [String]]

        init(_ references: SeedReferences) {
            organizations = Dictionary(
                references.accounts.compactMap { account in
                    account["id"]?.string.map { id in
                        (id, (account[name]?["orgs"]?.value.array ?? []).compactMap(\.string))
                    }
                }, uniquingKeysWith: { first, _ in first })
        }

        func check(_ list: LocatedJSON?, of organization: LocatedJSON, _ references: inout SeedReferences) {
            guard let login = organization["login"]?.string else { return }
            for member in list?.items ?? [] {
                guard let id = member.string else { continue }
                guard let own = organizations[id] else {
                    references.expectAccount(member)
                    continue
                }
                if !own.contains(login) {
                    references.add(member, "account \"\(id)\" doesn't have \"\(login)\" among its github.orgs")
                }
            }
        }
    }
}

extension GitHubSection {
    /// A registered OAuth app or GitHub App.
    struct App: SignInClient {
        /// The properties that only a GitHub App has, and an OAuth app doesn't.
        struct Details: Sendable {
            let id: Int
            let slug: String
            let permissions: [String: String]
            /// The accounts and organizations at which the GitHub App is installed: their logins in lower case, with
            /// their positions in the seed.
            private let installations: [String: Int]
            let webhookURL: String?
            let webhookSecret: String?
        }

        let clientID: String
        var id: String { clientID }
        let name: String
        let secret: String
        let url: String
        let about: String?
        let callbacks: [CallbackURL]
        let hasDeviceFlow: Bool
        let hasExpiringTokens: Bool
        let isSuspended: Bool
        let interaction: Interaction?
        /// The GitHub App's properties; `nil` for an OAuth app.
        let details: Details?

        var isGitHubApp: Bool { details != nil }

        init(_ fields: inout Fields, isGitHubApp: Bool) {
            clientID = fields("clientID", .text(.nonEmpty), "The client ID.")
            name = fields("name", .text(.nonEmpty), default: "Example", "The app's name on the consent page.")
            secret = fields(
                "clientSecret", .text(.nonEmpty), default: "github-secret-for-tests", "The client secret.")
            url = fields("url", .text(.url), default: "https://example.com", "The app's home page.")
            about = fields.nullable("description", .text(.any), "The app's description on the consent page.")
            let urls = fields(
                "callbackURLs", .set(of: .text(RegisteredRedirectURI.callbackRule)), default: [],
                "Registered callback URLs, at most ten.")
            let hasWildcards = fields(
                "wildcardMatching", .boolean, default: !isGitHubApp,
                "Whether subdomains and subdirectories of callback URLs match, too.")
            let exactURLs = fields(
                "exactCallbackURLs", .set(of: .text(RegisteredRedirectURI.callbackRule)), default: [],
                "Further callback URLs, for which wildcard matching is off.")
            callbacks =
                urls.map { CallbackURL($0, wildcard: hasWildcards) }
                + exactURLs.map { CallbackURL($0, wildcard: false) }
            hasDeviceFlow = fields("deviceFlow", .boolean, default: false, "Whether the device flow is on.")
            hasExpiringTokens = fields(
                "expiringTokens", .boolean, default: isGitHubApp,
                "Whether tokens expire and come with a refresh token.")
            isSuspended = fields("suspended", .boolean, default: false, "Whether GitHub has suspended the app.")
            interaction = fields.clientInteraction()
            details = isGitHubApp ? Details(&fields, clientID: clientID, name: name) : nil
        }
    }
}

extension GitHubSection.App.Details {
    /// Whether the GitHub App is installed at the account or organization with this login. Upper and lower case make no
    /// difference.
    func isInstalled(at login: String) -> Bool { installations[login.lowercased()] != nil }

    /// Returns the installations of the GitHub App at accounts or organizations with these logins, in the seed's order:
    /// the number of each installation, and the login.
    func installations(at logins: [String]) -> [(number: Int, login: String)] {
        let found = Dictionary(
            logins.compactMap { login in installations[login.lowercased()].map { ($0, login) } },
            uniquingKeysWith: { first, _ in first })
        return found.sorted { $0.key < $1.key }.map { (number: $0.key, login: $0.value) }
    }

    fileprivate init(_ fields: inout Fields, clientID: String, name: String) {
        id =
            fields.optional("id", .gitHubID, "The numeric app ID; made from the client ID by default.")
            ?? GitHubSection.number(from: "app:\(clientID)")
        slug =
            fields.optional("slug", .text(.identifier), "The name in addresses; made from the name by default.")
            ?? name.lowercased().split { !$0.isLetter && !$0.isNumber }.joined(separator: "-")
        let permissions = fields.map(
            "permissions", of: .choice(["read", "write", "admin"]),
            "Permissions, such as {\"emails\": \"read\", \"members\": \"read\"}.")
        self.permissions = Dictionary(permissions.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        let logins = fields(
            "installations", .set(of: .text(.identifier)), default: [],
            "The logins of the people and organizations that have installed it.")
        installations = Dictionary(
            logins.enumerated().map { ($1.lowercased(), $0) }, uniquingKeysWith: { first, _ in first })
        webhookURL = fields.nullable(
            "webhookURL", .text(.url), "The URL to which `github_app_authorization` is posted when a person revokes.")
        webhookSecret = fields.nullable("webhookSecret", .text(.nonEmpty), "The secret that signs webhooks.")
    }
}

extension GitHubSection {
    struct Organization: SchemaObject {
        let login: String
        let id: Int
        let name: String?
        let description: String?
        let company: String?
        let blog: String?
        let location: String?
        let email: String?
        let twitterUsername: String?
        let isVerified: Bool
        let publicRepos: Int
        let createdAt: Instant
        let updatedAt: Instant
        let owners: Set<String>
        let publicMembers: Set<String>
        let pendingMembers: Set<String>
        let oauthAppRestrictions: Bool
        let approvedApps: Set<String>
        let samlEnforced: Bool
        let teams: [Team]
        private let teamPlaces: [String: Int]
        /// The GitHub teams of each person, as positions in `teams`.
        private let placesByPerson: [String: [Int]]

        init(_ fields: inout Fields) {
            let login = fields("login", .text(.identifier), "The organization's login.")
            self.login = login
            id =
                fields.optional("id", .gitHubID, "The numeric ID; made from the login by default.")
                ?? GitHubSection.number(from: "org:\(login)")
            name = fields.nullable("name", .text(.any), "The display name.")
            description = fields.nullable("description", .text(.any), "The organization's description.")
            company = fields.nullable("company", .text(.any), "Company.")
            blog = fields.nullable("blog", .text(.any), "Website.")
            location = fields.nullable("location", .text(.any), "Place.")
            email = fields.nullable("email", .text(.email), "Public address.")
            twitterUsername = fields.nullable("twitterUsername", .text(.any), "Name at Twitter.")
            isVerified = fields("isVerified", .boolean, default: false, "Whether its domain is verified.")
            publicRepos = fields("publicRepos", .gitHubCount, default: 0, "Public repositories.")
            createdAt = fields("createdAt", .timestamp, default: .gitHubCreation, "The time at which it was created.")
            updatedAt = fields("updatedAt", .timestamp, default: .gitHubUpdate, "The time of the last change.")
            owners = Set(
                fields(
                    "owners", .set(of: .text(.identifier)), default: [], "Members who are owners, by account."))
            publicMembers = Set(
                fields(
                    "publicMembers", .set(of: .text(.identifier)), default: [],
                    "Members who show their membership, by account."))
            pendingMembers = Set(
                fields(
                    "pendingMembers", .set(of: .text(.identifier)), default: [],
                    "Members who haven't accepted their invitation yet, by account."))
            oauthAppRestrictions = fields(
                "oauthAppRestrictions", .boolean, default: false,
                "Whether OAuth apps need the organization's approval.")
            approvedApps = Set(
                fields(
                    "approvedApps", .set(of: .text(.nonEmpty)), default: [], "OAuth apps it approved, by client ID."))
            samlEnforced = fields(
                "samlEnforced", .boolean, default: false,
                "Whether tokens must be authorized for SAML single sign-on.")
            teams = fields.list("teams", of: ComposedRule { Team(&$0, of: login) }, key: "slug", "Teams.")
            teamPlaces = Dictionary(
                teams.enumerated().map { ($1.slug.lowercased(), $0) }, uniquingKeysWith: { first, _ in first })
            let people = teams.enumerated().flatMap { place, team in team.people.map { (id: $0, place: place) } }
            placesByPerson = Dictionary(grouping: people, by: \.id).mapValues { $0.map(\.place) }
        }

        /// Returns the organization's GitHub team with this slug. Upper and lower case make no difference.
        func team(slug: String) -> Team? { teamPlaces[slug.lowercased()].map { teams[$0] } }

        func teams(of account: String) -> [Team] { (placesByPerson[account] ?? []).map { teams[$0] } }

        func hides(from app: App) -> Bool {
            oauthAppRestrictions && !app.isGitHubApp && !approvedApps.contains(app.clientID)
        }
    }

    struct Team: Sendable {
        let slug: String
        let id: Int
        let name: String
        let description: String?
        let privacy: String
        /// The account IDs of the GitHub team's maintainers and members, each once.
        let people: [String]
        private let maintainers: Set<String>
        private let members: Set<String>

        init(_ fields: inout Fields, of organization: String) {
            slug = fields("slug", .text(.identifier), "The team's name in addresses.")
            id =
                fields.optional("id", .gitHubID, "The numeric ID; made from the slug by default.")
                ?? GitHubSection.number(from: "team:\(organization)/\(slug)")
            name = fields.optional("name", .text(.nonEmpty), "The display name; the slug by default.") ?? slug
            description = fields.nullable("description", .text(.any), "The team's description.")
            privacy = fields("privacy", .choice(["closed", "secret"]), default: "closed", "The team's visibility.")
            let members = fields("members", .set(of: .text(.identifier)), default: [], "Members, by account.")
            let maintainers = fields(
                "maintainers", .set(of: .text(.identifier)), default: [], "Maintainers, by account.")
            let leading = Set(maintainers)
            people = maintainers + members.filter { !leading.contains($0) }
            self.members = Set(members)
            self.maintainers = leading
        }

        func role(of account: String) -> String? {
            if maintainers.contains(account) { return "maintainer" }
            return members.contains(account) ? "member" : nil
        }
    }
}
