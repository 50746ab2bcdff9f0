import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time

// POST https://oauth2.googleapis.com/token
// https://developers.google.com/identity/protocols/oauth2/web-server#exchange-authorization-code
//
// Quirks: JSON and a query are read as well as a form, which isn't documented, but clients in use send them. expires_in is 3599. Refresh tokens aren't replaced when they are used, and none comes without
// access_type=offline. An unknown client is 401 "The OAuth client was not found."

extension GoogleProvider {
    func token(_ exchange: Exchange) -> Response {
        let form = parameters(exchange.request)
        do throws(GoogleError) {
            let client = try authenticate(exchange.request, form)
            switch form["grant_type"] {
            case "authorization_code": return try redeem(exchange, form, client)
            case "refresh_token": return try refresh(exchange, form, client)
            case let other:
                throw GoogleError(
                    other == nil ? "invalid_request" : "unsupported_grant_type",
                    other.map { "Invalid grant_type: \($0)" } ?? "Required parameter is missing: grant_type",
                    Diagnosis(expected: "grant_type authorization_code or refresh_token", "send one of these"))
            }
        } catch {
            return error.jsonResponse
        }
    }

    /// Those of the body come before those of the query.
    private func parameters(_ request: Request) -> Form {
        let members = request.jsonBody?.object?.members.compactMap { member in
            member.value.string.map { Form.Field(name: member.key, value: $0) }
        }
        return Form(fields: (members ?? request.bodyForm.fields) + request.queryForm.fields)
    }

    /// By fields of the form, or by `Authorization: Basic`.
    private func authenticate(_ request: Request, _ form: Form) throws(GoogleError) -> RegisteredClient {
        let basic = BasicCredentials.read(request)
        let id = form["client_id"] ?? basic?.user ?? ""
        guard let client = clients[id] else {
            throw GoogleError(
                "invalid_client", "The OAuth client was not found.", status: 401,
                id.isEmpty
                    ? request.unreadBody
                        ?? Diagnosis("client_id is missing: send it in the form, or by Basic authentication")
                    : Diagnosis(
                        received: "client_id \(Diagnosis.quote(id))",
                        "no such client is seeded\(clients.hint(for: id))"))
        }
        let secret = form["client_secret"] ?? basic?.password ?? ""
        guard constantTimeEquals(Array(secret.utf8), Array(client.secret.utf8)) else {
            throw GoogleError(
                "invalid_client", "Unauthorized", status: 401,
                Diagnosis("client_secret isn't the one that the seed has for \"\(id)\""))
        }
        return client
    }

    // MARK: - authorization_code

    /// Google's order isn't documented.
    private static let redemption = Redemption(checks: [.client, .unused, .unexpired, .redirectURI, .codeVerifier])

    private func redeem(
        _ exchange: Exchange, _ form: Form, _ client: RegisteredClient
    ) throws(GoogleError) -> Response {
        let request = Redemption.Request(
            code: form["code"] ?? "", client: client.id, redirectURI: form["redirect_uri"],
            codeVerifier: form["code_verifier"], exchange: exchange.id)
        let issued: Issued
        do {
            issued = try exchange.world.update { (tables) throws(Redemption.Failure) -> Issued in
                let redeemed = try GoogleProvider.redemption.redeem(GoogleGrant.self, request, in: &tables)
                let details = redeemed.code.details
                let accessToken = tables.makeAccessToken(redeemed.grant, details.token)
                let refreshToken = details.isOffline ? tables.makeRefreshToken(redeemed.grant, details.token) : nil
                return Issued(
                    account: redeemed.account, details: details.token, accessToken: accessToken,
                    refreshToken: refreshToken, at: redeemed.at)
            }
        } catch { throw refusal(error, request) }
        return try answer(exchange, issued, client)
    }

    private func refusal(_ failure: Redemption.Failure, _ request: Redemption.Request) -> GoogleError {
        switch failure {
        case .unknown: return GoogleError("invalid_grant", "Malformed auth code.", Diagnosis(failure.reason))
        case .redirectURIMismatch(let expected):
            return GoogleError(
                "redirect_uri_mismatch", "Bad Request",
                Diagnosis(
                    received: "redirect_uri \(Diagnosis.quote(request.redirectURI ?? ""))",
                    expected: Diagnosis.quote(expected ?? ""), "send the one that began the sign-in"))
        case .codeVerifier:
            let text = request.codeVerifier == nil ? "Missing code verifier." : "Invalid code verifier."
            return GoogleError("invalid_grant", text, Diagnosis(failure.reason))
        case .otherClient, .used, .expired, .noAccount:
            return GoogleError("invalid_grant", "Bad Request", Diagnosis(failure.reason))
        }
    }

    // MARK: - refresh_token

    private func refresh(
        _ exchange: Exchange, _ form: Form, _ client: RegisteredClient
    ) throws(GoogleError) -> Response {
        let text = form["refresh_token"] ?? ""
        let issued = exchange.world.update { tables -> Issued? in
            guard let (token, grant, account) = tables.working(text, .refresh, GoogleGrant.self),
                token.client == client.id
            else { return nil }
            let accessToken = tables.makeAccessToken(grant, token.details)
            return Issued(account: account, details: token.details, accessToken: accessToken, at: tables.now)
        }
        guard let issued else {
            throw GoogleError(
                "invalid_grant", text.isEmpty ? "Bad Request" : "Token has been expired or revoked.",
                Diagnosis("the refresh token is missing, unknown, revoked or another client's"))
        }
        return try answer(exchange, issued, client)
    }

    // MARK: - Answers

    private struct Issued: Sendable {
        let account: Account
        let details: GoogleGrant.TokenDetails
        let accessToken: String
        var refreshToken: String?
        let at: Instant
    }

    private func answer(
        _ exchange: Exchange, _ issued: Issued, _ client: RegisteredClient
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
                issuer: issuer(exchange), client: client.id, account: issued.account, details: issued.details,
                issuedAt: issued.at, accessToken: issued.accessToken)
            do { body["id_token"] = .string(try token.minted(exchange)) } catch {
                // Google's client libraries retry on this name; status and description aren't documented.
                throw GoogleError(
                    "internal_failure", nil, status: 500,
                    Diagnosis("the ID token can't be signed: \(error.description)"))
            }
        }
        return GoogleProvider.json(.object(body))
    }
}
