import EmulatorCore
import JOSE
import JSON
import OAuth

/// The rule that says which clients must use PKCE: <https://datatracker.ietf.org/doc/html/rfc9700#section-2.1.1>.
enum PKCEPolicy: String, CaseIterable, Sendable {
    case `public`
    case required
    case optional
}

/// A client of an OpenID issuer: one in the seed (the test data), one that has registered itself or published its
/// metadata, or any client at an issuer that accepts all:
/// <https://openid.net/specs/openid-connect-registration-1_0.html#ClientMetadata>.
struct ClientMetadata: SchemaObject, SignInClient {
    enum Subject: String, CaseIterable, Sendable {
        case `public`
        case pairwise
    }

    enum AccessToken: String, CaseIterable, Sendable {
        case opaque
        case jwt
    }

    let clientID: String
    var id: String { clientID }
    let clientSecret: String?
    let name: String
    let redirectURIs: [String]
    let postLogoutRedirectURIs: [String]
    private(set) var credentials: ClientCredentials
    let grantTypes: [String]?
    let responseTypes: [Set<String>]?
    let pkce: PKCEPolicy?
    let scopes: [String]?
    let needsConsent: Bool
    let subject: Subject
    /// The sector identifier. Clients with the same sector identifier get the same pairwise subjects.
    let sector: String
    let accessToken: AccessToken
    let audience: [String]
    let idTokenAlgorithm: String?
    let userInfoAlgorithm: String?
    let backchannelLogoutURI: String?
    let claims: JSONObject
    let interaction: Interaction?
    /// Whether the client is accepted because its issuer accepts any client. Such a client may use any secret and any
    /// redirect URI.
    private(set) var isTakenOnTrust = false

    /// Makes a client that isn't registered in the seed, for a server that accepts any client.
    static func takenOnTrust(_ id: String) -> ClientMetadata {
        var client = ClientMetadata(reading: ["clientID": .string(id), "name": .string(id)])
        client.isTakenOnTrust = true
        client.credentials = ClientCredentials(
            clientID: id, secret: nil, keys: nil, methods: Set(ClientAuthenticationMethod.allCases))
        return client
    }

    init(_ fields: inout Fields) {
        clientID = fields("clientID", .text(.nonEmpty), "The client ID.")
        clientSecret = fields.nullable(
            "clientSecret", .text(.nonEmpty),
            "The client secret. A client without a secret and without keys is a public one.")
        name = fields("name", .text(.nonEmpty), default: "Example", "The client's name on pages.")
        redirectURIs = fields(
            "redirectURIs", .set(of: .text(RegisteredRedirectURI.rule)), default: [], "Redirect URIs.")
        postLogoutRedirectURIs = fields(
            "postLogoutRedirectURIs", .set(of: .text(RegisteredRedirectURI.rule)), default: [],
            "The URIs to which a browser may be redirected after it was signed out.")
        let method = fields.optional(
            "tokenEndpointAuthMethod", .choice(ClientAuthenticationMethod.self),
            "The client's authentication method; by default the secret in the header or the form, a key if it has no secret, or none."
        )
        let keys = fields.nullable("jwks", .map(of: .any), "The client's public keys, as a JSON Web Key Set.")
        grantTypes = fields.nullable(
            "grantTypes", .set(of: .text(.nonEmpty)),
            "The client's grant types; by default all, but client_credentials, token exchange and the JWT bearer grant only for confidential clients."
        )
        responseTypes = fields.nullable(
            "responseTypes", .set(of: .text(.nonEmpty)), "The client's response types; the issuer's by default."
        )?.map(AuthorizationParameters.responseType)
        pkce = fields.nullable("pkce", .choice(PKCEPolicy.self), "Overrides the issuer's `pkce`.")
        scopes = fields.nullable(
            "scopes", .set(of: .text(.nonEmpty)), "The scopes that it may ask for; any by default.")
        needsConsent = fields("consent", .boolean, default: false, "Whether people are asked for their consent.")
        subject = fields(
            "subject", .choice(Subject.self), default: .public,
            "Whether `sub` is the same at all clients (OpenID Connect Core 8).")
        let sector = fields.nullable(
            "sector", .text(.nonEmpty),
            "The host whose clients share pairwise subjects; the first redirect URI's by default.")
        accessToken = fields(
            "accessToken", .choice(AccessToken.self), default: .opaque, "The format of access tokens (jwt: RFC 9068).")
        audience = fields(
            "audience", .set(of: .text(.nonEmpty)), default: [],
            "`aud` of access tokens that are asked for without `resource`; the client by default.")
        idTokenAlgorithm = fields.nullable(
            "idTokenAlgorithm", .choice(ClientMetadata.algorithms),
            "The algorithm that signs the client's ID tokens: one of the issuer's.")
        userInfoAlgorithm = fields.nullable(
            "userInfoAlgorithm", .choice(ClientMetadata.algorithms),
            "The algorithm that signs userinfo; by default userinfo is JSON without a signature.")
        backchannelLogoutURI = fields.nullable(
            "backchannelLogoutURI", .text(.url), "The URL to which logout tokens are posted.")
        claims = JSONObject(
            fields.map("claims", of: .any, "Claims that every person has in tokens for this client.").map {
                ($0.name, $0.value)
            }
        )
        interaction = fields.clientInteraction()
        self.sector = sector ?? redirectURIs.first.flatMap { WebAddress($0)?.host } ?? clientID
        let jwks = keys.map { KeySet(.object(JSONObject($0.map { ($0.name, $0.value) }))) }
        let usual: Set<ClientAuthenticationMethod> =
            clientSecret != nil ? [.clientSecretBasic, .clientSecretPost] : jwks != nil ? [.privateKeyJWT] : [.none]
        credentials = ClientCredentials(
            clientID: clientID, secret: clientSecret, keys: jwks, methods: method.map { [$0] } ?? usual)
    }

