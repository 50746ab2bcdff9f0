import HTTPServer
import JSON
import EmulatorCore

// GET /.well-known/oauth-authorization-server/login/oauth, /login/oauth/.well-known/openid-configuration
// and /login/oauth/.well-known/jwks
// https://docs.github.com/apps/github-authentication-discovery-endpoints
//
// Quirks: this is in public preview. GitHub gives OAuth apps no ID tokens, so the key set is empty here. The keys in
// GitHub's, and every member of its documents, aren't documented.

extension GitHubProvider {
    static func discovery(_ exchange: Exchange) -> Response {
        let base = "\(Pages.base(exchange))/login"
        let document: JSONValue = [
            "issuer": .string(issuer), "authorization_endpoint": .string("\(base)/oauth/authorize"),
            "token_endpoint": .string("\(base)/oauth/access_token"),
            "device_authorization_endpoint": .string("\(base)/device/code"),
            "jwks_uri": .string("\(base)/oauth/.well-known/jwks"), "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token", .string(Device.grantType)],
            "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["RS256"],
            "scopes_supported": ["offline_access"], "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
            "authorization_response_iss_parameter_supported": true,
        ]
        return json(document)
    }

    static func keySet() -> Response { json(["keys": []]) }

    private static func json(_ value: JSONValue) -> Response {
        Response(status: 200, contentType: "application/json; charset=utf-8", body: value.serialized())
    }
}
