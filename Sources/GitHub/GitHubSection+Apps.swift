import EmulatorCore
import JSON
import OAuth

extension GitHubSection {
    /// An OAuth app or a GitHub App.
    struct App: Sendable {
        /// The properties that only a GitHub App has.
        struct Details: Sendable {
            let id: Int
            let slug: String
            let permissions: [String: String]
            /// The installations: logins in lower case, with their positions in the seed.
            private let installations: [String: Int]
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
        /// The GitHub App's properties; `nil` for an OAuth app.
        let details: Details?

        var isGitHubApp: Bool { details != nil }

        init(_ fields: inout Fields, isGitHubApp: Bool) {
            clientID = fields("clientID", .text(.nonEmpty), "The client ID.")
            name = fields("name", .text(.nonEmpty), default: "Example", "What the consent page calls the app.")
            secret = fields(
                "clientSecret", .text(.nonEmpty), default: "github-secret-for-tests", "The client secret.")
            url = fields("url", .text(.url), default: "https://example.com", "The app's home page.")
            about = fields.nullable("description", .text(.any), "What the consent page says of it.")
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
    /// Whether the app is installed at the account or organization with this login, in upper or lower case.
    func isInstalled(at login: String) -> Bool { installations[login.lowercased()] != nil }

    /// Returns the installations among these logins, in the seed's order: the number of each, and the login.
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
            "Where it is installed: logins of people and organizations.")
        installations = Dictionary(
            logins.enumerated().map { ($1.lowercased(), $0) }, uniquingKeysWith: { first, _ in first })
        webhookURL = fields.nullable(
            "webhookURL", .text(.url), "Where `github_app_authorization` is posted when a person revokes.")
        webhookSecret = fields.nullable("webhookSecret", .text(.nonEmpty), "The secret that signs webhooks.")
    }
}
