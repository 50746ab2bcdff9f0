import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time
import Worlds

// POST /_understudy/v1/google/authorizations: the result of the Google SDK on a device, an ID token and an access
// token. https://developers.google.com/identity/sign-in/ios/sign-in
//
// With `serverClient` there is also a code for the app's backend, and the backend is the ID token's audience
// (https://developers.google.com/identity/sign-in/ios/offline-access). A web client that names itself gets the result
// of the popup of Google's script: a code to be redeemed with redirect_uri=postmessage
// (https://developers.google.com/identity/oauth2/web/guides/use-code-model).

extension GoogleProvider {
    var nativeCall: Endpoint {
        .control(
            "POST", "google/authorizations", "Signs a person in on a device: what the Google SDK would deliver.",
            reads: .body(NativeRequest.self),
            answers: [
                .json(
                    "The result that the app gets.",
                    .members(
                        "GoogleUser",
                        [
                            .required("userID", .string, "The person's `sub`."),
                            .required("idToken", .string, "The ID token."),
                            .required("accessToken", .string, "The access token."),
                            .optional("serverAuthCode", .string, "With `serverClient`: a code for the app's backend."),
                        ]))
            ] + CallAnswer.nativeRefusals, keys: [.google],
            // https://developers.google.com/identity/sign-in/ios/reference/Enums/GIDSignInErrorCode
            .native(
                errors: ["canceled"],
                others: [
                    "unknown", "keychain", "hasNoAuthInKeychain", "EMM", "scopesAlreadyGranted",
                    "mismatchWithCurrentUser",
                ], mints: .google, givesCodes: true)
        ) { try authorizeNatively($0, $1) }.titled("the SDK on a device")
    }

    private struct NativeRequest: SchemaObject {
        static let schemaName: String? = "GoogleAuthorization"

        let client: String
        let serverClient: String?
        let account: String?
        let nonce: String?
        let scopes: [String]

        init(_ fields: inout Fields) {
            client = fields("client", .text(.nonEmpty), "The app's client ID.")
            serverClient = fields.nullable(
                "serverClient", .text(.nonEmpty),
                "The client ID of the app's backend. A `web` client that names itself gets the code of a popup.")
            account = fields.nullable("account", .text(.nonEmpty), "The account that signs in on the device.")
            nonce = fields.nullable("nonce", .text(.nonEmpty), "The nonce that the app gave to Google's SDK.")
            scopes = fields(
                "scopes", .set(of: .text(.nonEmpty)), default: ["openid", "email", "profile"],
                "The scopes that the app asks for.")
        }
    }

    private func authorizeNatively(_ exchange: Exchange, _ body: NativeRequest) throws -> Response {
        let client = try clients.client(named: body.client)
        let server = try body.serverClient.map { id throws(ControlRefusal) in
            try clients.client(named: id, at: "$.serverClient")
        }
        let account = try exchange.nativeAccount(provider: name, client: client, account: body.account)
        let scopes = GoogleScopes(body.scopes).withSignIn
        let details = GoogleGrant.TokenDetails(scopes: scopes, nonce: body.nonce, isOffline: false)
        let codeLifetime = settings.codeLifetime
        let made = try exchange.world.update(for: account.id) { tables in
            let code = server.map { server in
                tables.makeServerCode(
                    account, for: server, by: client, scopes, lifetime: codeLifetime, usedBy: exchange.spentBy)
            }
            let grant = tables.consent(account.id, to: client, scopes: scopes)
            return (tables.makeAccessToken(grant, details), code, tables.now)
        }
        guard let (accessToken, code, now) = made else { throw Decision.noSuchAccount }
        let token = IDToken(
            issuer: issuer(exchange), client: server?.id ?? client.id, app: client.id, account: account,
            details: details, issuedAt: now, accessToken: accessToken)
        var answer = JSONObject([
            ("userID", .string(account.google.sub)), ("idToken", .string(try mintNatively(token, exchange))),
            ("accessToken", .string(accessToken)),
        ])
        answer["serverAuthCode"] = code.map { .string($0) }
        return ControlAnswer.ok(.object(answer))
    }

    private func mintNatively(_ token: IDToken, _ exchange: Exchange) throws(ControlRefusal) -> String {
        do { return try token.minted(exchange) } catch {
            throw .signing(error)
        }
    }
}

extension Transaction {
    /// Makes the authorization code that the native app `app` has requested for its backend `server`. The backend gets
    /// a refresh token for the code if the person hasn't granted `scopes` to the backend before.
    mutating func makeServerCode(
        _ account: Account, for server: GoogleClient, by app: GoogleClient, _ scopes: GoogleScopes, lifetime: TimeSpan,
        usedBy: String?
    ) -> String {
        let isFirst = !hasConsented(account.id, to: server.id, scopes: scopes)
        let grant = consent(account.id, to: server, scopes: scopes)
        let code = GoogleToken.code.make(from: &random)
        let isPopup = app.id == server.id && app.type == .web
        put(
            AuthorizationCode<GoogleGrant>(
                code, grant: grant.key, client: server.id, redirectURI: isPopup ? GoogleProvider.popupRedirectURI : nil,
                expires: now + lifetime, usedBy: usedBy,
                details: GoogleGrant.CodeDetails(
                    token: GoogleGrant.TokenDetails(scopes: scopes, isOffline: true), givesRefreshToken: isFirst)))
        return code
    }
}
