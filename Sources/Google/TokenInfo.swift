import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time

// GET and POST https://oauth2.googleapis.com/tokeninfo
// https://developers.google.com/identity/sign-in/web/backend-auth#calling-the-tokeninfo-endpoint
//
// Quirks: every value is a string. Versions 1 and 2 at www.googleapis.com have other names, and numbers; refusals of
// versions 2 and 3 there have no `error`. An access token may be in the header Authorization: Google's library for
// Node.js sends it so (https://github.com/googleapis/google-auth-library-nodejs, `getTokenInfo`).

/// The versions of tokeninfo, by their paths.
enum TokenInfoVersion: String, CaseIterable, Sendable {
    case current = "/tokeninfo"
    case v1 = "/oauth2/v1/tokeninfo"
    case v2 = "/oauth2/v2/tokeninfo"
    case v3 = "/oauth2/v3/tokeninfo"

    /// Whether members have the names and types from before OpenID Connect.
    var isOld: Bool { self == .v1 || self == .v2 }

    /// Whether a refusal has `error` beside `error_description`. Those of versions 2 and 3 don't:
    /// <https://github.com/googleapis/google-api-go-client/issues/403>,
    /// <https://github.com/flutter/flutter/issues/56060>. The others do:
    /// <https://github.com/EddyVerbruggen/cordova-plugin-googleplus/issues/521>.
    var namesErrors: Bool { self == .current || self == .v1 }
}

extension GoogleProvider {
    func tokenInfo(_ exchange: Exchange, _ version: TokenInfoVersion) -> Response {
        let form = Form(fields: exchange.request.queryForm.fields + exchange.request.bodyForm.fields)
        do throws(GoogleError) {
            let info: JSONObject
            if let text = form["id_token"], !text.isEmpty {
                let token = try idToken(exchange, text)
                info = version.isOld ? oldInfo(of: token, exchange.world.now) : self.info(of: token)
            } else if let text = exchange.request.accessToken(), !text.isEmpty {
                info = try accessTokenInfo(exchange, text, isOld: version.isOld)
            } else {
                // The error's name isn't documented; public logs have this one.
                throw GoogleError(
                    "invalid_token", "Either access_token, id_token, or token_handle required",
                    Diagnosis("send access_token or id_token"))
            }
            return GoogleProvider.json(.object(info))
        } catch {
            return error.response(isNamed: version.namesErrors)
        }
    }

    // MARK: - Access tokens

    /// Returns information on an access token. The old form is described at
    /// <https://shimeche.github.io/2016/05/18/oauth2-google-access-token-verification/>.
    private func accessTokenInfo(
        _ exchange: Exchange, _ text: String, isOld: Bool
    ) throws(GoogleError) -> JSONObject {
        let (found, now) = exchange.world.read { ($0.working(text, .access, GoogleGrant.self), $0.now) }
        guard let (token, grant, account) = found, let expires = token.expires else {
            let reason = exchange.reason(againstUsing: text, .access, GoogleGrant.self)
            throw invalid("the access token doesn't work: \(reason)")
        }
        let (client, sub) = (JSONValue.string(grant.client), JSONValue.string(account.google.sub))
        let scopes = token.details.scopes
        let left = max(.zero, expires - now.wholeSecond).seconds
        let accessType: JSONValue = token.details.isOffline ? "offline" : "online"
        if isOld {
            var info = JSONObject([("issued_to", client), ("audience", client)])
            if scopes.contains("openid") { info["user_id"] = sub }
            info["scope"] = .string(scopes.text)
            info["expires_in"] = .integer(left)
            for (name, value) in scopes.profile(of: account) where name.hasPrefix("email") {
                info[name == "email" ? name : "verified_email"] = value
            }
            info["access_type"] = accessType
            return info
        }
        var info = JSONObject([("azp", client), ("aud", client)])
        if scopes.contains("openid") { info["sub"] = sub }
        info["scope"] = .string(scopes.text)
        info["exp"] = .string(String(expires.seconds))
        info["expires_in"] = .string(String(left))
        for (name, value) in scopes.profile(of: account) where name.hasPrefix("email") {
            info[name] = .string(value.string ?? value.text)
        }
        info["access_type"] = accessType
        return info
    }

    // MARK: - ID tokens

    private func idToken(_ exchange: Exchange, _ text: String) throws(GoogleError) -> JWS {
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
        return token
    }

    private func info(of token: JWS) -> JSONObject {
        var info = JSONObject()
        for (name, value) in token.claims.members { info[name] = .string(value.string ?? value.text) }
        info["alg"] = "RS256"
        info["kid"] = .string(token.keyID ?? "")
        info["typ"] = "JWT"
        return info
    }

    private func oldInfo(of token: JWS, _ now: Instant) -> JSONObject {
        let claims = token.claims
        let names = [
            ("issuer", "iss"), ("issued_to", "azp"), ("audience", "aud"), ("user_id", "sub"), ("nonce", "nonce"),
            ("email", "email"), ("email_verified", "email_verified"),
        ]
        var info = JSONObject()
        for (name, claim) in names { info[name] = claims[claim] }
        info["issued_at"] = claims["iat"]
        info["expires_in"] = claims["exp"]?.numericDate.map { .integer(max(.zero, $0 - now.wholeSecond).seconds) }
        return info
    }

    private func invalid(_ reason: String) -> GoogleError {
        GoogleError("invalid_token", "Invalid Value", Diagnosis(reason))
    }
}
