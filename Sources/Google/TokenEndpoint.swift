import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Recordings
import Time

// POST https://oauth2.googleapis.com/token
//
// Quirks: JSON and a query are accepted as well as a form; this isn't documented, but clients use it. expires_in is
// 3599. Refresh tokens aren't replaced when they are used, and are only issued with access_type=offline. With
// `audience`, which Google's SDK for iOS sends, the ID token is for another client, and a new sign-in also has a
// `server_code` for it. The grant type is checked first: a body that can't be read leads to "Invalid grant_type: ". The
// rest of the order isn't documented.

extension GoogleProvider {
    /// The grant type that Google's device flow had before RFC 8628, with the parameter `code` instead of
    /// `device_code`: <https://github.com/pipacs/o2/pull/130>.
    private static let oldDeviceGrantType = "http://oauth.net/grant_type/device/1.0"

    func token(_ exchange: Exchange) throws -> Response {
        let form = parameters(exchange.request)
        do {
            switch form["grant_type"] ?? "" {
            case "authorization_code":
                return try redeem(exchange, form, try authenticate(exchange.request, form))
            case "refresh_token":
                return try refresh(exchange, form, try authenticate(exchange.request, form))
            case DeviceAuthorization.grantType:
                let client = try authenticate(exchange.request, form)
                return try redeemDevice(exchange, form, client, code: "device_code")
            case GoogleProvider.oldDeviceGrantType:
                return try redeemDevice(exchange, form, try authenticate(exchange.request, form), code: "code")
            case let other:
                throw GoogleError(
                    "unsupported_grant_type", "Invalid grant_type: \(other)",
                    (other.isEmpty ? exchange.request.unreadBody : nil)
                        ?? Diagnosis(
                            received: "grant_type \(Diagnosis.quote(other))",
                            expected: "authorization_code, refresh_token or \(DeviceAuthorization.grantType)",
                            "send one of these; service accounts aren't supported"))
            }
        } catch let error as GoogleError {
            return error.jsonResponse
        }
    }

    private func parameters(_ request: Request) -> Form {
        let members = request.jsonBody?.object?.members.compactMap { member in
            member.value.string.map { Form.Field(name: member.key, value: $0) }
        }
        return Form(fields: (members ?? request.bodyForm.fields) + request.queryForm.fields)
    }

    /// Authenticates the client by fields of the form or by `Authorization: Basic`.
    private func authenticate(_ request: Request, _ form: Form) throws(GoogleError) -> GoogleClient {
        let credentials = ClientCredentials(request) { form[$0] }
        guard let id = credentials.id, !id.isEmpty else {
            throw GoogleError(
                "invalid_request", "Could not determine client ID from request.",
                Diagnosis("client_id is missing: send it in the form, or by Basic authentication"))
        }
        let client = try client(named: id)
        guard let expected = client.secret else { return client }
        guard credentials.secret?.isEmpty == false else {
            throw GoogleError(
                "invalid_request", "client_secret is missing.",
                Diagnosis(
                    "client_secret is missing: clients of type \(client.type.rawValue) must send it, even with PKCE (only types ios and android have none)"
                ))
        }
        guard credentials.have(expected) else {
            throw GoogleError(
                "invalid_client", "Unauthorized", status: 401,
                Diagnosis("client_secret isn't the secret configured for \"\(client.id)\" in the seed"))
        }
        return client
    }

    // MARK: - authorization_code

