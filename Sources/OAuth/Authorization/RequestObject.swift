import EmulatorCore
import HTTPServer
import JOSE
import JSON

/// An authorization request within a token that the client signed: <https://datatracker.ietf.org/doc/html/rfc9101>.
package enum RequestObject {
    /// Fields of the token that aren't the request's: <https://datatracker.ietf.org/doc/html/rfc9101#section-4>.
    private static let ownClaims: Set<String> = [
        "iss", "aud", "exp", "iat", "nbf", "jti", "sub", "request", "request_uri",
    ]

    /// The request that `form` makes with its field `request`: the token's members take the place of all others, apart from
    /// `client_id`. Without that field, `form` itself.
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
        // OIDC Core section 6.1 takes what the token lacks from the query; RFC 9101 section 6.3 doesn't.
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
