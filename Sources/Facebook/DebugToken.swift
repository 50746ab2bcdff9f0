import EmulatorCore
import HTTPServer
import JSON
import OAuth
import Time

// GET and POST https://graph.facebook.com/debug_token
// https://developers.facebook.com/docs/facebook-login/guides/access-tokens/debugging
//
// Quirk: an invalid `input_token` isn't an error: the answer is 200 with `is_valid` false.

extension FacebookProvider {
    /// <https://developers.facebook.com/docs/facebook-login/auth-vs-data>
    private static let dataAccessPeriod = TimeSpan.days(90)

    func debugToken(_ exchange: Exchange) -> Response {
        let caller = callerToken(exchange).split(separator: "|", maxSplits: 1).map(String.init)
        guard caller.count == 2, let app = apps[caller[0]], app.secret == caller[1] else {
            return GraphError(
                message: "Invalid OAuth access token signature.", code: 190,
                diagnosis: Diagnosis("debug_token takes an app's token, APPID|SECRET, as access_token")
            ).response
        }
        do throws(GraphError) {
            return FacebookProvider.json(["data": .object(try description(exchange, app))])
        } catch {
            guard error.code == 190 else { return error.response }
            let told: JSONValue = [
                "data": [
                    "app_id": .string(app.id), "application": .string(app.name),
                    "error": ["code": .integer(error.code), "message": .string(error.message)], "is_valid": false,
                    "scopes": [],
                ]
            ]
            return FacebookProvider.json(told).noted(Note(error.diagnosis))
        }
    }

    private func description(_ exchange: Exchange, _ app: RegisteredClient) throws(GraphError) -> JSONObject {
        let found = try accessToken(parameter("input_token", exchange) ?? "", exchange)
        guard found.grant.app == app.id else {
            throw GraphError(
                message: "(#100) The App_id in the input_token did not match the Viewing App", code: 100,
                diagnosis: Diagnosis("the token was given to the app \"\(found.grant.app)\""))
        }
        let details = found.details
        return JSONObject([
            ("app_id", .string(app.id)), ("type", "USER"), ("application", .string(app.name)),
            ("data_access_expires_at", .numericDate(details.issuedAt + FacebookProvider.dataAccessPeriod)),
            ("expires_at", .numericDate(found.token.expires ?? .first)), ("is_valid", true),
            ("issued_at", .numericDate(details.issuedAt)),
            ("scopes", .array(details.permissions.map { .string($0) })),
            ("user_id", .string(found.account?.facebook.id ?? "")),
        ])
    }
}
