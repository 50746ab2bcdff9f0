import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time

// GET and POST https://oauth2.googleapis.com/tokeninfo
// https://developers.google.com/identity/sign-in/web/backend-auth#calling-the-tokeninfo-endpoint
//
// Quirk: every value is a string.

extension GoogleProvider {
    func tokenInfo(_ exchange: Exchange) -> Response {
        let query = exchange.request.queryForm
        let body = exchange.request.bodyForm
        do throws(GoogleError) {
            let info: JSONObject
            if let text = query["id_token"] ?? body["id_token"] {
                info = try idTokenInfo(exchange, text)
            } else {
                info = try accessTokenInfo(exchange, query["access_token"] ?? body["access_token"] ?? "")
            }
            return GoogleProvider.json(.object(info))
        } catch {
            return error.jsonResponse
        }
    }

    private func accessTokenInfo(_ exchange: Exchange, _ text: String) throws(GoogleError) -> JSONObject {
        let (found, now) = exchange.world.read { ($0.working(text, .access, GoogleGrant.self), $0.now) }
        guard let (token, grant, account) = found, let expires = token.expires else {
            throw invalid("the access token is missing, unknown, expired or revoked")
        }
        let scopes = token.details.scopes
        var info = JSONObject([
            ("azp", .string(grant.client)), ("aud", .string(grant.client)), ("sub", .string(account.google.sub)),
            ("scope", .string(scopes.text)), ("exp", .string(String(expires.seconds))),
            ("expires_in", .string(String(max(.zero, expires - now.wholeSecond).seconds))),
        ])
        for (name, value) in scopes.profile(of: account) where name.hasPrefix("email") {
            info[name] = .string(value.string ?? value.text)
        }
        info["access_type"] = "online"
        return info
    }

    private func idTokenInfo(_ exchange: Exchange, _ text: String) throws(GoogleError) -> JSONObject {
        let token: JWS
        do { token = try JWS(parsing: text) } catch {
            throw invalid("the ID token can't be read: \(error.description)")
        }
        guard let key = exchange.world.keys[.google].key(of: token) else {
            throw invalid("kid \(Diagnosis.quote(token.keyID ?? "missing")) isn't one of Google's keys here")
        }
        guard key.hasSigned(token) else {
            throw invalid("the signature isn't Google's")
        }
        guard let expires = token.claims["exp"]?.numericDate, expires > exchange.world.now else {
            throw invalid("the ID token has expired")
        }
        var info = JSONObject()
        for (name, value) in token.claims.members { info[name] = .string(value.string ?? value.text) }
        info["alg"] = "RS256"
        info["kid"] = .string(key.id)
        info["typ"] = "JWT"
        return info
    }

    private func invalid(_ reason: String) -> GoogleError {
        GoogleError("invalid_token", "Invalid Value", Diagnosis(reason))
    }
}
