import EmulatorCore
import HTTPServer
import JOSE
import JSON

/// A request object: an authorization request in a token that the client has signed.
/// <https://datatracker.ietf.org/doc/html/rfc9101>
package enum RequestObject {
    /// The token's own members, which aren't parameters: <https://datatracker.ietf.org/doc/html/rfc9101#section-4>.
    private static let ownClaims: Set<String> = [
        "iss", "aud", "exp", "iat", "nbf", "jti", "sub", "request", "request_uri",
    ]

    /// Returns the request in the field `request` of `form`: the token's members replace all other fields, except
    /// `client_id`. Without that field, returns `form`.
    package static func resolve(
        _ form: Form, client: ClientCredentials, issuer: String, in exchange: Exchange
    ) throws(OAuthRefusal) -> Form {
        guard let text = form["request"] else { return form }
        let token: JWS
        do { token = try JWS(parsing: text) } catch { throw refusal("it can't be read: \(error.description)") }
        if let fault = client.fault(inSignatureOf: token) { throw refusal(fault) }
        if let fault = fault(in: token.claims, client: client.clientID, issuer: issuer, exchange) {
            throw refusal(fault)
        }
        // RFC 9101 section 6.3 ignores the query's other fields; OIDC Core section 6.1 would use them.
        var fields = [Form.Field(name: "client_id", value: client.clientID)]
        for (name, value) in token.claims.members where name != "client_id" && !ownClaims.contains(name) {
            fields.append(Form.Field(name: name, value: value.string ?? value.text))
        }
        return Form(fields: fields)
    }

    private static func fault(
        in claims: JSONObject, client: String, issuer: String, _ exchange: Exchange
    ) -> String? {
        if let named = claims["client_id"]?.string, named != client { return "client_id in it is another client's" }
        if let named = claims["iss"]?.string, named != client { return "iss must be the client_id" }
        if let audience = claims["aud"] {
            let all = audience.array ?? [audience]
            guard all.contains(.string(issuer)) else { return "aud must be the issuer, \(Diagnosis.quote(issuer))" }
        }
        let now = exchange.world.now
        if let expires = claims["exp"] {
            guard let time = expires.numericDate, time > now else { return "it has expired" }
        }
        if let begins = claims["nbf"] {
            guard let time = begins.numericDate, time <= now else { return "nbf lies in the future" }
        }
        return nil
    }

    private static func refusal(_ reason: String) -> OAuthRefusal {
        OAuthRefusal("invalid_request_object", Diagnosis("the request object: \(reason)"))
    }
}
