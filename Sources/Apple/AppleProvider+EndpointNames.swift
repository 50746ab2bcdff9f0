import EmulatorCore
import OAuth

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
            "GET /appleauth/static/jsapi/appleid/1/*/appleid.auth.js": "the script of Sign in with Apple JS",
            "GET /appleid/button": "a picture of the button",
            "POST /_understudy/v1/apple/authorizations": "the native sign-in",
        ]
    }

    package func step(of exchange: RecordedExchange, at operation: Operation?) -> Step? {
        switch exchange.host {
        case AppleProvider.scriptHost: Step(.page, "load Sign in with Apple JS")
        // Only the script asks for it, for a pop-up.
        case AppleProvider.host
        where operation?.path == "/auth/authorize"
            && exchange.request.queryForm["response_mode"] == ResponseMode.webMessage.rawValue:
            Step(.authorization, "pop-up of Sign in with Apple JS")
        default: nil
        }
    }

    package static var personChooses: Set<PersonalChoice> { [.address, .name, .scopes] }
}
