import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time
import Worlds

/// An OpenID Connect issuer: one in the seed (the test data), or one that the first request for it has created.
struct Issuer: SchemaObject {
    let id: String
    let name: String
    /// The issuer's URL: the one in the seed, or else `https://oidc.example/ID`.
    private let url: String
    /// The host and the path at which the issuer is served. The path has no slash at the end.
    let host, path: String
    /// Whether the issuer's URL names this machine. Such an issuer is also served at its path on the daemon's own host.
    private let isOfThisMachine: Bool
    /// The paths at which the issuer is served in addition to the path of its URL.
    let furtherPlaces: [FurtherPlace]
    let followsRequest: Bool
    let algorithms: [Algorithm]
    let signingKeys: [SigningKey]
    let policy: ServerPolicy
    /// The seed's rules for the MCP server at `/mcp/ID`. By default, the MCP server accepts only this issuer's access
    /// tokens.
    let resource: ResourcePolicy
    let hasClaimsInIDToken: Bool
    let scopes: [String: JSONObject]
    let claims: JSONObject
    let clients: [ClientMetadata]
    let interaction: Interaction?
    var look: Look { .issuer(name) }
    private let clientsByID: [String: ClientMetadata]
    /// Whether the issuer isn't in the seed, and was created by the first request for it. Such an issuer accepts any
    /// client.
    private(set) var isTakenOnTrust = false

    /// A path at which an issuer is served in addition to the path of its URL. An example is Microsoft Entra's
    /// `/common/v2.0`, whose discovery document names no tenant.
    struct FurtherPlace: SchemaObject {
        let path: String
        let issuer: String?

        init(_ fields: inout Fields) {
            path = fields("path", .text(FurtherPlace.rule), "A path such as `/common/v2.0`.")
            issuer = fields.nullable(
                "issuer", .text(.nonEmpty),
                "The `issuer` in the discovery document there, such as Entra's `https://login.microsoftonline.com/{tenantid}/v2.0`; by default the `iss`."
            )
        }

        private static let rule = TextRule(
            about: "a path such as \"/common/v2.0\"", pattern: "^(/[A-Za-z0-9._~-]+)+$"
        ) { text in
            text.hasPrefix("/") && !text.hasSuffix("/") && !text.contains("//") && text.utf8.count <= 1_024
                && text.utf8.allSatisfy { byte in
                    (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte) || "._~/-".utf8.contains(byte)
                }
        }
    }

