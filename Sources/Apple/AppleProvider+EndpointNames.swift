import EmulatorCore

extension AppleProvider {
    package var endpointNames: [String: String] {
        [
            "GET /auth/authorize": "the authorization request",
            "POST /auth/authorize": "the authorization request, as a form",
            "POST /auth/authorize/continue": "the answer of the sign-in page",
            "POST /auth/token": "redeem a code, or refresh",
            "POST /auth/revoke": "revoke a token",
            "POST /auth/usermigrationinfo": "a team's users are moved",
            "GET /auth/keys": "the keys of ID tokens",
            "GET /.well-known/openid-configuration": "the discovery document",
            "POST /_understudy/v1/apple/authorizations": "the native sign-in",
        ]
    }

    package static var personChooses: Set<PersonalChoice> { [.address, .name, .scopes] }
}
