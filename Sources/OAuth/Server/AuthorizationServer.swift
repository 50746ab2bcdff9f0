import EmulatorCore
import HTTPServer
import JOSE
import JSON

/// An authorization server of a seed, for those endpoints that are the same at all such servers: they are extensions of it.
package protocol AuthorizationServer: Sendable {
    /// The provider's name in orders.
    var provider: String { get }
    /// Unlike all others' of the provider.
    var id: String { get }
    /// What pages call it.
    var name: String { get }
    /// How its pages look.
    var look: Look { get }
    /// Where it is played.
    var host: String { get }
    /// Its own path there, without a slash at the end.
    var path: String { get }
    /// The other paths there at which it is served, too.
    var furtherPaths: [String] { get }
    /// Whose keys sign its tokens.
    var owner: KeyOwner { get }
    /// What it signs with.
    var algorithms: [Algorithm] { get }
    var policy: ServerPolicy { get }
    var interaction: Interaction? { get }
    /// In the order in which they are written.
    var clients: [ClientMetadata] { get }

    func client(_ id: String) -> ClientMetadata?
    /// `iss`, in answers to the request.
    func identifier(_ exchange: Exchange) -> String
    /// The answer to an authorization request that a person has approved: it begins a session, unless one goes on. `nil` where the
    /// request was pushed and has been approved before.
    func approve(
        _ request: RequestedAuthorization, by account: Account, _ session: BrowserSession?, scopes: [String],
        in exchange: Exchange
    ) throws -> Response?
}

extension AuthorizationServer {
    /// The server among those of all providers, for rows that they share.
    package var realm: String { "\(provider).\(id)" }

    /// The URL of an endpoint, in the form of the request; `place` is one of the server's paths.
    package func url(_ endpoint: String, _ exchange: Exchange, below place: String? = nil) -> String {
        exchange.address.url(of: host, EndpointPaths.resolve(endpoint, below: place ?? path))
    }

    /// Pages whose forms go to an endpoint.
    package func pages(at endpoint: String) -> PersonPages {
        PersonPages(look, host: host, path: EndpointPaths.resolve(endpoint, below: path))
    }

    /// The key set endpoint: <https://datatracker.ietf.org/doc/html/rfc7517#section-5>.
    package func keySet(_ exchange: Exchange) -> Response {
        Response(status: 200, contentType: "application/json", body: exchange.keySet(owner).serialized())
    }

    /// The name by which rows tell clients of several servers apart.
    package func key(of client: ClientMetadata) -> String { "\(realm) \(client.clientID)" }

    package func hint(for clientID: String) -> String {
        Spelling.hint(clientID, among: clients.map(\.clientID).sorted())
    }

    /// The client that sends a form, once it has proved that it does. Assertions may be meant for the issuer, for the token
    /// endpoint, or for the endpoint to which they are sent.
    package func authenticate(_ exchange: Exchange, _ form: Form) throws -> ClientMetadata {
        let authentication = try ClientAuthentication(exchange.request, form)
        guard let client = client(authentication.clientID, in: exchange.world) else {
            throw authentication.unknownClient(because: noClient(authentication.clientID)) {
                self.client($0, in: exchange.world) != nil
            }
        }
        let paths = policy.paths
        let endpoints = [
            paths.token, paths.pushedRequest, paths.introspection, paths.revocation, paths.deviceAuthorization,
        ]
        let addresses = ([path] + furtherPaths).flatMap { place in
            endpoints.map { EndpointPaths.resolve($0, below: place) }
        }
        let audiences =
            [identifier(exchange)] + addresses.map { exchange.address.url(of: host, $0) }
            + addresses.map { "https://\(host)\($0)" }
        if !client.isTakenOnTrust {
            try authentication.check(client.credentials, audiences: audiences, in: exchange)
        }
        return client
    }

    /// The claims of a token that the server has signed with a key that it still publishes, or with the secret of the token's client;
    /// `nil` for any other.
    package func signedClaims(of text: String, type: String, in exchange: Exchange) -> JSONObject? {
        guard let token = try? JWS(parsing: text), token.header["typ"]?.string == type else { return nil }
        let isOwn =
            token.algorithm == Algorithm.hs256.rawValue
            ? isSignedWithSecret(token, exchange) : exchange.world.keys[owner].key(of: token)?.hasSigned(token) ?? false
        return isOwn ? token.claims : nil
    }

    private func isSignedWithSecret(_ token: JWS, _ exchange: Exchange) -> Bool {
        let id = token.claims["client_id"]?.string ?? token.claims["aud"]?.string
        guard algorithms.contains(.hs256), let secret = id.flatMap({ client($0, in: exchange.world)?.clientSecret }),
            let key = try? Key(secret: Array(secret.utf8))
        else { return false }
        return token.verify(with: key, algorithm: .hs256) == .valid
    }

