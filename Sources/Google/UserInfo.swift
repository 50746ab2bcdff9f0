import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time

// GET https://openidconnect.googleapis.com/v1/userinfo and https://www.googleapis.com/oauth2/v3/userinfo
//
// Quirks: versions 1 and 2 at www.googleapis.com have `id` and `verified_email`, and refuse as Google's APIs do;
// version 2 also has the list `errors`. A token without a scope of sign-in is refused like a missing one.

extension GoogleProvider {
    enum UserInfoVersion: Sendable {
        case v1
        case v2
        /// Version 3 of Google's user info, whose members OpenID Connect defines.
        case v3
    }

    func userInfo(_ exchange: Exchange, _ version: UserInfoVersion = .v3) -> Response {
        let text = exchange.request.accessToken() ?? ""
        let found = exchange.world.read { $0.working(text, .access, GoogleGrant.self) }
        guard let (token, _, account) = found else {
            let reason = exchange.reason(againstUsing: text, .access, GoogleGrant.self)
            return refused(version, isMissing: text.isEmpty, Diagnosis("the access token doesn't work: \(reason)"))
        }
        let scopes = token.details.scopes
        guard scopes.contains("openid") else {
            let diagnosis = Diagnosis(
                received: "a token with the scopes \(Diagnosis.quote(scopes.text))",
                expected: "openid, email or profile",
                "request one of these scopes, too")
            return refused(version, isMissing: true, diagnosis)
        }
        let isOld = version != .v3
        var body = JSONObject([(isOld ? "id" : "sub", .string(account.google.sub))])
        for (name, value) in scopes.profile(of: account) {
            body[isOld && name == "email_verified" ? "verified_email" : name] = value
        }
        body["hd"] = account.google.hostedDomain.map { .string($0) }
        return GoogleProvider.json(.object(body))
    }

    /// Returns the error response of Google's user info endpoint. `isMissing` is true if the request has no token, or a
    /// token without a scope of sign-in. It is false if the token doesn't work.
    private func refused(_ version: UserInfoVersion, isMissing: Bool, _ diagnosis: Diagnosis) -> Response {
        let error = isMissing ? APIError.noCredential(diagnosis) : APIError.invalidCredential(diagnosis)
        switch version {
        case .v1: return error.response
        case .v2: return error.responseWithList
        case .v3:
            return GoogleError("invalid_request", "Invalid Credentials", status: 401, diagnosis).jsonResponse
        }
    }
}

// GET https://people.googleapis.com/v1/people/me
//
// Quirks: personFields is required. The resource's name is "people/" and the person's number. Other people aren't
// served, and of all fields there are only names, addresses and pictures.

extension GoogleProvider {
    static let peopleHost = "people.googleapis.com"

    private static let personFields: Set<String> = [
        "addresses", "ageRanges", "biographies", "birthdays", "calendarUrls", "clientData", "coverPhotos",
        "emailAddresses", "events", "externalIds", "genders", "imClients", "interests", "locales", "locations",
        "memberships", "metadata", "miscKeywords", "names", "nicknames", "occupations", "organizations",
        "phoneNumbers", "photos", "relations", "sipAddresses", "skills", "urls", "userDefined",
    ]
    private static let documented =
        "Valid paths are documented at https://developers.google.com/people/api/rest/v1/people/get."

    func personOfToken(_ exchange: Exchange) -> Response {
        do throws(APIError) {
            let (scopes, account) = try person(exchange)
            let fields = try personFields(exchange.request.queryForm)
            return GoogleProvider.json(.object(describe(account, fields, scopes)))
        } catch { return error.response }
    }

    private func person(_ exchange: Exchange) throws(APIError) -> (GoogleScopes, Account) {
        let text = exchange.request.accessToken() ?? ""
        guard !text.isEmpty else {
            throw .noCredential(Diagnosis("the access token is missing: send it as Authorization: Bearer"))
        }
        let found = exchange.world.read { $0.working(text, .access, GoogleGrant.self) }
        guard let (token, _, account) = found else {
            let reason = exchange.reason(againstUsing: text, .access, GoogleGrant.self)
            throw .invalidCredential(Diagnosis("the access token doesn't work: \(reason)"))
        }
        let scopes = token.details.scopes
        // The scopes for each field aren't completely documented: here, those of sign-in give what userinfo gives.
        guard scopes.contains("email") || scopes.contains("profile") else {
            throw .insufficientScopes(
                Diagnosis(
                    received: "a token with the scopes \(Diagnosis.quote(scopes.text))", expected: "email or profile",
                    "request one of these scopes, too"))
        }
        return (scopes, account)
    }

