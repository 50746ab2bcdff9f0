import JOSE
import JSON
import OAuth
import EmulatorCore
import Time

/// The teams and clients of a seed, by the identifiers in requests.
struct AppleDirectory: Sendable {
    struct Team: Sendable {
        let id: String
        let keys: [String: Key]
        let notificationsURL: String?
        let sources: RegisteredSources
        /// The team's JSON path in the seed, for diagnoses.
        let place: String
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
        /// The member `primaryApp` of a Services ID in the seed: the app to which it belongs.
        let primaryApp: String?
        let returnURLs: [String]
        /// The return URLs that a request may use. Apple refuses requests with the others, although they are
        /// registered.
        let usableReturnURLs: Set<String>
        /// The usable return URLs that match any port.
        let anyPortReturnURLs: [RegisteredRedirectURI]
        let allowsInsecureReturnURLs: Bool
        let interaction: Interaction?
        let transfer: AppleSection.Transfer?
    }

    let teams: [String: Team]
    let clients: [String: Client]

    /// Makes a directory. `keys` has the seed's keys by their PEM text.
    init(_ seeded: [AppleSection.Team], keys known: [String: Key]) {
        var teams: [String: Team] = [:]
        var clients: [String: Client] = [:]
        for (place, team) in seeded.enumerated() {
            let keys = team.keys.compactMap { named in named.verifying(known).map { (named.id, $0) } }
            teams[team.id] = Team(
                id: team.id, keys: Dictionary(keys) { first, _ in first }, notificationsURL: team.notificationsURL,
                sources: RegisteredSources(team.relay), place: "$.apple.teams[\(place)]")
            for app in team.apps {
                clients[app.bundleID] = Client(
                    id: app.bundleID, kind: .app, team: team.id, group: app.primaryApp ?? app.bundleID,
                    primaryApp: nil, returnURLs: [],
                    usableReturnURLs: [], anyPortReturnURLs: [],
                    allowsInsecureReturnURLs: false, interaction: app.interaction,
                    transfer: app.transfer)
            }
            for service in team.services {
                // A Services ID belongs to the group of its primary app, which may itself have another primary app.
                let usable = service.returnURLs.filter {
                    ReturnURL.fault(
                        of: RegisteredRedirectURI($0).anyPort ?? $0, allowsInsecure: service.allowInsecureReturnURLs)
                        == nil
                }
                let anyPort = usable.map { RegisteredRedirectURI($0) }.filter { $0.anyPort != nil }
                let primary = team.apps.first { $0.bundleID == service.primaryApp }
                clients[service.id] = Client(
                    id: service.id, kind: .service, team: team.id, group: primary?.primaryApp ?? service.primaryApp,
                    primaryApp: service.primaryApp, returnURLs: service.returnURLs,
                    usableReturnURLs: Set(usable).subtracting(anyPort.map(\.text)),
                    anyPortReturnURLs: anyPort,
                    allowsInsecureReturnURLs: service.allowInsecureReturnURLs,
                    interaction: service.interaction, transfer: clients[service.primaryApp]?.transfer)
            }
        }
        self.teams = teams
        self.clients = clients
    }

    /// Returns a hint about the App ID that was probably meant, or the first App IDs, for a diagnosis of a native
    /// sign-in.
    func appHint(for clientID: String) -> String {
        let hint = hint(for: clientID)
        return hint.isEmpty ? knownApps : hint
    }

    /// The first App IDs, for a diagnosis.
    var knownApps: String {
        let apps = clients.values.filter { $0.kind == .app }.map(\.id).sorted().prefix(5)
        return Diagnosis.alternatives(Array(apps)).map { "; expected one such as \($0)" } ?? ""
    }

    /// Returns a hint about the client that was probably meant, for a diagnosis.
    func hint(for clientID: String) -> String { Spelling.hint(clientID, among: clients.keys.sorted()) }
}
