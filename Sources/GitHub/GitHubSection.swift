import EmulatorCore
import JOSE
import JSON
import Time

/// The seed's section `github`.
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

    /// Whether callbacks have `iss`; `nil` if that follows from the day that is played.
    let addsIssuer: Bool?
    let redirectMismatch: RedirectMismatch
    /// The most that a poll may be early. Polls exactly five seconds apart have been told to slow down, so github.com
    /// seems to vary.
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
            "What a redirect_uri that doesn't match brings: the page that github.com shows, or the redirect that its "
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
            "codeLifetime", .duration, default: .minutes(10), "How long an authorization code lasts.")
        deviceCodeLifetime = fields(
            "deviceCodeLifetime", .duration, default: .minutes(15), "How long a device code lasts.")
        accessTokenLifetime = fields(
            "accessTokenLifetime", .duration, default: .hours(8), "How long an expiring token lasts.")
        refreshTokenLifetime = fields(
            "refreshTokenLifetime", .duration, default: .days(184), "How long a refresh token lasts without use.")
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

    /// Returns a numeric ID for an object without one in the seed, made of its name.
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

    /// The members of organizations. An account lists its organizations; an organization only adds the members' roles
    /// and states.
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
