import EmulatorCore
import HTTPServer
import JSON
import OAuth

// GET https://openidconnect.googleapis.com/v1/userinfo and https://www.googleapis.com/oauth2/v3/userinfo
// https://developers.google.com/identity/openid-connect/openid-connect#obtaininguserprofileinformation
//
// Quirks: versions 1 and 2 at www.googleapis.com have `id` and `verified_email`, and refuse as Google's APIs do;
// version 2 also has the list `errors`. A token without a scope of sign-in is refused like a missing one
// (https://github.com/googleapis/google-api-nodejs-client/issues/3900; for version 3 that isn't documented).

extension GoogleProvider {
    enum UserInfoVersion: Sendable {
        case v1
        case v2
        /// OpenID Connect's version.
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
                received: "a token for \(Diagnosis.quote(scopes.text))", expected: "openid, email or profile",
                "ask for one of these scopes, too")
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

    /// Returns the refusal of a request. `isMissing` means that there is no token at all.
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
