import EmulatorCore

extension GitHubProvider {
    package var endpointNames: [String: String] {
        [
            "GET /login/oauth/authorize": "the authorization request",
            "POST /login/oauth/authorize": "the answer of the consent page",
            "POST /login/oauth/access_token": "redeem a code, refresh, or ask for a device's token",
            "POST /login/device/code": "begin the device flow",
            "GET /login/device": "the page for a device's code",
            "GET /user": "who signed in",
            "GET /user/emails": "their addresses",
            "GET /user/orgs": "their organizations",
            "POST /applications/*/token": "check a token",
            "DELETE /applications/*/token": "revoke a token",
            "DELETE /applications/*/grant": "revoke a grant",
        ]
    }
}
