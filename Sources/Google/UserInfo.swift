import EmulatorCore
import HTTPServer
import JSON
import OAuth

// GET https://openidconnect.googleapis.com/v1/userinfo and https://www.googleapis.com/oauth2/v3/userinfo
// https://developers.google.com/identity/openid-connect/openid-connect#obtaininguserprofileinformation
//
// Quirk: versions 1 and 2 at www.googleapis.com say `id` and `verified_email`.

extension GoogleProvider {
    /// `isOld` is for versions 1 and 2.
    func userInfo(_ exchange: Exchange, isOld: Bool = false) -> Response {
        let text = exchange.request.accessToken() ?? ""
        let found = exchange.world.read { $0.working(text, .access, GoogleGrant.self) }
        guard let (token, _, account) = found else {
            return GoogleError(
                "invalid_request", "Invalid Credentials", status: 401,
                Diagnosis("the access token is missing, unknown, expired or revoked")
            ).jsonResponse
        }
        var body = JSONObject([(isOld ? "id" : "sub", .string(account.google.sub))])
        for (name, value) in token.details.scopes.profile(of: account) {
            body[isOld && name == "email_verified" ? "verified_email" : name] = value
        }
        body["hd"] = account.google.hostedDomain.map { .string($0) }
        return GoogleProvider.json(.object(body))
    }
}