    private func redeem(
        _ exchange: Exchange, _ form: Form, _ client: GoogleClient
    ) throws -> Response {
        let code = form["code"] ?? ""
        guard !code.isEmpty else { throw GoogleError.missing("code") }
        let audience = try self.audience(form, of: client)
        // The code of a pop-up is redeemed with `postmessage`, which libraries send, or with the origin of the page:
        // https://developers.google.com/identity/oauth2/web/guides/use-code-model#popup_mode
        let known = exchange.world.read { $0.find(AuthorizationCode<GoogleGrant>.self, code) }
        let isOrigin = known?.details.popupOrigin.map { $0 == form["redirect_uri"] } ?? false
        let request = Redemption.Request(
            code: code, client: client.id,
            redirectURI: isOrigin ? GoogleProvider.popupRedirectURI : form["redirect_uri"],
            codeVerifier: form["code_verifier"].flatMap { $0.isEmpty ? nil : $0 }, exchange: exchange.id)
        // Google's order isn't documented.
        let redemption = Redemption(
            checks: [.client, .unused, .unexpired, .redirectURI, .codeVerifier, .noStrayVerifier]
        ) {
            GoogleProvider.redirectURI($0, fits: $1, client)
        }
        let issued: Issued
        do {
            issued = try exchange.world.update { tables -> Issued in
                let redeemed = try redemption.redeem(GoogleGrant.self, request, in: &tables)
                let details = redeemed.code.details
                let accessToken = tables.makeAccessToken(redeemed.grant, details.token)
                let refreshToken =
                    details.givesRefreshToken ? tables.makeRefreshToken(redeemed.grant, details.token) : nil
                let serverCode = audience.map { server in
                    tables.makeServerCode(
                        redeemed.account, for: server, by: client, details.token.scopes,
                        lifetime: settings.codeLifetime, usedBy: nil)
                }
                return Issued(
                    account: redeemed.account, details: details.token, accessToken: accessToken,
                    refreshToken: refreshToken,
                    refreshTokenExpires: refreshToken.flatMap { _ in redeemed.grant.expires },
                    serverCode: serverCode, at: redeemed.at)
            }
        } catch let error as Redemption.Failure { throw refusal(error, request, exchange) }
        return try answer(exchange, issued, client, audience)
    }

    /// Returns the backend for which a native app requests an ID token and a code: the client in the parameter
    /// `audience`, which Google's SDK for iOS sends (<https://github.com/google/GoogleSignIn-iOS>, `GIDSignIn.m`). It
    /// is `nil` if the parameter is missing or names the app itself.
    private func audience(_ form: Form, of client: GoogleClient) throws(GoogleError) -> GoogleClient? {
        guard let id = form["audience"], !id.isEmpty, id != client.id else { return nil }
        guard let audience = clients[id] else {
            throw GoogleError(
                "invalid_audience", "Audience is not a valid client ID.",
                Diagnosis(
                    received: "audience \(Diagnosis.quote(id))",
                    "no such client is configured in the seed\(clients.hint(for: id))"))
        }
        if let own = client.projectNumber, let other = audience.projectNumber, own != other {
            throw GoogleError(
                "invalid_audience", "The audience client and the client need to be in the same project.",
                Diagnosis(
                    received: "audience \(Diagnosis.quote(id))", expected: "a client of project \(own)",
                    "a client ID begins with its project's number: send one from the project of \(Diagnosis.quote(client.id))"
                ))
        }
        return audience
    }

    /// Whether the redirect URI in a token request is acceptable. Usually it must equal the redirect URI of the
    /// authorization.
    ///
    /// For a code that a native app's SDK got for its backend, the authorization has no redirect URI. The parameter
    /// must then be missing, empty, or a redirect URI of the backend
    /// (<https://developers.google.com/identity/sign-in/ios/offline-access>), and not `postmessage`
    /// (<https://github.com/zquestz/omniauth-google-oauth2/issues/272>).
    private static func redirectURI(_ sent: String?, fits authorized: String?, _ client: GoogleClient) -> Bool {
        guard authorized == nil else { return sent == authorized }
        return (sent ?? "").isEmpty || client.accepts(sent ?? "")
    }

    private func refusal(
        _ failure: Redemption.Failure, _ request: Redemption.Request, _ exchange: Exchange
    ) -> GoogleError {
        switch failure {
        case .unknown:
            // Google's codes begin with 4/. A client that doesn't decode the code from the redirect's URL, but encodes
            // it for the form, sends a code that begins with 4%2F.
            let reason =
                request.code.lowercased().hasPrefix("4%2f")
                ? Diagnosis(
                    received: "a code that begins with \(request.code.prefix(4))", expected: "4/",
                    "the code was percent-encoded twice: decode it when you take it from the redirect's URL")
                : Diagnosis(exchange.reason(againstUnknownCode: request.code, GoogleGrant.self))
            return GoogleError("invalid_grant", "Malformed auth code.", reason)
        case .otherClient:
            return GoogleError("unauthorized_client", "Unauthorized", status: 401, Diagnosis(failure.reason))
        case .redirectURIMismatch(let expected):
            return GoogleError(
                "redirect_uri_mismatch", "Bad Request",
                Diagnosis(
                    received: "redirect_uri \(Diagnosis.quote(request.redirectURI ?? ""))",
                    expected: expected == GoogleProvider.popupRedirectURI
                        ? "redirect_uri \"postmessage\", or the page's origin"
                        : expected.map { Diagnosis.quote($0) } ?? "no redirect_uri, or one registered for the backend",
                    "send the redirect_uri with which the sign-in began"))
        case .codeVerifier:
            let code = exchange.world.read { $0.find(AuthorizationCode<GoogleGrant>.self, request.code) }
            let text =
                switch (code?.challenge, request.codeVerifier) {
                case (nil, _): "code_verifier or verifier is not needed."
                case (_, nil): "Missing code verifier."
                default: "Invalid code verifier."
                }
            return GoogleError("invalid_grant", text, Diagnosis(failure.reason))
        case .used, .expired, .noAccount:
            return GoogleError(
                "invalid_grant", "Bad Request", Diagnosis(failure.fullReason(codesLasting: settings.codeLifetime)))
        }
    }