    /// The names of the algorithms that may sign an issuer's tokens. HS256 signs with the client's secret.
    static let algorithms = (Algorithm.published + [.hs256]).map(\.rawValue)

    /// Whether the client can keep a secret. A client that is accepted without registration counts as one that can.
    var isConfidential: Bool { isTakenOnTrust || credentials.isConfidential }

    /// Whether a browser may be redirected to `uri`, if the client has registered the URIs in `registered`.
    func mayUse(
        redirectURI uri: String, among registered: [String], _ comparison: RegisteredRedirectURI.Comparison = .exact
    ) -> Bool {
        if isTakenOnTrust {
            return RegisteredRedirectURI.rule.holds(uri) && !RegisteredRedirectURI.runsScript(uri)
        }
        return registered.contains { RegisteredRedirectURI($0).matches(uri, comparison) }
    }

    func mayUse(_ grantType: String) -> Bool {
        if isTakenOnTrust { return true }
        if let grantTypes { return grantTypes.contains(grantType) }
        let isForConfidential = ["client_credentials", TokenExchange.grantType, IdentityAssertion.grantType]
            .contains(grantType)
        return !isForConfidential || isConfidential
    }

    /// Whether the client's authorization requests need a `code_challenge`. `policy` is the issuer's rule, which is
    /// used if the client has no rule of its own.
    func mustUsePKCE(_ policy: PKCEPolicy) -> Bool {
        switch pkce ?? policy {
        case .required: true
        case .public: !isConfidential
        case .optional: false
        }
    }

    /// Checks what the JSON schema can't express about a client in the seed.
    static func check(_ client: LocatedJSON, _ references: inout SeedReferences) {
        references.checkInteraction(client["interaction"])
        checkKeys(client["jwks"], &references)
        let needed = [
            "client_secret_basic": "clientSecret", "client_secret_post": "clientSecret",
            "client_secret_jwt": "clientSecret", "private_key_jwt": "jwks",
        ]
        guard let method = client["tokenEndpointAuthMethod"], let name = method.string, let member = needed[name],
            client[member] == nil
        else { return }
        references.add(method, "a client that authenticates by \(name) needs \"\(member)\"")
    }

    static func checkKeys(_ jwks: LocatedJSON?, _ references: inout SeedReferences) {
        let keys = jwks?["keys"]
        if let keys, keys.items.count > KeySet.limit {
            references.add(keys, "there are \(keys.items.count) keys: at most \(KeySet.limit) are read")
        }
        for key in (keys?.items ?? []).prefix(KeySet.limit) {
            do throws(KeyError) { _ = try Key(jwk: key.value) } catch {
                references.add(key, "not a usable key: \(error.description)")
            }
        }
    }
}