    init(_ fields: inout Fields) {
        id = fields("id", .text(.identifier), "The issuer's ID in this file, and in its address here: `/oidc/ID`.")
        name = fields.optional("name", .text(.name), "The issuer's name on pages; the id by default.") ?? id
        let issuer = fields.nullable("issuer", .text(.url), "The `iss` of tokens; https://oidc.example/ID by default.")
        url = issuer ?? Issuer.url(id)
        let address = WebAddress(url)
        isOfThisMachine = address?.isOfThisMachine ?? false
        host = isOfThisMachine ? Issuer.host : address?.host ?? Issuer.host
        let written = address?.path ?? "/\(id)"
        path = written.hasSuffix("/") ? String(written.dropLast()) : written
        furtherPlaces = fields.list(
            "alsoAt", of: FurtherPlace.self, key: "path", "Other paths at the issuer's host at which it is served, too."
        )
        followsRequest =
            fields.nullable(
                "issuerFollowsRequest", .boolean,
                "Let `iss` be the address that the request used, for clients that discover it there; true by default without `issuer`."
            ) ?? (issuer == nil)
        algorithms = fields(
            "algorithms", .set(of: .choice(ClientMetadata.algorithms)), default: ["RS256"],
            "The algorithms that sign tokens; the first one, unless a client has another."
        ).compactMap { Algorithm(rawValue: $0) }
        signingKeys = fields.signingKeys(anyAlgorithm: true)
        policy = ServerPolicy(&fields)
        resource = fields.object(
            "mcp", ResourcePolicy.self, "The protected resource at `/mcp/ID`, a server of the Model Context Protocol.")
        hasClaimsInIDToken = fields(
            "claimsInIDToken", .boolean, default: true,
            "Whether ID tokens carry the claims of scopes, or only userinfo does (OpenID Connect Core 5.4).")
        scopes = Dictionary(
            fields.map("scopes", of: .map(of: .any), "Claims that a scope grants, by the scope's name.")
                .map { ($0.name, JSONObject($0.value.map { ($0.name, $0.value) })) },
            uniquingKeysWith: { first, _ in first })
        claims = JSONObject(fields.map("claims", of: .any, "Claims that every person has.").map { ($0.name, $0.value) })
        clients = fields.list("clients", of: ClientMetadata.self, key: "clientID", "Clients.")
        interaction = fields.nullable(
            "interaction", .object(Interaction.self), "Overrides the file's `interaction` for this issuer.")
        clientsByID = Dictionary(clients.map { ($0.clientID, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

// MARK: - Derived properties

extension Issuer: PersonPagesFlow {
    /// The host of issuers whose URL the seed leaves out, or whose URL names this machine.
    static let host = "oidc.example"

    static func url(_ id: String) -> String { "https://\(host)/\(id)" }

    /// The beginning of the short paths at which issuers are reachable on this server: `/oidc/ID`.
    static let shortPrefix = "/oidc"

    /// Makes an issuer that isn't in the seed. Like the issuers of navikt/mock-oauth2-server, it accepts any client,
    /// and issues refresh tokens even without the scope `offline_access`:
    /// <https://github.com/navikt/mock-oauth2-server>.
    static func takenOnTrust(_ id: String) -> Issuer {
        var issuer = Issuer(reading: ["id": .string(id), "pkce": "optional", "refreshTokens": "always"])
        issuer.isTakenOnTrust = true
        return issuer
    }

    var provider: String { OpenIDSection.name }
    var furtherPaths: [String] { furtherPlaces.map(\.path) }

    func client(_ id: String) -> ClientMetadata? {
        isTakenOnTrust && !id.isEmpty && id.utf8.count <= 256 ? .takenOnTrust(id) : clientsByID[id]
    }

    var owner: KeyOwner { isTakenOnTrust ? Issuer.ownerOnTrust : Issuer.owner(id) }

    /// Returns the name under which the signing keys of an issuer in the seed are kept.
    static func owner(_ id: String) -> KeyOwner { KeyOwner("openid.\(id)") }

    /// The name under which the shared signing keys of all issuers outside the seed are kept.
    static let ownerOnTrust = KeyOwner("openid")

    /// The issuer's short path on this server: `/oidc/ID`.
    var alias: HostAlias { HostAlias(prefix: "\(Issuer.shortPrefix)/\(id)", host: host, path: path) }

    var aliases: [HostAlias] {
        isOfThisMachine && path != alias.prefix ? [alias, HostAlias(prefix: path, host: host, path: path)] : [alias]
    }

    /// The paths below which the issuer's discovery document and endpoints are served. The path in the issuer's URL is
    /// the first.
    var paths: [String] { [path] + furtherPaths }

    /// Returns the issuer's `iss`: the URL in the seed or, if `followsRequest` is true, the URL by which the request
    /// has reached the issuer. For a request that is for none of the provider hosts, such as a call of the control API,
    /// this is the issuer's short URL, or its URL on this machine.
    func identifier(_ exchange: Exchange) -> String {
        guard followsRequest else { return url }
        let end = url.hasSuffix("/") ? "/" : ""
        return exchange.address.host == nil
            ? exchange.address.ownBase + (aliases.last ?? alias).prefix + end : url(end, exchange)
    }
}

// Issuers may be unknown to the seed. With "unknownIssuers": "accept" they are created by their first use, as at
// https://github.com/navikt/mock-oauth2-server. Otherwise, the refusal lists the known ones.

/// An issuer that isn't in the seed and was created by the first request for it.
struct TakenIssuer: Row {
    static let table = Table<TakenIssuer>("openid.takenIssuer")
    /// The greatest number of issuers outside the seed that a test world may have.
    static let limit = 100

    /// The ID of the issuer in its path, `/oidc/ID`.
    let key: String

    /// Returns whether an issuer outside the seed may have this ID.
    static func isValid(_ id: String) -> Bool {
        TextRule.identifier.holds(id) && id.utf8.count <= 64 && !id.allSatisfy { $0 == "." }
    }
}

extension OpenIDProvider {
    package func takenOnTrust(in world: World) -> [String] {
        world.read { $0.rows(TakenIssuer.self, limit: TakenIssuer.limit) }.map { row in
            "issuer \(Diagnosis.quote(row.key)) of OpenID Connect, which no seed has, with any client"
        }
    }

    /// Returns the issuer with this ID: an issuer in the seed, or one that was created by the first request for it in
    /// this test world.
    func issuer(_ id: String, in world: World) -> Issuer? {
        if let known = issuers.first(where: { $0.id == id }) { return known }
        guard takesUnknown, world.read({ $0.find(TakenIssuer.self, id) }) != nil else { return nil }
        return .takenOnTrust(id)
    }

    /// Returns the issuer with this `realm`: the provider's name and the issuer's ID, as database keys contain them.
    func issuer(ofRealm realm: some StringProtocol, in world: World) -> Issuer? {
        guard realm.hasPrefix("\(name).") else { return nil }
        return issuer(String(realm.dropFirst(name.utf8.count + 1)), in: world)
    }

    /// The endpoints of all issuers that aren't in the seed, with a placeholder for the issuer's ID.
    var endpointsOnTrust: [Endpoint] {
        guard takesUnknown else { return [] }
        return Issuer.takenOnTrust(":issuer").endpoints { [self] exchange in
            let id = exchange.parameters["issuer"] ?? ""
            guard TakenIssuer.isValid(id), !issuers.contains(where: { $0.id == id }) else {
                throw OAuthRefusal(
                    "invalid_request", status: 404,
                    Diagnosis(
                        received: "the issuer \(Diagnosis.quote(id))",
                        expected: "an ID of 1 to 64 letters, digits, -, _ and ., which no issuer in the seed has",
                        "choose another ID for the issuer"))
            }
            if exchange.world.read({ $0.find(TakenIssuer.self, id) }) == nil {
                try createIssuer(id, in: exchange.world)
            }
            return .takenOnTrust(id)
        }
    }

    private func createIssuer(_ id: String, in world: World) throws {
        let isTaken = try world.update { tables in
            guard tables.find(TakenIssuer.self, id) == nil else { return true }
            guard tables.count(TakenIssuer.self) < TakenIssuer.limit else { return false }
            tables.put(TakenIssuer(key: id))
            return true
        }
        guard isTaken else {
            throw OAuthRefusal(
                "temporarily_unavailable",
                Diagnosis(
                    "the limit of \(TakenIssuer.limit) issuers that aren't in the seed is reached: reset this test world, or use another"
                ))
        }
        world.markChanged()
        world.budget.notices.logOnce(
            "OpenID Connect: accepted the issuer \(Diagnosis.quote(id)), which isn't in the seed, with any client: "
                + "check for a misspelled name, or add it to the seed")
    }
}

extension OpenIDProvider: ExplainsOwnAddresses {
    /// The greatest number of issuers that an error message lists.
    private static let namedIssuers = 5

    package func unserved(_ exchange: Exchange) -> Response? {
        let path = exchange.address.path
        let segments = path.split(separator: "/")
        let isShort = segments.first.map { "/\($0)" == Issuer.shortPrefix } ?? false
        // Keycloak's issuers are below /realms.
        let isMeant =
            isShort || segments.first == "realms" || path.hasSuffix("/.well-known/openid-configuration")
            || HostAlias.metadata.contains { path.hasPrefix($0) }
        guard isMeant else { return nil }
        let own = exchange.address.ownBase
        let names = issuers.prefix(OpenIDProvider.namedIssuers).map { "\($0.id): \(own)\($0.alias.prefix)" }
        let more = issuers.count - names.count
        let id = isShort && segments.count > 1 ? String(segments[1]) : nil
        let known = id.flatMap { id in issuers.first { $0.id == id } }
        let advice: String
        if known != nil {
            advice = "nothing is served at this path: the discovery document lists the endpoints"
        } else {
            var member = #"{"id":"\#(id.flatMap { TextRule.identifier.holds($0) ? $0 : nil } ?? "mine")""#
            if let url = OpenIDProvider.issuer(of: path), !isShort { member += #","issuer":"\#(own)\#(url)""# }
            advice =
                "\(id.map { "no issuer \(Diagnosis.quote($0)) is configured in the seed\(Spelling.hint($0, among: issuers.map(\.id)))" } ?? "no issuer is at this path"); "
                + #"add one: POST \#(own)\#(Endpoint.controlRoot)/seed {"openid":{"issuers":[\#(member),"clients":[...]}]}}, "#
                + #"or take any below \#(Issuer.shortPrefix): "unknownIssuers": "accept""#
        }
        let diagnosis = Diagnosis(
            received: Diagnosis.quote("\(exchange.request.method) \(path)"),
            expected: names.isEmpty
                ? "the path of an issuer, but no issuer is configured"
                : "one of the issuers \(names.joined(separator: ", "))\(more > 0 ? " and \(more) more" : "")", advice)
        return ControlAnswer.error(404, "noSuchIssuer", diagnosis.line)
    }

    /// Returns the issuer's path within the path of a discovery document or a Keycloak endpoint; `nil` for any other
    /// path.
    private static func issuer(of path: String) -> String? {
        for mark in ["/.well-known/openid-configuration", "/protocol/openid-connect/"] {
            if let range = path.firstRange(of: mark) { return String(path[..<range.lowerBound]) }
        }
        return HostAlias.metadata.first { path.hasPrefix($0) }.map { String(path.dropFirst($0.count)) }
    }
}