    // MARK: - refresh_token

    private func refresh(
        _ exchange: Exchange, _ form: Form, _ client: GoogleClient
    ) throws -> Response {
        let text = form["refresh_token"] ?? ""
        guard !text.isEmpty else { throw GoogleError.missing("refresh_token", GoogleProvider.noRefreshToken(text)) }
        let audience = try self.audience(form, of: client)
        let wanted = form["scope"].flatMap { $0.isEmpty ? nil : GoogleScopes(text: $0) }
        if let wanted, let error = GoogleError.unknownScopes(wanted) { throw error }
        let issued = try exchange.world.update { tables -> Issued? in
            guard let (token, grant, account) = tables.working(text, .refresh, GoogleGrant.self) else { return nil }
            guard token.client == client.id else {
                throw GoogleError(
                    "unauthorized_client", "Unauthorized", status: 401,
                    Diagnosis(
                        "the refresh token was issued to the client \(Diagnosis.quote(token.client)), not to the client "
                            + "\(Diagnosis.quote(client.id)) that sent it"))
            }
            if tables.endIfExpired(grant) { return nil }
            var details = token.details
            if let wanted {
                guard wanted.isSubset(of: details.scopes) else {
                    throw GoogleError(
                        "invalid_scope", "Bad Request",
                        Diagnosis(
                            received: "scope \(Diagnosis.quote(wanted.text))",
                            expected: "only scopes of \(Diagnosis.quote(details.scopes.text))",
                            "a refresh can't add scopes: leave scope out, or ask the user for consent"))
                }
                details.scopes = wanted
            }
            let accessToken = tables.makeAccessToken(grant, details)
            return Issued(
                account: account, details: details, accessToken: accessToken, refreshTokenExpires: grant.expires,
                at: tables.now)
        }
        guard let issued else { throw GoogleProvider.deadRefreshToken(text, exchange) }
        return try answer(exchange, issued, client, audience)
    }

    /// Returns Google's error for an invalid refresh token. Google distinguishes a token that it remembers from one
    /// that it has never issued or has forgotten: <https://github.com/AlphaTiles/AlphaTiles/pull/107>.
    private static func deadRefreshToken(_ text: String, _ exchange: Exchange) -> GoogleError {
        let wasOurs = exchange.world.read { $0.find(EndedCredential<GoogleGrant>.self, text) } != nil
        let reason = exchange.reason(againstUsing: text, .refresh, GoogleGrant.self)
        return GoogleError(
            "invalid_grant", wasOurs ? "Token has been expired or revoked." : "Bad Request",
            exchange.isPlaceholder(text)
                ? noRefreshToken(text) : Diagnosis("the refresh token doesn't work: \(reason)"))
    }

    private static func noRefreshToken(_ text: String) -> Diagnosis {
        let what =
            text.isEmpty ? "refresh_token is missing or empty" : "refresh_token is the text \(Diagnosis.quote(text))"
        return Diagnosis(
            "\(what): Google issues a refresh token only with access_type=offline, and after the first sign-in only with prompt=consent"
        )
    }

    // MARK: - Devices

    private func redeemDevice(
        _ exchange: Exchange, _ form: Form, _ client: GoogleClient, code name: String
    ) throws -> Response {
        try checkDeviceFlow(of: client)
        let code = form[name] ?? ""
        guard !code.isEmpty else { throw GoogleError.missing(name) }
        // A refusal is returned, not thrown, because a refused poll counts too.
        let result = try exchange.world.update { tables -> Result<Issued, DeviceAuthorization.Failure> in
            poll(code, by: client, exchange, in: &tables).map { account, scopes in
                let scopes = GoogleScopes(scopes)
                let details = GoogleGrant.TokenDetails(scopes: scopes, nonce: nil, isOffline: true)
                let grant = tables.consent(account.id, to: client, scopes: scopes, isAsked: true)
                return Issued(
                    account: account, details: details, accessToken: tables.makeAccessToken(grant, details),
                    refreshToken: tables.makeRefreshToken(grant, details), refreshTokenExpires: grant.expires,
                    at: tables.now)
            }
        }
        switch result {
        case .success(let issued): return try answer(exchange, issued, client)
        case .failure(let failure): throw GoogleProvider.deviceRefusal(failure.refusal)
        }
    }

