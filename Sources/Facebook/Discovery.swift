import EmulatorCore
import HTTPServer
import JSON

// GET https://www.facebook.com/.well-known/openid-configuration, also at limited.facebook.com
// https://developers.facebook.com/docs/facebook-login/limited-login/token/validating

extension FacebookProvider {
    static func discovery(_ exchange: Exchange) -> Response {
        json([
            "issuer": .string(issuer),
            "authorization_endpoint": .string(exchange.address.base(of: shortHost) + dialogPath + "/"),
            "jwks_uri": .string(exchange.address.base(of: host) + "\(keysPath)/"),
            "response_types_supported": ["id_token", "token id_token"], "subject_types_supported": ["pairwise"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "claims_supported": [
                "iss", "aud", "sub", "iat", "exp", "jti", "nonce", "at_hash", "name", "given_name", "family_name",
                "email", "picture", "user_link",
            ],
        ])
    }
}
