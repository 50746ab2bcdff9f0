import EmulatorCore
import JSON

extension GoogleProvider {
    /// <https://developers.google.com/identity/openid-connect/openid-connect#exchangecode>
    package func remarks(on exchange: RecordedExchange, in flow: [RecordedExchange]) -> [String] {
        guard exchange.host == "oauth2.googleapis.com", exchange.path == "/token", exchange.response.status == 200,
            let tokens = try? JSONValue(parsing: exchange.response.body, limits: .answer),
            exchange.request.bodyForm["grant_type"] == "authorization_code"
        else { return [] }
        var remarks: [String] = []
        if tokens["id_token"] == nil {
            remarks.append(
                "There is no ID token because none of the scopes openid, email and profile was asked for at the authorization."
            )
        }
        let asked = flow.first { $0.host == "accounts.google.com" && $0.request.queryForm["client_id"] != nil }
        if tokens["refresh_token"] == nil, asked?.request.queryForm["access_type"] == "offline" {
            remarks.append(
                "There is no refresh token because the person has authorized the app before: Google gives another one only with "
                    + "prompt=consent.")
        }
        return remarks
    }
}
