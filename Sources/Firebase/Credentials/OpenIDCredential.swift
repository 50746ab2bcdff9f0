import HTTPServer
import JOSE
import JSON
import OAuth
import EmulatorCore

// A credential of an OpenID provider (oidc.NAME): an ID token with the raw nonce, or what the web flow brought: an ID token
// or a code. https://firebase.google.com/docs/auth/web/openid-connect
//
// Quirks: the issuer's discovery document is fetched each time. In the web flow Firebase sends a nonce of its own.

/// An OpenID provider (`oidc.…`) that a Firebase project or tenant has configured.
struct OpenIDSource: IdentitySource {
    private let config: OAuthIdpConfig

    init(_ config: OAuthIdpConfig) { self.config = config }

    var isEnabled: Bool { config.isEnabled }

    // MARK: - The issuer

    /// The discovery document of an OpenID provider's issuer:
    /// <https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderMetadata>.
    private struct Issuer {
        let metadata: JSONObject

        /// Returns the host, and the path with the query, of an endpoint that the issuer's discovery document names.
        func endpoint(_ name: String) -> (host: String, path: String)? {
            metadata[name]?.string.flatMap { WebAddress($0) }.map { (host: $0.host, path: $0.rest) }
        }

        /// Returns a list of texts in the issuer's discovery document; `fallback` if the document lacks the list.
        func list(_ name: String, default fallback: [String] = []) -> [String] {
            metadata[name]?.array?.compactMap(\.string) ?? fallback
        }
    }

    private func issuer(_ exchange: Exchange) async throws(FirebaseError) -> Issuer {
        guard let address = WebAddress(config.issuer) else { throw unreachable("it isn't a URL") }
        let root = address.path.hasSuffix("/") ? String(address.path.dropLast()) : address.path
        let answer = await exchange.fetch("GET", address.host, "\(root)/.well-known/openid-configuration")
        guard answer.status == 200 else {
            throw unreachable(
                "its discovery document was answered with \(answer.status): is the issuer configured in the section "
                    + "openid of the seed?")
        }
        guard let metadata = answer.document?.object else {
            throw unreachable("its discovery document isn't a JSON object")
        }
        guard metadata["issuer"]?.string == config.issuer else {
            throw unreachable("its discovery document says \(metadata["issuer"]?.text ?? "nothing") for issuer")
        }
        return Issuer(metadata: metadata)
    }

    private func unreachable(_ reason: String) -> FirebaseError {
        .invalidIdP(
            "Error connecting to the given credential's issuer.",
            Diagnosis("the issuer \(Diagnosis.quote(config.issuer)) of provider \(config.id) can't be used: \(reason)"))
    }

    // MARK: - The web flow

    func authorization(scopes: [String], in exchange: Exchange) async throws(FirebaseError) -> WebAuthorization {
        let issuer = try await issuer(exchange)
        guard let endpoint = issuer.endpoint("authorization_endpoint") else {
            throw unreachable("it has no authorization_endpoint")
        }
        let supported = issuer.list("scopes_supported")
        let own = ["openid"] + ["email", "profile"].filter { supported.contains($0) }
        let fields = [
            ("response_type", config.usesCode ? "code" : "id_token"), ("client_id", config.clientID),
            ("scope", (own + scopes.filter { !own.contains($0) }).joined(separator: " ")),
        ]
        return WebAuthorization(host: endpoint.host, path: endpoint.path, fields: fields, needsNonce: true)
    }

    /// Redeems an authorization code at the issuer's token endpoint. The client authenticates by HTTP Basic if the
    /// issuer allows that. Production's method of client authentication isn't documented.
    private func tokens(
        code: String, redirectURI: String, from issuer: Issuer, in call: FirebaseCall
    ) async throws(FirebaseError) -> JSONObject {
        guard let endpoint = issuer.endpoint("token_endpoint") else { throw unreachable("it has no token_endpoint") }
        let known = call.exchange.world.seed.section(named: "openid")?.secret(ofClient: config.clientID)
        let secret = config.clientSecret ?? known ?? ""
        let methods = issuer.list("token_endpoint_auth_methods_supported", default: ["client_secret_basic"])
        let redemption = CodeRedemption(
            host: endpoint.host, path: endpoint.path, authenticatesByHeader: methods.contains("client_secret_basic"),
            phrase: "GOOGLE_OIDC, request is:")
        let body = try await redemption.tokens(
            code: code, redirectURI: redirectURI, client: config.clientID, secret: secret, in: call)
        guard body["id_token"]?.string != nil else {
            throw .invalidIdP(
                "Remote site returned malformed response that cannot be parsed for \(config.id) for CODE_EXCHANGE",
                Diagnosis("the token endpoint's response has no id_token"))
        }
        return body
    }

    // MARK: - The credential