    /// The claims of an ID token of the server's, expired or not. Others may sign with the same keys, so its `iss` is compared.
    package func claims(ofIDToken text: String, in exchange: Exchange) -> JSONObject? {
        guard let claims = signedClaims(of: text, type: "JWT", in: exchange), claims["exp"] != nil,
            claims["iss"]?.string == identifier(exchange)
        else { return nil }
        return claims
    }

    /// Refuses a client what is for others.
    package func check(_ client: ClientMetadata, mayUse grantType: String) throws(OAuthRefusal) {
        guard !client.mayUse(grantType) else { return }
        throw OAuthRefusal(
            "unauthorized_client",
            Diagnosis(
                received: "\(Diagnosis.quote(grantType)) by \"\(client.clientID)\"",
                "allow it in the seed: grantTypes of the client"))
    }

    /// The beginning of an authorization response: `state`, and `iss` (<https://datatracker.ietf.org/doc/html/rfc9207>).
    package func answer(_ exchange: Exchange, to redirectURI: String, of request: Form) -> AuthorizationResponse {
        var response = AuthorizationResponse(
            redirectURI: exchange.reachable(redirectURI), mode: AuthorizationParameters.mode(of: request))
        response.append("state", exchange.redirectState(request.field("state"))?.value)
        response.append("iss", exchange.redirectIssuer(policy.isNamedInAnswers ? identifier(exchange) : nil))
        return response
    }

    /// What <https://datatracker.ietf.org/doc/html/rfc8414> says of the server, and
    /// <https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderMetadata> of its requests.
    /// `place` is the path at which they are asked for.
    package func metadata(_ exchange: Exchange, below place: String) -> JSONObject {
        let paths = policy.paths
        let methods = ClientAuthenticationMethod.allCases.map { JSONValue.string($0.rawValue) }
        let algorithms = ClientMetadata.algorithms.map { JSONValue.string($0) }
        let endpoints = [
            ("authorization_endpoint", paths.authorization), ("token_endpoint", paths.token), ("jwks_uri", paths.keys),
            ("introspection_endpoint", paths.introspection), ("revocation_endpoint", paths.revocation),
            ("pushed_authorization_request_endpoint", paths.pushedRequest),
            ("device_authorization_endpoint", paths.deviceAuthorization), ("userinfo_endpoint", paths.userInfo),
            ("end_session_endpoint", paths.endSession),
        ]
        var metadata = JSONObject([("issuer", .string(identifier(exchange)))])
        for (name, path) in endpoints { metadata[name] = .string(url(path, exchange, below: place)) }
        if policy.registration != .off {
            metadata["registration_endpoint"] = .string(url(paths.registration, exchange, below: place))
        }
        if policy.clientMetadataDocuments { metadata["client_id_metadata_document_supported"] = true }
        metadata["response_types_supported"] = .array(
            policy.responseTypes.map { .string($0.sorted().joined(separator: " ")) })
        metadata["response_modes_supported"] = ["query", "fragment", "form_post"]
        metadata["grant_types_supported"] = .array(
            [
                "authorization_code", "refresh_token", "client_credentials", DeviceAuthorization.grantType,
                TokenExchange.grantType,
            ].map { .string($0) }
                + (policy.responseTypes.contains { !$0.contains("code") } ? ["implicit"] : [])
                + (policy.trustedIssuers.isEmpty ? [] : [.string(IdentityAssertion.grantType)]))
        if !policy.trustedIssuers.isEmpty {
            metadata["authorization_grant_profiles_supported"] = [.string(IdentityAssertion.profile)]
        }
        if !policy.crossAppAccess.isEmpty {
            metadata["identity_chaining_requested_token_types_supported"] = [
                .string(TokenExchange.TokenType.identityAssertion.rawValue)
            ]
        }
        for endpoint in ["token", "introspection", "revocation"] {
            // Only clients that authenticate may introspect.
            let usable = endpoint == "introspection" ? methods.filter { $0 != "none" } : methods
            metadata["\(endpoint)_endpoint_auth_methods_supported"] = .array(usable)
            metadata["\(endpoint)_endpoint_auth_signing_alg_values_supported"] = .array(algorithms)
        }
        metadata["code_challenge_methods_supported"] = .array(policy.pkceMethods.map { .string($0) })
        metadata["require_pushed_authorization_requests"] = .bool(policy.requiresPushedRequests)
        metadata["request_object_signing_alg_values_supported"] = .array(algorithms)
        metadata["authorization_response_iss_parameter_supported"] = .bool(policy.isNamedInAnswers)
        if policy.dpop != .off {
            metadata["dpop_signing_alg_values_supported"] = .array(Algorithm.published.map { .string($0.rawValue) })
        }
        metadata["claims_parameter_supported"] = true
        metadata["request_parameter_supported"] = true
        metadata["request_uri_parameter_supported"] = false
        metadata["prompt_values_supported"] = ["none", "login", "consent", "select_account"]
        if !policy.acrValues.isEmpty {
            metadata["acr_values_supported"] = .array(policy.acrValues.map { .string($0) })
        }
        return metadata
    }
}
