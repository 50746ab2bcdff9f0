import EmulatorCore
import HTTPServer
import JSON
import OAuth

extension Issuer {
    /// Returns the discovery document: <https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderMetadata>.
    /// `place` is one of the issuer's paths.
    func discovery(_ exchange: Exchange, at place: String) -> Response {
        var document = metadata(exchange, below: place)
        if let issuer = furtherPlaces.first(where: { $0.path == place })?.issuer {
            document["issuer"] = .string(issuer)
        }
        let algorithms = JSONValue.array(algorithms.map { .string($0.rawValue) })
        let known = ["openid", "profile", "email", "address", "phone", "offline_access", "groups", "roles"]
        document["scopes_supported"] = .array((known + resource.allScopes + scopes.keys.sorted()).map { .string($0) })
        document["claims_supported"] = .array(
            (["sub", "iss", "aud", "exp", "iat", "auth_time", "nonce", "acr", "sid", "groups", "roles"]
                + StandardClaims.ofScopes.flatMap(\.claims)).map { .string($0) })
        document["subject_types_supported"] = ["public", "pairwise"]
        document["id_token_signing_alg_values_supported"] = algorithms
        document["userinfo_signing_alg_values_supported"] = algorithms
        document["backchannel_logout_supported"] = true
        document["backchannel_logout_session_supported"] = true
        return Response(status: 200, contentType: "application/json", body: JSONValue.object(document).serialized())
    }
}