    func identity(of credential: Credential, in call: FirebaseCall) async throws -> FederatedIdentity {
        let code = credential["code"]
        guard credential["id_token"] != nil || (code != nil && credential.redirectURI != nil) else {
            throw FirebaseProvider.noCredential(credential)
        }
        let issuer = try await issuer(call.exchange)
        var (text, accessToken) = (credential["id_token"] ?? "", credential["access_token"])
        var answer = JSONObject()
        if let code, let redirectURI = credential.redirectURI {
            let tokens = try await tokens(code: code, redirectURI: redirectURI, from: issuer, in: call)
            (text, accessToken) = (tokens["id_token"]?.string ?? "", tokens["access_token"]?.string)
            answer = tokens
        }
        guard let keys = issuer.endpoint("jwks_uri") else { throw unreachable("it has no jwks_uri") }
        // The algorithms that Firebase accepts aren't documented. The refusal of an HMAC is recorded.
        let rule = IDTokenRule(
            keys: keys, issuers: [config.issuer], audiences: [config.clientID], algorithms: Algorithm.published)
        let token = try await call.verify(text, rule)
        let claims = token.claims
        var identity = FederatedIdentity(providerId: config.id, rawId: claims["sub"]?.string ?? "")
        identity.keep(answer)
        identity.nonce = try nonce(of: token, credential, identity.rawId, call)
        identity.email = claims["email"]?.string
        identity.isEmailVerified = claims["email_verified"]?.bool ?? false
        identity.displayName = claims["name"]?.string
        identity.photoUrl = claims["picture"]?.string
        identity.idToken = text
        identity.accessToken = accessToken
        identity.rawUserInfo = JSONValue.object(claims).text
        identity.attributes = CustomClaims(
            JSONObject(
                claims.members.filter { !OpenIDSource.standardClaims.contains($0.key) }.map { ($0.key, $0.value) }))
        return identity
    }

    /// The claims of an ID token that don't become `sign_in_attributes`, because they are standard. Production's list
    /// isn't documented; this is the list of OpenID Connect.
    /// <https://openid.net/specs/openid-connect-core-1_0.html#StandardClaims>
    private static let standardClaims: Set<String> = [
        "iss", "sub", "aud", "exp", "iat", "nbf", "jti", "auth_time", "nonce", "acr", "amr", "azp", "at_hash", "c_hash",
        "name", "given_name", "family_name", "middle_name", "nickname", "preferred_username", "profile", "picture",
        "website", "email", "email_verified", "gender", "birthdate", "zoneinfo", "locale", "phone_number",
        "phone_number_verified", "address", "updated_at",
    ]

    /// Checks the nonce of an ID token, and returns it. In a sign-in in the browser, it must be the nonce that Firebase
    /// sent to the issuer. In any other sign-in, the token may lack a nonce; otherwise, it must be the hash of the raw
    /// nonce that the client sends.
    private func nonce(
        of token: JWS, _ credential: Credential, _ subject: String, _ call: FirebaseCall
    ) throws -> String? {
        guard let sent = credential.flowNonce else {
            return try call.checkNonce(
                of: token, provider: config.id, called: config.displayName ?? config.id, subject: subject,
                rawNonce: credential["nonce"])
        }
        guard token.claims["nonce"]?.string == sent else {
            // Production's message isn't documented.
            throw FirebaseError(
                "MISSING_OR_INVALID_NONCE", "The nonce in ID Token does not match the one in the request.",
                because:
                    "the ID token's nonce is \(token.claims["nonce"]?.text ?? "missing"), but the authorization request had \(sent)"
            )
        }
        return sent
    }
}

struct SeededOpenIDProvider: SchemaObject {
    let isEnabled: Bool
    let displayName: String?
    let issuer: String
    let clientID: String
    let clientSecret: String?
    let usesCode: Bool

    init(_ fields: inout Fields) {
        isEnabled = fields.enabled()
        displayName = fields.optional("displayName", .text(.name), "The name that administrators see.")
        issuer = fields("issuer", .text(.url), "The issuer, an https URL.")
        clientID = fields("clientID", .text(.nonEmpty), "The client ID at the issuer.")
        clientSecret = fields.optional(
            "clientSecret", .text(.nonEmpty), "The client secret; by default that of the client in `openid`.")
        usesCode =
            fields(
                "responseType", .choice(["id_token", "code"]), default: "id_token",
                "The `response_type` of the web flow's request to the issuer.") == "code"
    }

    static func check(_ id: String, _ settings: LocatedJSON, _ references: inout SeedReferences) {
        if !OAuthIdpConfig.isID(id) {
            references.add(settings, "the ID may hold letters, digits, \"-\", \"_\" and \".\", in 128 bytes at most")
        }
        let issuer = settings["issuer"]
        if let issuer, let url = issuer.string, !OAuthIdpConfig.isIssuer(url) {
            references.add(issuer, "Firebase takes https issuers only, without query and fragment")
        }
        guard settings["responseType"]?.string == "code", settings["clientSecret"] == nil else { return }
        let issuers = references.root["openid"]?["issuers"]?.items ?? []
        let clients = issuers.first { $0["issuer"]?.string == issuer?.string }?["clients"]
        if !KnownNames(clients, "clientID").contains(settings["clientID"]?.string ?? "") {
            references.add(settings, "with \"responseType\": \"code\" the provider needs a clientSecret")
        }
    }
}