    /// Returns the names of a person's fields in the parameter `personFields` of a request to Google's People API. If
    /// `personFields` is empty, the names are read from the older parameter `requestMask.includeField`, where each name
    /// begins with `person.` (<https://developers.google.com/people/api/rest/v1/RequestMask>,
    /// <https://github.com/codenameone/CodenameOne/issues/3135>).
    private func personFields(_ query: Form) throws(APIError) -> Set<String> {
        func split(_ text: String) -> [Substring] { text.split { $0 == "," || $0 == " " } }
        let mask = split(query["requestMask.includeField"] ?? "").map {
            $0.hasPrefix("person.") ? $0.dropFirst("person.".count) : $0
        }
        let text = query["personFields"] ?? ""
        let fields = Set((text.isEmpty ? mask : split(text)).map(String.init))
        guard !fields.isEmpty else {
            throw APIError(
                400, "INVALID_ARGUMENT",
                "personFields mask is required. Please specify one or more valid paths. \(GoogleProvider.documented)",
                Diagnosis("personFields is missing: send a list of fields, such as names,emailAddresses"))
        }
        if let other = fields.subtracting(GoogleProvider.personFields).min() {
            throw APIError(
                400, "INVALID_ARGUMENT", "Invalid personFields mask path: \"\(other)\". \(GoogleProvider.documented)",
                Diagnosis(
                    received: "the field \(Diagnosis.quote(other))", "send only field names from Google's documentation"
                ))
        }
        return fields
    }

    private func describe(_ account: Account, _ fields: Set<String>, _ scopes: GoogleScopes) -> JSONObject {
        let sub = account.google.sub
        func metadata(_ source: String, isVerified: Bool = false) -> JSONValue {
            var metadata = JSONObject([("primary", true)])
            if isVerified { metadata["verified"] = true }
            metadata["source"] = ["type": .string(source), "id": .string(sub)]
            metadata["sourcePrimary"] = true
            return .object(metadata)
        }
        var person = JSONObject([("resourceName", .string("people/\(sub)")), ("etag", "%EgMBLjcaBAECBQciAA==")])
        if fields.contains("metadata") {
            person["metadata"] = [
                "sources": [["type": "PROFILE", "id": .string(sub)]], "objectType": "PERSON",
            ]
        }
        if fields.contains("names"), scopes.contains("profile") {
            let (given, family) = (account.name.given, account.name.family)
            person["names"] = [
                [
                    "metadata": metadata("PROFILE"), "displayName": .string(account.fullName),
                    "familyName": .string(family), "givenName": .string(given),
                    "displayNameLastFirst": .string(family.isEmpty ? given : "\(family), \(given)"),
                    "unstructuredName": .string(account.fullName),
                ]
            ]
        }
        if fields.contains("photos"), scopes.contains("profile") {
            person["photos"] = [["metadata": metadata("PROFILE"), "url": .string(account.google.picture)]]
        }
        if fields.contains("emailAddresses"), scopes.contains("email") {
            person["emailAddresses"] = [
                [
                    "metadata": metadata("ACCOUNT", isVerified: account.emailVerified),
                    "value": .string(account.email),
                ]
            ]
        }
        return person
    }
}

// GET and POST https://oauth2.googleapis.com/tokeninfo
//
// Quirks: every value is a string. Versions 1 and 2 at www.googleapis.com have other names, and numbers; refusals of
// versions 2 and 3 there have no `error`. An access token may be in the header Authorization: Google's library for
// Node.js sends it so (https://github.com/googleapis/google-auth-library-nodejs, `getTokenInfo`).

/// The versions of Google's tokeninfo endpoint, by their paths.
enum TokenInfoVersion: String, CaseIterable, Sendable {
    case current = "/tokeninfo"
    case v1 = "/oauth2/v1/tokeninfo"
    case v2 = "/oauth2/v2/tokeninfo"
    case v3 = "/oauth2/v3/tokeninfo"

    /// Whether the members of Google's tokeninfo response have the names and types from before OpenID Connect.
    var isOld: Bool { self == .v1 || self == .v2 }

    /// Whether an error response of Google's tokeninfo endpoint has `error` beside `error_description`. Versions 2 and
    /// 3 have only `error_description`.
    var namesErrors: Bool { self == .current || self == .v1 }

    var evidence: Evidence {
        switch self {
        case .current:
            .documented(
                "https://developers.google.com/identity/sign-in/web/backend-auth#calling-the-tokeninfo-endpoint")
        case .v1: .recorded("https://github.com/EddyVerbruggen/cordova-plugin-googleplus/issues/521", on: "2018-08")
        case .v2: .reported("https://github.com/EddyVerbruggen/cordova-plugin-googleplus/issues/521", on: "2018-08")
        case .v3: .recorded("https://github.com/flutter/flutter/issues/56060", on: "2020-04")
        }
    }
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
                throw GoogleError(
                    "invalid_token", "Either access_token, id_token, or token_handle required",
                    Diagnosis("the token is missing: send access_token or id_token"))
            }
            return GoogleProvider.json(.object(info))
        } catch {
            return error.response(isNamed: version.namesErrors)
        }
    }

    // MARK: - Access tokens

    /// Returns Google's tokeninfo for an access token. If `isOld` is true, it has the form from before OpenID Connect:
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
