import EmulatorCore
import JOSE
import JSON
import OAuth
import Time

/// An issuer in the seed.
struct Issuer: SchemaObject {
    let id: String
    let name: String
    /// The URL as the seed writes it.
    private let url: String
    /// The host on which it is served, and its path there, without a slash at the end.
    let host, path: String
    /// Whether its URL names this machine, so that it is also served at its path on the daemon's own host.
    private let isOfThisMachine: Bool
    /// Further paths at which it is served.
    let furtherPlaces: [FurtherPlace]
    let followsRequest: Bool
    let algorithms: [Algorithm]
    let signingKeys: [SigningKey]
    let policy: ServerPolicy
    /// The requirements of the protected resource beside it.
    let resource: ResourcePolicy
    let hasClaimsInIDToken: Bool
    let scopes: [String: JSONObject]
    let claims: JSONObject
    let clients: [ClientMetadata]
    let interaction: Interaction?
    var look: Look { .issuer(name) }
    private let clientsByID: [String: ClientMetadata]
    /// Whether no seed has this issuer. It was created by its first use, and accepts any client.
    private(set) var isTakenOnTrust = false

    /// Another path at the issuer's host, such as Entra's `/common/v2.0`, whose discovery document names no tenant.
    struct FurtherPlace: SchemaObject {
        let path: String
        let issuer: String?

        init(_ fields: inout Fields) {
            path = fields("path", .text(FurtherPlace.rule), "A path such as `/common/v2.0`.")
            issuer = fields.nullable(
                "issuer", .text(.nonEmpty),
                "What the discovery document there says as `issuer`, such as Entra's `https://login.microsoftonline.com/{tenantid}/v2.0`; what `iss` says by default."
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
        id = fields("id", .text(.identifier), "How this file names it, and its address here: `/oidc/ID`.")
        name = fields.optional("name", .text(.name), "What pages call it; the id by default.") ?? id
        let issuer = fields.nullable("issuer", .text(.url), "What `iss` says; https://oidc.example/ID by default.")
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
            "What tokens are signed with; the first, unless a client says otherwise."
        ).compactMap { Algorithm(rawValue: $0) }
        signingKeys = fields.signingKeys(anyAlgorithm: true)
        policy = ServerPolicy(&fields)
        resource = fields.object(
            "mcp", ResourcePolicy.self, "The protected resource at `/mcp/ID`, a server of the Model Context Protocol.")
        hasClaimsInIDToken = fields(
            "claimsInIDToken", .boolean, default: true,
            "Whether ID tokens carry the claims of scopes, or only userinfo does (OpenID Connect Core 5.4).")
        scopes = Dictionary(
            fields.map("scopes", of: .map(of: .any), "Claims that a scope brings, by the scope's name.")
                .map { ($0.name, JSONObject($0.value.map { ($0.name, $0.value) })) },
            uniquingKeysWith: { first, _ in first })
        claims = JSONObject(fields.map("claims", of: .any, "Claims of everybody.").map { ($0.name, $0.value) })
        clients = fields.list("clients", of: ClientMetadata.self, key: "clientID", "Clients.")
        interaction = fields.nullable(
            "interaction", .object(Interaction.self), "Overrides the file's `interaction` for this issuer.")
        clientsByID = Dictionary(clients.map { ($0.clientID, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

// MARK: - Derived properties

extension Issuer: AuthorizationServer {
    /// The host of issuers without one of their own.
    static let host = "oidc.example"

    static func url(_ id: String) -> String { "https://\(host)/\(id)" }

    /// The beginning of short addresses.
    static let shortPrefix = "/oidc"

    /// Makes an issuer that no seed has. Like those of navikt/mock-oauth2-server, it accepts any client, and always
    /// issues refresh tokens: <https://github.com/navikt/mock-oauth2-server>.
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

    /// The owner of a seeded issuer's keys.
    static func owner(_ id: String) -> KeyOwner { KeyOwner("openid.\(id)") }

    /// The owner of the keys of all issuers that no seed has.
    static let ownerOnTrust = KeyOwner("openid")

    /// The short address, which pages and guides use.
    var alias: HostAlias { HostAlias(prefix: "\(Issuer.shortPrefix)/\(id)", host: host, path: path) }

    var aliases: [HostAlias] {
        isOfThisMachine && path != alias.prefix ? [alias, HostAlias(prefix: path, host: host, path: path)] : [alias]
    }

    /// The paths of the discovery document and of all endpoints; the issuer's own is the first.
    var paths: [String] { [path] + furtherPaths }

    /// Returns the `iss` for answers to a request.
    func identifier(_ exchange: Exchange) -> String {
        followsRequest ? url(url.hasSuffix("/") ? "/" : "", exchange) : url
    }
}
