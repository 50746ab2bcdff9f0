import JOSE
import EmulatorCore
import Time

/// The teams and clients of a seed, looked up by what requests name.
struct AppleDirectory: Sendable {
    struct Team: Sendable {
        let id: String
        let keys: [String: Key]
        let notificationsURL: String?
        let relay: AppleSeed.Team.Relay
    }

    /// An App ID or a Services ID.
    struct Client: Sendable {
        enum Kind: Sendable {
            case app
            case service
        }

        let id: String
        let kind: Kind
        let team: String
        /// The primary App ID: clients that share it share consent.
        let group: String
        let returnURLs: [String]
        /// Those of the return URLs that a request may use; the others are registered in vain.
        let usableReturnURLs: Set<String>
        let allowsInsecureReturnURLs: Bool
        let interaction: Interaction?
        let transfer: Transfer?
    }

    /// An app that came from another team. For sixty days ID tokens name the person as that team's transfer identifier.
    /// <https://developer.apple.com/documentation/technotes/tn3159-migrating-sign-in-with-apple-users-for-an-app-transfer>
    struct Transfer: Sendable {
        static let period = TimeSpan.days(60)

        let fromTeam: String
        let at: Instant
    }

    let teams: [String: Team]
    let clients: [String: Client]

    init(_ seed: Seed) {
        var teams: [String: Team] = [:]
        var clients: [String: Client] = [:]
        for team in seed.apple.teams {
            let keys = team.keys.compactMap { named in seed.keys[named.publicKey].map { (named.id, $0) } }
            teams[team.id] = Team(
                id: team.id, keys: Dictionary(keys) { first, _ in first }, notificationsURL: team.notificationsURL,
                relay: team.relay)
            for app in team.apps {
                let transfer = app.transfer.map { transfer in
                    Transfer(fromTeam: transfer.fromTeam, at: transfer.at)
                }
                clients[app.bundleID] = Client(
                    id: app.bundleID, kind: .app, team: team.id, group: app.primaryApp ?? app.bundleID, returnURLs: [],
                    usableReturnURLs: [],
                    allowsInsecureReturnURLs: false, interaction: app.interaction, transfer: transfer)
            }
            for service in team.services {
                // A Services ID belongs to its primary app's group, whichever app leads that.
                let usable = service.returnURLs.filter {
                    ReturnURL.fault(of: $0, allowsInsecure: service.allowInsecureReturnURLs) == nil
                }
                let primary = team.apps.first { $0.bundleID == service.primaryApp }
                clients[service.id] = Client(
                    id: service.id, kind: .service, team: team.id, group: primary?.primaryApp ?? service.primaryApp,
                    returnURLs: service.returnURLs, usableReturnURLs: Set(usable),
                    allowsInsecureReturnURLs: service.allowInsecureReturnURLs,
                    interaction: service.interaction, transfer: clients[service.primaryApp]?.transfer)
            }
        }
        self.teams = teams
        self.clients = clients
    }

    /// What was probably meant, for a diagnosis.
    func hint(for clientID: String) -> String { Spelling.hint(clientID, among: clients.keys.sorted()) }
}