    // MARK: - Answers

    private struct Issued: Sendable {
        let account: Account
        let details: GoogleGrant.TokenDetails
        let accessToken: String
        var refreshToken: String?
        /// The time at which the refresh token expires; `nil` if it doesn't expire.
        var refreshTokenExpires: Instant?
        /// An authorization code for the backend that a native app has named in the parameter `audience`.
        var serverCode: String?
        let at: Instant
    }

    /// Returns the response of Google's token endpoint. `audience` is the client in the `aud` of the ID token; `nil`
    /// means `client`, which has sent the request.
    private func answer(
        _ exchange: Exchange, _ issued: Issued, _ client: GoogleClient, _ audience: GoogleClient? = nil
    ) throws(GoogleError) -> Response {
        let scopes = issued.details.scopes
        var body = JSONObject([
            ("access_token", .string(issued.accessToken)),
            ("expires_in", .integer(GoogleToken.accessLifetime.seconds)),
        ])
        body["refresh_token"] = issued.refreshToken.map { .string($0) }
        body["scope"] = .string(scopes.text)
        body["token_type"] = "Bearer"
        if scopes.contains("openid") {
            let token = IDToken(
                issuer: issuer(exchange), client: audience?.id ?? client.id, app: client.id, account: issued.account,
                details: issued.details, issuedAt: issued.at, accessToken: issued.accessToken)
            do { body["id_token"] = .string(try token.minted(exchange)) } catch {
                throw GoogleError(
                    "internal_failure", nil, status: 500,
                    Diagnosis("the ID token can't be signed: \(error.description)"))
            }
        }
        // https://github.com/google/GoogleSignIn-iOS, GIDGoogleUser.m
        body["refresh_token_expires_in"] = issued.refreshTokenExpires.map {
            .integer(max(.zero, $0 - issued.at).seconds)
        }
        body["server_code"] = issued.serverCode.map { .string($0) }
        return GoogleProvider.json(.object(body))
    }
}

/// The content of Google's ID token, whose claims are written in Google's order.
struct IDToken: Sendable {
    static let lifetime = TimeSpan.hours(1)

    let issuer: String
    /// The client ID in the `aud` of the ID token.
    let client: String
    /// The client ID in the `azp` of the ID token; `nil` if it is the same as in the `aud`. It is a different one if a
    /// native app requested the token for its backend: `azp` is the app, and `aud` the backend.
    var app: String?
    let account: Account
    let details: GoogleGrant.TokenDetails
    let issuedAt: Instant
    /// The access token in the same response as the ID token. The claim `at_hash` is made from it.
    var accessToken: String?
    /// The authorization code in the same response as the ID token. The claim `c_hash` is made from it.
    var code: String?
    /// The `jti` of the ID token. Only tokens of Google's script for browsers have it, together with `nbf`.
    var identifier: String?

    var claims: JSONObject {
        var claims = JSONObject([
            ("iss", .string(issuer)), ("azp", .string(app ?? client)), ("aud", .string(client)),
            ("sub", .string(account.google.sub)),
        ])
        claims["hd"] = account.google.hostedDomain.map { .string($0) }
        for (name, value) in details.scopes.profile(of: account) { claims[name] = value }
        claims["at_hash"] = accessToken.map { .string(Algorithm.rs256.leftHalf(of: $0)) }
        claims["c_hash"] = code.map { .string(Algorithm.rs256.leftHalf(of: $0)) }
        claims["nonce"] = details.nonce.map { .string($0) }
        claims["auth_time"] = details.authTime.map { .numericDate($0) }
        claims["amr"] = details.methods.map { .array($0.map { .string($0) }) }
        if identifier != nil { claims["nbf"] = .numericDate(issuedAt - .minutes(5)) }
        claims["iat"] = .numericDate(issuedAt)
        claims["exp"] = .numericDate(issuedAt + IDToken.lifetime)
        claims["jti"] = identifier.map { .string($0) }
        return claims
    }

    func minted(_ exchange: Exchange) throws(KeyError) -> String {
        try exchange.mint(.google, claims, at: issuedAt, type: "JWT")
    }
}
