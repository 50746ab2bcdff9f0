/// Words that have a meaning for the daemon, and values that often cause errors.
enum FuzzWords {
    static let control = [
        "GET health", "POST reset", "GET clock", "POST clock", "GET outcomes", "POST outcomes", "DELETE outcomes",
        "GET faults", "POST faults", "DELETE faults", "GET endpoints", "GET requests", "DELETE requests", "POST verify",
        "GET worlds", "GET scenarios", "POST scenarios/replayed-code", "POST scenarios/rotated-keys",
        "POST scenarios/second-factor", "POST scenarios/provider-outage", "POST scenarios/cancelled-sign-in",
        "POST tokens", "GET accounts", "POST accounts", "GET accounts/ada", "PATCH accounts/ada", "DELETE accounts/ada",
    ].map { call in
        let words = call.split(separator: " ")
        return "\(words[0]) \(FuzzDaemon.control)/\(words[1])"
    }

    static let fields = [
        "client_id", "client_secret", "code", "grant_type", "redirect_uri", "refresh_token", "access_token", "id_token",
        "scope", "state", "nonce", "response_type", "response_mode", "code_challenge", "code_challenge_method",
        "code_verifier", "prompt", "login_hint", "max_age", "display", "account", "action", "request", "user",
        "username",
        "device_code", "user_code", "authenticity_token", "return_to", "token", "token_type_hint", "idToken", "email",
        "password", "displayName", "localId", "oobCode", "newPassword", "requestType", "sessionInfo", "phoneNumber",
        "code",
        "postBody", "requestUri", "returnSecureToken", "providerId", "sessionId", "pendingToken", "tenantId",
        "continueUrl", "mfaPendingCredential", "mfaEnrollmentId", "phoneVerificationInfo", "totpVerificationInfo",
        "customAttributes", "validSince", "validDuration", "createdAt", "lastLoginAt", "maxResults", "nextPageToken",
        "offset", "limit", "per_page", "page", "advance", "set", "freeze", "provider", "client", "claims", "signature",
        "times", "after", "probability", "effect", "match", "outcome", "error", "scopes", "fields", "count", "query",
        "variables", "mode", "apiKey", "eventId", "providerUserId", "linkProviderUserInfo", "deleteProvider", "mfaInfo",
        "input_token", "fb_exchange_token", "appsecret_proof", "hd", "include_granted_scopes", "access_type", "aud",
        "transfer_sub", "target", "iss", "ibi", "clientId", "redirectUrl", "v", "authType", "eid", "sdk", "tid",
    ]

    static let values = [
        "-9223372036854775808", "9223372036854775807", "-9223372036854775807", "9223372036854775808", "0", "-1", "1",
        "2147483648", "4294967296", "9007199254740992", "1e308", "-0", "0.5", "253402300799", "253402300800", "null",
        "true", "{}", "[]", "", "$code", "$code_old", "$access_token", "$id_token", "$refresh_token", "$idToken",
        "$refreshToken", "$refreshToken_old", "$oobCode", "$sessionInfo", "$device_code", "$user_code", "$secret",
        "$expired", "$localId", "$pendingToken", "$mfaPendingCredential", "$authorizationCode", "$identityToken",
        "$sessionCookie", "$authenticity_token", "$request", "$state", "$customToken", "com.example.web",
        "com.example.app", "com.example.web.auto", "Ov23liAutoAnswers001", "Iv1.0123456789abcdef",
        "Iv23liGitHubApp00001",
        "178c6fc778ccc68e1d6a", "github-secret-for-tests", "example.apps.googleusercontent.com",
        "google-secret-for-tests", "1234567890", "facebook-secret-for-tests", "demo-app", "demo-api-key",
        "https://example.com/callback", "http://localhost:3000/callback", "http://127.0.0.1/callback",
        "https://demo-app.firebaseapp.com/__/auth/handler", "javascript:alert(1)", "https://evil.example/?",
        "authorization_code", "refresh_token", "client_credentials",
        "urn:ietf:params:oauth:grant-type:device_code", "form_post", "query", "fragment", "web_message",
        "code id_token",
        "openid email", "name email", "user:email read:org", "none", "consent", "select_account", "plain", "S256",
        "ada",
        "grace", "linus", "ada@example.com", "+15555550100", "123456", "apple.com", "github.com", "google.com",
        "facebook.com", "password", "approve", "cancel", "error", "continue", "valid", "invalid", "unknownKey",
        "wrongAlgorithm", "PASSWORD_RESET", "EMAIL_SIGNIN", "VERIFY_EMAIL", "1d", "-1d", "365250d", "5ms",
        "2030-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "%00", "%0d%0aX: y", "%ff%fe", "%e2%80%ae", "\"><fuzz a='",
        "${2000*a}", "${70000*a}", "${900*a=1&}", "${100000*,}", "..%2f..", "*", "a*b*c*", "$cookie",
    ]

    static let headers = [
        "Content-Type: application/json", "Content-Type: application/x-www-form-urlencoded", "Content-Type: text/plain",
        "Accept: application/json", "Accept: text/html", "Accept: application/xml", "Authorization: Bearer owner",
        "Authorization: Bearer $access_token", "Authorization: token $access_token", "Authorization: Bearer $idToken",
        "Authorization: Basic T3YyM2xpQXV0b0Fuc3dlcnMwMDE6Z2l0aHViLXNlY3JldC1mb3ItdGVzdHM=", "Authorization: Basic ",
        "Cookie: $cookie", "Cookie: understudy_github_session=$code", "Origin: http://localhost:9099",
        "Origin: https://evil.example", "Host: appleid.apple.com", "Host: api.github.com:443",
        "Host: github.com.localhost:9099", "Host: [::1]:9099", "Host: demo-app.firebaseapp.com", "User-Agent: fuzz",
        "X-GitHub-Api-Version: 2022-11-28", "If-None-Match: *", "If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT",
        "X-Firebase-GMPID: 1", "X-HTTP-Method-Override: DELETE", "Referer: http://localhost:9099/github.com/login",
        "Sec-Fetch-Site: cross-site",
    ]
}
