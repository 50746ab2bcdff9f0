import EmulatorCore

extension GoogleProvider {
    package var endpointNames: [String: String] {
        [
            "GET /o/oauth2/v2/auth": "the authorization request",
            "POST /o/oauth2/v2/auth": "the answer of the consent page",
            "GET /gsi/client": "the script of Google Identity Services",
            "GET /gsi/select": "the pop-up of the Sign in with Google button",
            "POST /gsi/select": "the answer of its page",
            "GET /gsi/iframe": "the frame of One Tap",
            "POST /gsi/iframe": "the answer of One Tap",
            "GET /gsi/status": "whether a page may use the script",
            "POST /gsi/revoke": "an app's page takes a person's consent back",
            "POST /token": "redeem a code, refresh, or ask for a device's token",
            "POST /device/code": "begin the device flow",
            "GET /device": "the page for a device's code",
            "POST /revoke": "revoke a token",
            "GET /tokeninfo": "check a token",
            "GET /v1/userinfo": "who signed in",
            "GET /oauth2/v3/userinfo": "who signed in",
            "GET /oauth2/v2/userinfo": "who signed in",
            "GET /v1/people/me": "who signed in, by the People API",
            "GET /oauth2/v3/certs": "the keys of ID tokens",
            "GET /.well-known/openid-configuration": "the discovery document",
            "POST /_understudy/v1/google/authorizations": "the SDK on a device",
        ]
    }
}
