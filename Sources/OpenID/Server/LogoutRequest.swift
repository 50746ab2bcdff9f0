import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time

/// A request to sign a browser out: <https://openid.net/specs/openid-connect-rpinitiated-1_0.html#RPLogout>.
struct LogoutRequest: Sendable {
    /// The session to end; `nil` if there is none.
    let session: BrowserSession?
    /// The browser's next address.
    let target: AuthorizationResponse?
    /// Whether the person must be asked. Without an ID token of the browser's session, any page could have sent this
    /// request.
    let needsQuestion: Bool

    /// Checks a request. `claims` reads an ID token that the server has signed, even if it has expired.
    init(
        _ form: Form, at server: Issuer, in exchange: Exchange, claims: (String) -> JSONObject?
    ) throws(OAuthRefusal) {
        var hint: JSONObject?
        if let text = form["id_token_hint"] {
            guard let read = claims(text) else {
                throw OAuthRefusal("invalid_request", Diagnosis("id_token_hint isn't an ID token of this issuer"))
            }
            hint = read
        }
        let client = try LogoutRequest.client(form, hint, server, exchange)
        target = try LogoutRequest.target(form, client, exchange)
        let browser = exchange.session(at: server.realm)
        let hinted = hint?["sid"]?.string.flatMap { id in
            exchange.world.read { $0.session(withID: id, at: server.realm) }
        }
        session = browser ?? hinted
        // "If the supplied ID Token does not belong to the current OP session", the person is asked too.
        needsQuestion = browser != nil && browser?.id != hinted?.id
    }

    private static func client(
        _ form: Form, _ hint: JSONObject?, _ server: Issuer, _ exchange: Exchange
    ) throws(OAuthRefusal) -> ClientMetadata? {
        let audience = hint?["aud"]?.string
        guard let id = form["client_id"] ?? audience else { return nil }
        guard audience == nil || audience == id else {
            throw OAuthRefusal("invalid_request", Diagnosis("client_id isn't the client of id_token_hint"))
        }
        if let client = server.client(id, in: exchange.world) { return client }
        throw OAuthRefusal(
            "invalid_client",
            Diagnosis(received: "client_id \(Diagnosis.quote(id))", server.noClient(id)))
    }

    private static func target(
        _ form: Form, _ client: ClientMetadata?, _ exchange: Exchange
    ) throws(OAuthRefusal) -> AuthorizationResponse? {
        guard let uri = form["post_logout_redirect_uri"] else { return nil }
        let known = client?.postLogoutRedirectURIs ?? []
        guard client?.mayUse(redirectURI: uri, among: known) ?? false else {
            throw OAuthRefusal(
                "invalid_request",
                Diagnosis(
                    received: "post_logout_redirect_uri \(Diagnosis.quote(uri))",
                    expected: RegisteredRedirectURI.alternatives(known),
                    "send id_token_hint or client_id, and register the URI in postLogoutRedirectURIs"))
        }
        var response = AuthorizationResponse(redirectURI: exchange.reachable(uri), mode: .query)
        response.append("state", form["state"])
        return response
    }
}

/// The token that notifies a client of a session's end:
/// <https://openid.net/specs/openid-connect-backchannel-1_0.html#LogoutToken>.
enum LogoutToken {
    private static let event = "http://schemas.openid.net/event/backchannel-logout"

    static func claims(
        issuer: String, client: String, subject: String, session: String, id: String, at now: Instant
    ) -> JSONObject {
        JSONObject([
            ("iss", .string(issuer)), ("aud", .string(client)), ("sub", .string(subject)), ("sid", .string(session)),
            ("iat", .numericDate(now)), ("exp", .numericDate(now + .minutes(2))), ("jti", .string(id)),
            ("events", .object(JSONObject([(event, [:])]))),
        ])
    }
}
