import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Synchronization
import Time

/// The Apple developer teams and clients in a seed, found by the identifiers that requests use.
struct AppleDirectory: Sendable {
    struct Team: Sendable {
        let id: String
        let keys: [String: Key]
        let notificationsURL: String?
        let sources: RegisteredSources
        /// The JSON path of the developer team in the seed, for error messages.
        let place: String
    }

    /// A client at Apple: an App ID or a Services ID.
    struct Client: SignInClient {
        enum Kind: Sendable {
            case app
            case service
        }

        let id: String
        var name: String { id }
        let kind: Kind
        let team: String
        /// The client's primary App ID. A person's consent to one client counts for all clients with the same primary
        /// App ID.
        let group: String
        /// The primary App ID that the seed gives for a Services ID; `nil` if the client is itself an App ID.
        let primaryApp: String?
        let returnURLs: [String]
        /// The registered return URLs that a request may use, without those that match any port. A registered URL that
        /// breaks Apple's rules, such as one without https, can't be used unless the seed allows it.
        let usableReturnURLs: Set<String>
        /// The usable return URLs that are registered with the port `*` and match any port.
        let anyPortReturnURLs: [RegisteredRedirectURI]
        let allowsInsecureReturnURLs: Bool
        let interaction: Interaction?
        let transfer: AppleSection.Transfer?
    }

    let teams: [String: Team]
    let clients: [String: Client]

    /// Makes a table for looking up a seed's Apple teams and clients. `keys` maps the PEM text of each key in the seed
    /// to the parsed key.
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

    /// Returns a hint for the error message about an unknown App ID in a native sign-in. The hint names the client ID
    /// that was probably meant or, if no client ID is similar, some of the seed's App IDs.
    func appHint(for clientID: String) -> String {
        let hint = hint(for: clientID)
        return hint.isEmpty ? knownApps : hint
    }

    var knownApps: String {
        let apps = clients.values.filter { $0.kind == .app }.map(\.id).sorted().prefix(5)
        return Diagnosis.alternatives(Array(apps)).map { "; expected one such as \($0)" } ?? ""
    }

    /// Returns a hint for the error message about an unknown client: the client ID that was probably meant. The hint is
    /// empty if no client ID is similar.
    func hint(for clientID: String) -> String { Spelling.hint(clientID, among: clients.keys.sorted()) }
}

/// A kind of identifier that Apple gives a person in connection with the transfer of an app from one team to another.
enum FormerIdentifier: Hashable, Sendable {
    /// The person's `sub` at the Apple developer team that had the app before its transfer.
    case subject(team: String)
    /// The person's transfer identifier (`transfer_sub`), for moving an app from one Apple developer team to another.
    case transferSubject(from: String, to: String)

    func text(of account: String) -> String {
        switch self {
        case .subject(let team): AppleIdentifiers.subject(account: account, team: team)
        case .transferSubject(let from, let to):
            AppleIdentifiers.transferSubject(account: account, from: from, to: to)
        }
    }
}

/// A cache that finds people by their identifiers at Apple's developer teams. An identifier is a digest, so the person
/// can't be computed from it.
final class TransferredPeople: WorldCache {
    private struct Known {
        var accounts: [String: String] = [:]
        /// The ID of the newest account in the cache. Accounts that the test world got after this one aren't in the
        /// cache yet.
        var last: String?
    }

    var count: Int { known.withLock { $0.values.reduce(0) { $0 + $1.accounts.count } } }

    private static let page = 1_000
    /// The greatest number of kinds of identifiers in the cache. A seed may name any number of teams.
    private static let kindLimit = 4
    private let known = Mutex<[FormerIdentifier: Known]>([:])

    /// Returns the ID of the account to which an Apple identifier belongs; `nil` if no account has it. `kind` says
    /// whether the identifier is a `sub` or a transfer identifier.
    func account(_ text: String, as kind: FormerIdentifier, in world: World) -> String? {
        let last = known.withLock { $0[kind]?.last }
        let isComplete = page(after: last, in: world).last.map { $0.id == last } ?? true
        guard !isComplete else { return known.withLock { $0[kind]?.accounts[text] } }
        // The entry is taken out of the cache meanwhile, so that other kinds can't make this request begin again.
        var entry = known.withLock { $0.removeValue(forKey: kind) } ?? Known()
        // Most of the accounts in the entry have been removed: it begins again with those that exist.
        let count = world.read { $0.count(Account.self) }
        if entry.accounts.count > 2 * count + TransferredPeople.page { entry = Known() }
        while true {
            let new = page(after: entry.last, in: world)
            guard let newest = new.last?.id, newest != entry.last else { break }
            for account in new { entry.accounts[kind.text(of: account.id)] = account.id }
            entry.last = newest
        }
        return known.withLock { known in
            if known[kind] == nil, known.count >= TransferredPeople.kindLimit { known = [:] }
            known[kind] = entry
            return entry.accounts[text]
        }
    }

