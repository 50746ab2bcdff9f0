import EmulatorCore
import JOSE
import JSON

/// The purposes of JSON Web Tokens.
enum TokenKind: String, Sendable {
    case idToken = "ID token"
    case accessToken = "Access token"
    case clientSecret = "Client secret"
    case requestObject = "Request object"
    case identityAssertion = "Identity assertion (ID-JAG)"
    case logoutToken = "Logout token"
    case notification = "Notification"
    case other = "JSON Web Token"

    /// Recognizes the kind by the header's `typ`, the claims, and the name of the token's field.
    init(_ token: JWS, field: String?, reader: ValueReader) {
        let name = (field ?? "").lowercased().filter { $0 != "_" && $0 != "-" }
        switch (token.header["typ"]?.string ?? "").lowercased() {
        // RFC 9068 section 2.1.
        case "at+jwt", "application/at+jwt":
            self = .accessToken
            return
        // https://openid.net/specs/openid-connect-backchannel-1_0.html#LogoutToken
        case "logout+jwt":
            self = .logoutToken
            return
        // RFC 9101 section 10.8.
        case "oauth-authz-req+jwt":
            self = .requestObject
            return
        // https://datatracker.ietf.org/doc/html/draft-ietf-oauth-identity-assertion-authz-grant-04#section-3
        case "oauth-id-jag+jwt":
            self = .identityAssertion
            return
        default: break
        }
        switch name {
        case "clientsecret", "clientassertion": self = .clientSecret
        case "request": self = .requestObject
        case "logouttoken": self = .logoutToken
        case "idtoken", "identitytoken", "idtokenhint": self = .idToken
        default: self = TokenKind.byClaims(token.claims, reader)
        }
    }

    private static func byClaims(_ claims: JSONObject, _ reader: ValueReader) -> TokenKind {
        if claims["events"] != nil { return .notification }
        let issuer = claims["iss"]?.string ?? ""
        let audience = claims["aud"]?.string ?? ""
        // A client's own token is meant for a provider, and names the client as its subject.
        if reader.provider(ofIssuer: issuer) == nil, reader.provider(ofIssuer: audience) != nil, claims["sub"] != nil {
            return .clientSecret
        }
        if claims["aud"] != nil, claims["sub"] != nil { return .idToken }
        return claims["client_id"] != nil && claims["redirect_uri"] != nil ? .requestObject : .other
    }

    /// The claims without which a token of this kind may not be accepted.
    var required: [String] {
        switch self {
        // https://openid.net/specs/openid-connect-core-1_0.html#IDToken
        case .idToken: ["iss", "sub", "aud", "exp", "iat"]
        case .accessToken: ["iss", "exp", "aud", "sub"]
        case .clientSecret: ["iss", "sub", "aud", "exp"]
        case .identityAssertion: ["iss", "sub", "aud", "client_id", "jti", "exp", "iat"]
        case .logoutToken: ["iss", "aud", "iat", "events"]
        case .notification: ["iss", "aud", "iat"]
        case .requestObject, .other: []
        }
    }
}
