import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time

// GET https://connect.facebook.net/LOCALE/sdk.js: Facebook's SDK for JavaScript, and the paths that it requests.
//
// Ours is `Assets/sdk.js`. It keeps the signed request of the last sign-in in the page, and `/x/oauth/status` identifies
// the person by it, if the app's secret has signed it: there are no sessions at Facebook here.

extension FacebookProvider {
    static let scriptHost = "connect.facebook.net"
    static let statusPath = "/x/oauth/status"
    static let logoutPath = "/x/oauth/logout"

    private static let ownScript = Evidence.chosen("what Facebook's SDK asks Facebook isn't public: our SDK asks this")

    var browserScript: [Endpoint] {
        let host = [FacebookProvider.host]
        let files = [("sdk.js", ""), ("all.js", ", by its old name"), ("sdk/debug.js", ", to be read")]
        return files.map { file, remark in
            Endpoint(
                "GET", [FacebookProvider.scriptHost], "/:locale/\(file)", title: "the SDK for JavaScript\(remark)",
                step: SignInStep(.page, "load Facebook's SDK for JavaScript"), cors: .any, .page
            ) { exchange in
                .browserScript(
                    Scripts.sdk,
                    [FacebookProvider.host, FacebookProvider.graphHost].map { .string(exchange.address.base(of: $0)) })
            }.known(by: .documented("https://developers.facebook.com/docs/javascript/reference/v22.0"))
        } + [
            Endpoint(
                "POST", host, FacebookProvider.statusPath, title: "a page asks who is signed in",
                step: SignInStep(.userInfo, "ask who is signed in"), cors: .any, .api, loginStatus
            ).known(by: FacebookProvider.ownScript),
            Endpoint(
                "POST", host, FacebookProvider.logoutPath, title: "a page signs out",
                step: SignInStep(.logout, "sign out"), cors: .any, .api, logout
            ).known(by: FacebookProvider.ownScript),
        ]
    }

    /// Returns the origin of the app's page from the redirect URI of a login dialog that Facebook's SDK for JavaScript
    /// opens: `https://staticxx.facebook.com/x/connect/xd_arbiter/?version=46&origin=…`.
    static func origin(ofRelay uri: String) -> String? {
        guard let address = WebAddress(uri), address.host == "staticxx.facebook.com",
            address.path.hasPrefix("/x/connect/xd_arbiter")
        else { return nil }
        let query = address.rest.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst()
        return Form(parsing: Substring(query.prefix { $0 != UInt8(ascii: "#") }))["origin"] ?? ""
    }

    /// Returns the `authResponse.signedRequest` that Facebook's SDK for JavaScript gives to a page.
    func signedRequest(of account: Account, app: FacebookApp, code: String?, at time: Instant) -> SignedRequest {
        var payload = JSONObject([("user_id", .string(account.facebook.id))])
        payload["code"] = code.map { .string($0) }
        payload["algorithm"] = "HMAC-SHA256"
        payload["issued_at"] = .numericDate(time)
        return SignedRequest(payload, secret: app.secret)
    }

    /// Handles `FB.getLoginStatus` of Facebook's SDK for JavaScript: whether the person is signed in and has authorized
    /// the app. If so, the response has a new access token.
    private func loginStatus(_ exchange: Exchange) throws -> Response {
        let form = exchange.request.bodyForm
        let app: FacebookApp
        do throws(PageRefusal) { app = try page(exchange, form) } catch { return error.response }
        func unknown(_ reason: String) -> Response {
            FacebookProvider.json(["status": "unknown"]).addingNote(
                Note("the signed request that the page keeps \(reason)"))
        }
        guard let payload = SignedRequest.payload(of: form["signed_request"] ?? "", secret: app.secret),
            let person = payload["user_id"]?.string
        else { return unknown("isn't one that the app's secret has signed") }
        // The signed request stands for a session at Facebook, which lasts as long as an app's access to data.
        guard let issued = payload["issued_at"]?.numericDate, exchange.world.now - issued < FacebookToken.dataAccess
        else { return unknown("is 90 days old or says no issued_at: call FB.login") }
        typealias Known = (account: Account, grant: FacebookGrant, token: String, at: Instant)
        let known = try exchange.world.update { tables -> Known? in
            guard let account = tables.account(facebookID: person),
                app.admits(account),
                let grant = tables.grant(FacebookGrant.self, of: account.id, to: app.id)
            else { return nil }
            let token = tables.makeAccessToken(grant, issuedAt: tables.now, lasting: FacebookToken.shortLifetime)
            return (account, grant, token, tables.now)
        }
        guard let known else { return FacebookProvider.json(["status": "not_authorized"]) }
        return FacebookProvider.json([
            "status": "connected", "access_token": .string(known.token),
            "expires_in": .integer(Int64(FacebookToken.shortLifetime.seconds)),
            "data_access_expiration_time": .numericDate(known.at + FacebookToken.dataAccess),
            "graph_domain": "facebook",
            "signed_request": .string(signedRequest(of: known.account, app: app, code: nil, at: known.at).text),
        ])
    }

    /// Handles `FB.logout` of Facebook's SDK for JavaScript. The access token stops working, and the person's grant
    /// stays.
    private func logout(_ exchange: Exchange) throws -> Response {
        let form = exchange.request.bodyForm
        let app: FacebookApp
        do throws(PageRefusal) { app = try page(exchange, form) } catch { return error.response }
        let text = form["access_token"] ?? ""
        let isEnded = try exchange.world.update { tables in
            tables.pop(Token<FacebookGrant>.self, text) { $0.client == app.id } != nil
        }
        return FacebookProvider.json(["success": .bool(isEnded)])
    }

    // MARK: - Pages

    private struct PageRefusal: Error {
        let diagnosis: Diagnosis

        var response: Response {
            FacebookProvider.json(["error": .string(diagnosis.line)], status: 403).diagnosed(diagnosis)
                .known(by: FacebookProvider.ownScript)
        }
    }

    /// Returns the app for which a page uses Facebook's SDK for JavaScript.
    ///
    /// - Throws: An error if the app is unknown, or if the page's origin isn't registered for the app.
    private func page(_ exchange: Exchange, _ form: Form) throws(PageRefusal) -> FacebookApp {
        let id = form["client_id"] ?? ""
        guard let app = apps[id] else {
            throw PageRefusal(
                diagnosis: Diagnosis(
                    received: "client_id \(Diagnosis.quote(id))",
                    "no such app is configured in the seed\(apps.hint(for: id))"))
        }
        guard JavaScriptOrigin(of: exchange.request)?.isAmong(app.javaScriptOrigins) ?? false else {
            throw PageRefusal(
                diagnosis: Diagnosis(
                    received: "a request from the page \(Diagnosis.quote(exchange.request.header("Origin") ?? ""))",
                    expected: RegisteredRedirectURI.alternatives(app.javaScriptOrigins),
                    "this page may not use the app: add its origin to javaScriptOrigins of app \"\(id)\" in the seed"))
        }
        return app
    }
}

extension SignedRequest {
    /// Returns the payload of Facebook's signed request; `nil` if it wasn't signed with `secret`.
    static func payload(of text: String, secret: String) -> JSONObject? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let signature = Base64URL.decode(String(parts[0])) else { return nil }
        let expected = Digest.hmacSHA256(key: Array(secret.utf8), Array(parts[1].utf8))
        guard constantTimeEquals(signature, expected), let payload = Base64URL.decode(String(parts[1])) else {
            return nil
        }
        return (try? JSONValue(parsing: payload, limits: .answer))?.object
    }
}
