import EmulatorCore
import HTTPServer
import JSON
import OAuth

// GET https://accounts.google.com/.well-known/openid-configuration, and the keys
// https://developers.google.com/identity/openid-connect/openid-connect#discovery
//
// Quirk: the keys are published in two forms, a key set at /oauth2/v3/certs and certificates at /oauth2/v1/certs.

extension GoogleProvider {
    func discovery(_ exchange: Exchange) -> Response {
        let accounts = exchange.address.base(of: GoogleProvider.host)
        let tokens = exchange.address.base(of: GoogleProvider.tokenHost)
        // "Standard HTTP caching headers are used and should be respected." The time isn't documented.
        return GoogleProvider.cached(
            seconds: 3600,
            [
                "issuer": .string(issuer(exchange)),
                "authorization_endpoint": .string(accounts + GoogleProvider.authorizePath),
                "device_authorization_endpoint": .string("\(tokens)/device/code"),
                "token_endpoint": .string("\(tokens)/token"),
                "userinfo_endpoint": .string(exchange.address.base(of: GoogleProvider.userInfoHost) + "/v1/userinfo"),
                "revocation_endpoint": .string("\(tokens)/revoke"),
                "jwks_uri": .string(exchange.address.base(of: GoogleProvider.apiHost) + "/oauth2/v3/certs"),
                "response_types_supported": [
                    "code", "token", "id_token", "code token", "code id_token", "token id_token", "code token id_token",
                ],
                "response_modes_supported": ["query", "fragment", "form_post"], "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "scopes_supported": ["openid", "email", "profile"],
                "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
                "claims_supported": [
                    "aud", "email", "email_verified", "exp", "family_name", "given_name", "iat", "iss", "name",
                    "picture",
                    "sub",
                ],
                "code_challenge_methods_supported": ["plain", "S256"],
                "grant_types_supported": [
                    "authorization_code", "refresh_token", .string(DeviceAuthorization.grantType),
                ],
                "authorization_response_iss_parameter_supported": true,
            ])
    }

    static func keySet(_ exchange: Exchange) -> Response { cached(seconds: 19_800, exchange.keySet(.google)) }

    static func certificates(_ exchange: Exchange) -> Response {
        do {
            return cached(
                seconds: 19_800,
                try exchange.certificates(.google, commonName: "federated-signon.system.gserviceaccount.com")
            )
        } catch {
            return json(["error": "internal"], status: 500).diagnosed(Diagnosis(error.description))
        }
    }

    private static func cached(seconds: Int, _ value: JSONValue) -> Response {
        Response(
            status: 200, contentType: "application/json; charset=UTF-8",
            headers: [(name: "Cache-Control", value: "public, max-age=\(seconds), must-revalidate, no-transform")],
            body: value.serialized())
    }
}
