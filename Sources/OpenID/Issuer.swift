import EmulatorCore
import JOSE
import JSON
import OAuth
import Time

/// An issuer, as the seed has it.
struct Issuer: SchemaObject {
    let id: String
    let name: String
    /// As the seed writes it.
    private let url: String
    /// Where it is played, and its own path there, without a slash at the end.
    let host, path: String
    let followsRequest: Bool
    let algorithms: [Algorithm]
    let signingKeys: [SigningKey]
    let policy: ServerPolicy
    let hasClaimsInIDToken: Bool
    let scopes: [String: JSONObject]
    let claims: JSONObject
    let clients: [ClientMetadata]
    let interaction: Interaction?
    var look: Look { .issuer(name) }
    private let clientsByID: [String: ClientMetadata]

    init(_ fields: inout Fields) {
        id = fields("id", .text(.identifier), "How this file names it, and its address here: `/oidc/ID`.")
        name = fields.optional("name", .text(.name), "What pages call it; the id by default.") ?? id
        let issuer = fields.nullable("issuer", .text(.url), "What `iss` says; https://oidc.example/ID by default.")
        url = issuer ?? Issuer.url(id)
        // A name of this machine can't be played: then the address /oidc/ID is left.
        let address = WebAddress(url).flatMap { $0.isIPAddress || $0.isLocalhost ? nil : $0 }
        host = address?.host ?? "oidc.example"
        let written = address?.path ?? "/\(id)"
        path = written.hasSuffix("/") ? String(written.dropLast()) : written
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

// MARK: - What follows from it

extension Issuer: AuthorizationServer {
    static func url(_ id: String) -> String { "https://oidc.example/\(id)" }

    var provider: String { OpenIDSection.name }

    func client(_ id: String) -> ClientMetadata? { clientsByID[id] }

    var owner: KeyOwner { KeyOwner("openid.\(id)") }

    var alias: HostAlias { HostAlias(prefix: "/oidc/\(id)", host: host, path: path) }

    /// `iss`.
    func identifier(_ exchange: Exchange) -> String {
        followsRequest ? url(url.hasSuffix("/") ? "/" : "", exchange) : url
    }
}
