import EmulatorCore
import HTTPServer
import JSON
import OAuth
import Time

// GET and POST https://graph.facebook.com/debug_token
// https://developers.facebook.com/docs/graph-api/reference/debug_token
//
// Quirks: an invalid `input_token` isn't an error: the answer is 200 with `is_valid` false. The caller must have the
// app's token or that of one of its developers. Only a long-lived token has `issued_at`:
// https://developers.facebook.com/docs/facebook-login/guides/access-tokens/debugging.

extension FacebookProvider {
    func debugToken(_ exchange: Exchange) throws(GraphError) -> Response {
        let app = try viewingApp(exchange)
        guard let text = parameter("input_token", exchange), !text.isEmpty else {
            throw GraphError(
                message: "(#100) The parameter input_token is required", code: 100,
                diagnosis: Diagnosis("input_token is missing: send the token that is to be looked at"))
        }
        do throws(GraphError) {
            if let inspected = try self.app(ofToken: text) {
                try check(inspected.id, isSeenBy: app)
                return FacebookProvider.json([
                    "data": [
                        "app_id": .string(app.id), "type": "APP", "application": .string(app.name), "is_valid": true,
                        "scopes": [],
                    ]
                ])
            }
            let found = try issuedToken(text, exchange)
            try check(found.grant.app, isSeenBy: app)
            let fault = found.fault(at: exchange.world.now)
            return answer(description(found, app, fault), fault)
        } catch {
            guard error.code == 190 else { throw error }
            var data = JSONObject([("error", .object(error.inspected)), ("is_valid", false), ("scopes", [])])
            // The app of an issued token is known even if the person has removed it.
            if error.subcode != nil { data["app_id"] = .string(app.id) }
            return answer(data, error)
        }
    }

    /// Returns the calling app, with its own token or a developer's.
    private func viewingApp(_ exchange: Exchange) throws(GraphError) -> FacebookApp {
        let text = callerToken(exchange)
        guard !text.isEmpty else { throw .tokenMissing }
        if let app = try app(ofToken: text) { return app }
        let caller = try accessToken(text, exchange)
        if let app = apps[caller.grant.app], app.developers.contains(caller.grant.account) {
            return app
        }
        // https://github.com/nyaruka/rapidpro/pull/3734
        throw GraphError(
            message:
                "(#100) You must provide an app access token, or a user access token that is an owner or developer of the app",
            code: 100,
            diagnosis: Diagnosis(
                received: "the access token of account \(Diagnosis.quote(caller.grant.account))",
                expected: "the app's, APPID|SECRET, or one of its developers'",
                "send APPID|SECRET as access_token, or name the account in the app's developers in the seed"))
    }

    private func check(_ owner: String, isSeenBy app: FacebookApp) throws(GraphError) {
        guard owner != app.id else { return }
        throw GraphError(
            message: "(#100) The App_id in the input_token did not match the Viewing App", code: 100,
            diagnosis: Diagnosis("the token was given to the app \"\(owner)\""))
    }

    private func description(_ found: AccessToken, _ app: FacebookApp, _ fault: GraphError?) -> JSONObject {
        var data = JSONObject([
            ("app_id", .string(app.id)), ("type", "USER"), ("application", .string(app.name)),
            ("data_access_expires_at", .numericDate(found.dataAccessExpires)),
        ])
        data["error"] = fault.map { .object($0.inspected) }
        data["expires_at"] = .numericDate(found.token.expires ?? .first)
        data["is_valid"] = .bool(fault == nil)
        if found.isLongLived { data["issued_at"] = .numericDate(found.token.details.issuedAt) }
        data["scopes"] = .array(found.grant.granted.map { .string($0) })
        data["user_id"] = .string(found.account?.facebook.id ?? "")
        return data
    }

    private func answer(_ data: JSONObject, _ fault: GraphError?) -> Response {
        let response = FacebookProvider.json(["data": .object(data)])
        return fault.map { response.noted(Note($0.diagnosis)) } ?? response
    }
}

extension GraphError {
    /// The error in the form of debug_token.
    fileprivate var inspected: JSONObject {
        var error = JSONObject([("code", .integer(code)), ("message", .string(message))])
        error["subcode"] = subcode.map { .integer($0) }
        return error
    }
}