    private func page(after last: String?, in world: World) -> [Account] {
        world.read { $0.rows(Account.self, after: last, limit: TransferredPeople.page) }
    }
}

extension World {
    func account(_ text: String, as kind: FormerIdentifier) -> Account? {
        guard let id = caches[TransferredPeople.self].account(text, as: kind, in: self) else { return nil }
        return read { $0.account(id) }
    }
}

// POST /auth/usermigrationinfo
// https://developer.apple.com/documentation/signinwithapple/bringing-new-apps-and-users-into-your-team
//
// The sending team sends `sub` and `target` and gets `transfer_sub`; the recipient sends `transfer_sub` and gets its
// own `sub` and relay address. Quirk: every error but the client's authentication is `invalid_request`.

extension AppleProvider {
    func migrationInfo(_ exchange: Exchange) -> Response {
        let form = exchange.request.bodyForm
        do throws(AppleError) {
            let client = try authenticate(exchange, form)
            try checkMigrationToken(exchange, client)
            if let transferSubject = form["transfer_sub"] {
                return try receive(exchange, transferSubject, client)
            }
            return try sendAway(exchange, form, client)
        } catch {
            return error.jsonResponse
        }
    }

    private func refuse(_ advice: String) -> AppleError { AppleError(.invalidRequest, nil, Diagnosis(advice)) }

    private func checkMigrationToken(_ exchange: Exchange, _ client: AppleDirectory.Client) throws(AppleError) {
        let header = exchange.request.header("Authorization") ?? ""
        guard header.lowercased().hasPrefix("bearer ") else {
            throw refuse(
                "the Authorization header lacks a bearer token: get one with grant_type=client_credentials and scope=user.migration"
            )
        }
        let text = String(header.dropFirst(7))
        let (token, now) = exchange.world.read { ($0.find(MigrationToken.self, text), $0.now) }
        guard let token, token.expires > now, token.team == client.team else {
            throw refuse("the bearer token isn't a current user.migration token of team \"\(client.team)\"")
        }
    }

    private func sendAway(_ exchange: Exchange, _ form: Form, _ client: AppleDirectory.Client) throws(AppleError)
        -> Response
    {
        guard let subject = form["sub"], let target = form["target"] else {
            throw refuse("send sub and target (the recipient's Team ID), or transfer_sub")
        }
        guard directory.teams[target] != nil, target != client.team else {
            throw refuse("target \(Diagnosis.quote(target)) isn't another seeded team")
        }
        let account = exchange.world.read { tables in
            tables.rows(AppleGrant.bySubject, subject).first { $0.team == client.team && $0.group == client.group }
        }?.account
        guard let account else {
            throw refuse(
                "sub \(Diagnosis.quote(subject)) has no current consent for this client: the person hasn't signed in, or has revoked it"
            )
        }
        let transfer = AppleIdentifiers.transferSubject(account: account, from: client.team, to: target)
        return AppleProvider.json(["transfer_sub": .string(transfer)])
    }

    private func receive(_ exchange: Exchange, _ subject: String, _ client: AppleDirectory.Client) throws(AppleError)
        -> Response
    {
        guard let transfer = client.transfer else {
            throw refuse("client \"\(client.id)\" came from no other team: set \"transfer\" at its app in the seed")
        }
        let account = exchange.world.account(subject, as: .transferSubject(from: transfer.fromTeam, to: client.team))
        let (grants, now) = exchange.world.read { tables in
            (account.map { tables.grants(AppleGrant.self, of: $0.id) } ?? [], tables.now)
        }
        let hidesEmail = grants.contains { $0.team == transfer.fromTeam && !$0.sharesEmail }
        guard now < transfer.at + AppleSection.Transfer.period else {
            throw refuse("the sixty days after the transfer are over")
        }
        guard let account else { throw refuse("transfer_sub \(Diagnosis.quote(subject)) isn't for this team") }
        var answer = JSONObject([("sub", .string(AppleIdentifiers.subject(account: account.id, team: client.team)))])
        if hidesEmail {
            answer["email"] = .string(AppleIdentifiers.relayAddress(account: account.id, team: client.team))
            answer["is_private_email"] = settings.boolean(true)
        }
        return AppleProvider.json(.object(answer))
    }
}
