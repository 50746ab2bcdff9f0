import EmulatorCore
import HTTPServer
import JSON
import OAuth

/// A request to exchange a token for another: <https://datatracker.ietf.org/doc/html/rfc8693#section-2.1>.
struct TokenExchange: Sendable {
    static let grantType = "urn:ietf:params:oauth:grant-type:token-exchange"

    enum TokenType: String, Sendable {
        case accessToken = "urn:ietf:params:oauth:token-type:access_token"
        case refreshToken = "urn:ietf:params:oauth:token-type:refresh_token"
        case idToken = "urn:ietf:params:oauth:token-type:id_token"
        case jwt = "urn:ietf:params:oauth:token-type:jwt"
        case identityAssertion = "urn:ietf:params:oauth:token-type:id-jag"
    }

    struct PresentedToken: Sendable {
        let text: String
        let type: TokenType
    }

    let subject: PresentedToken
    let actor: PresentedToken?
    let requested: TokenType
    private let scope: String?
    let audiences, resources: [String]
    /// The values of `audience` and `resource`.
    var targets: [String] { audiences + resources }

    init(_ form: Form) throws(OAuthRefusal) {
        guard let subject = try TokenExchange.token("subject", form) else {
            throw OAuthRefusal("invalid_request", Diagnosis("subject_token is missing"))
        }
        self.subject = subject
        actor = try TokenExchange.token("actor", form)
        requested = try TokenExchange.type("requested_token_type", form) ?? .accessToken
        scope = form["scope"]
        audiences = form.fields.filter { $0.name == "audience" }.map(\.value)
        resources = try AuthorizationParameters.resources(form)
        try AuthorizationParameters.checkTargets(targets)
        guard requested != .idToken || targets.isEmpty else {
            throw OAuthRefusal(
                "invalid_target", Diagnosis("an ID token is for the client that asks: leave out audience and resource"))
        }
        guard requested != .refreshToken else {
            throw OAuthRefusal("invalid_request", Diagnosis("a refresh token isn't given in exchange"))
        }
    }

    /// Returns the requested scopes. They must be among `allowed`.
    func scopes(among allowed: [String]?) throws(OAuthRefusal) -> [String] {
        try AuthorizationParameters.scopes(scope, among: allowed)
    }

    /// Returns the scopes of the new token: the requested ones, or all scopes of the subject's token.
    func scopes(upTo granted: [String]) throws(OAuthRefusal) -> [String] {
        let asked = try scopes(among: .some(granted))
        let scopes = asked.isEmpty ? granted : asked
        guard requested != .idToken || scopes.contains("openid") else {
            throw OAuthRefusal("invalid_scope", Diagnosis("without the scope openid there is no ID token"))
        }
        return scopes
    }

    /// The most actors of a token, each acting for the one before.
    private static let actorLimit = 10

    /// Returns the claim `act`, with the earlier actors nested in it:
    /// <https://datatracker.ietf.org/doc/html/rfc8693#section-4.1>.
    static func act(_ subject: String, after earlier: JSONValue?) throws(OAuthRefusal) -> JSONValue {
        var (count, inner) = (1, earlier)
        while let actor = inner, count <= actorLimit { (count, inner) = (count + 1, actor["act"]) }
        guard count <= actorLimit else {
            throw OAuthRefusal(
                "invalid_request",
                Diagnosis("more than \(actorLimit) actors act for each other: begin with a token of fewer"))
        }
        var act = JSONObject([("sub", .string(subject))])
        act["act"] = earlier
        return .object(act)
    }

    private static func token(_ name: String, _ form: Form) throws(OAuthRefusal) -> PresentedToken? {
        guard let text = form["\(name)_token"], !text.isEmpty else { return nil }
        guard let type = try type("\(name)_token_type", form) else {
            throw OAuthRefusal("invalid_request", Diagnosis("\(name)_token_type is missing: say what \(name)_token is"))
        }
        return PresentedToken(text: text, type: type)
    }

    private static func type(_ name: String, _ form: Form) throws(OAuthRefusal) -> TokenType? {
        guard let text = form[name] else { return nil }
        if let type = TokenType(rawValue: text) { return type }
        throw OAuthRefusal(
            "invalid_request",
            Diagnosis(
                received: "\(name) \(Diagnosis.quote(text))",
                expected:
                    "access_token, refresh_token, id_token, jwt or id-jag after \"urn:ietf:params:oauth:token-type:\"",
                "name a type that this server knows"))
    }
}

/// The access that an issuer gives its clients at another issuer, for people who have signed in here:
/// <https://datatracker.ietf.org/doc/html/draft-ietf-oauth-identity-assertion-authz-grant-04>.
struct CrossAppAccess: SchemaObject {
    /// The `id` of the other issuer.
    let issuer: String
    private let clients: [String: String]
    let scopes: [String]?
    let accounts: [String]?

    init(_ fields: inout Fields) {
        issuer = fields("issuer", .text(.identifier), "The other issuer, by its id.")
        clients = Dictionary(
            fields.map(
                "clients", of: .text(.nonEmpty),
                "Client IDs at the other issuer, by the client IDs here; the same by default."
            ).map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        scopes = fields.nullable(
            "scopes", .set(of: .text(.nonEmpty)), "The scopes that are granted there at most; all by default.")
        accounts = fields.nullable(
            "accounts", .set(of: .text(.nonEmpty)), "The people who have access, by account; all by default.")
    }

    /// Returns the ID of a client at the other issuer.
    func client(_ id: String) -> String { clients[id] ?? id }
}

/// A person's assertion for another issuer, which a client exchanges there for an access token (ID-JAG).
enum IdentityAssertion {
    /// The grant type of <https://datatracker.ietf.org/doc/html/rfc7523#section-2.1>.
    static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    /// The name of this use of the grant type in metadata.
    static let profile = "urn:ietf:params:oauth:grant-profile:id-jag"
    /// The `typ` of its header.
    static let type = "oauth-id-jag+jwt"
}
