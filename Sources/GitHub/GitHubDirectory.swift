import JOSE
import OAuth
import EmulatorCore

/// The apps and organizations of a seed, looked up by what requests name.
struct GitHubDirectory: Sendable {
    struct App: Sendable {
        /// What only a GitHub App has.
        struct Details: Sendable {
            let id: Int
            let slug: String
            let permissions: [String: String]
            let installations: [String]
            let webhookURL: String?
            let webhookSecret: String?
        }

        let clientID: String
        let name: String
        let secret: String
        let url: String
        let about: String?
        let callbacks: [CallbackURL]
        let hasDeviceFlow: Bool
        let hasExpiringTokens: Bool
        let isSuspended: Bool
        let interaction: Interaction?
        /// `nil` for an OAuth app.
        let details: Details?

        var isGitHubApp: Bool { details != nil }

        fileprivate init(_ seed: GitHubSeed.OAuthApp, details: Details? = nil) {
            clientID = seed.clientID
            name = seed.name
            secret = seed.clientSecret
            url = seed.url
            about = seed.description
            callbacks =
                seed.callbackURLs.map { CallbackURL($0, wildcard: seed.wildcardMatching) }
                + seed.exactCallbackURLs.map { CallbackURL($0, wildcard: false) }
            hasDeviceFlow = seed.deviceFlow
            hasExpiringTokens = seed.expiringTokens
            isSuspended = seed.suspended
            interaction = seed.interaction
            self.details = details
        }
    }

    struct Team: Sendable {
        let seed: GitHubSeed.Organization.Team
        let id: Int

        var name: String { seed.name ?? seed.slug }

        var people: [String] { seed.maintainers + seed.members.filter { !seed.maintainers.contains($0) } }

        func role(of account: String) -> String? {
            if seed.maintainers.contains(account) { return "maintainer" }
            return seed.members.contains(account) ? "member" : nil
        }
    }

    struct Organization: Sendable {
        let seed: GitHubSeed.Organization
        let id: Int
        let teams: [Team]

        var login: String { seed.login }

        func hides(from app: App) -> Bool {
            seed.oauthAppRestrictions && !app.isGitHubApp && !seed.approvedApps.contains(app.clientID)
        }
    }

    let apps: [String: App]
    /// In the seed's order.
    let organizations: [Organization]
    private let organizationPlaces: [String: Int]

    init(_ seed: GitHubSeed) {
        var apps: [String: App] = [:]
        for app in seed.oauthApps { apps[app.clientID] = App(app) }
        for app in seed.githubApps {
            let slug =
                app.slug ?? app.common.name.lowercased().split { !$0.isLetter && !$0.isNumber }.joined(separator: "-")
            let details = App.Details(
                id: app.id ?? GitHubDirectory.number(from: "app:\(app.clientID)"), slug: slug,
                permissions: app.permissions, installations: app.installations, webhookURL: app.webhookURL,
                webhookSecret: app.webhookSecret)
            apps[app.clientID] = App(app.common, details: details)
        }
        self.apps = apps
        organizations = seed.orgs.map { org in
            Organization(
                seed: org, id: org.id ?? GitHubDirectory.number(from: "org:\(org.login)"),
                teams: org.teams.map { team in
                    Team(seed: team, id: team.id ?? GitHubDirectory.number(from: "team:\(org.login)/\(team.slug)"))
                })
        }
        organizationPlaces = Dictionary(
            organizations.enumerated().map { ($1.login.lowercased(), $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Logins are compared without case.
    func organization(_ login: String) -> Organization? {
        organizationPlaces[login.lowercased()].map { organizations[$0] }
    }

    func hint(for clientID: String) -> String { Spelling.hint(clientID, among: apps.keys.sorted()) }

    private static func number(from text: String) -> Int {
        Int(Digest.sha256("github:\(text)").prefix(7).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % 100_000_000) + 1000
    }
}
