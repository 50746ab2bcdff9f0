import EmulatorCore
import HTTPServer
import JSON

/// An authorization server of a seed, for those endpoints that are the same at all such servers: they are extensions of it.
package protocol AuthorizationServer: Sendable {
    /// The provider's name in orders.
    var provider: String { get }
    /// Unlike all others' of the provider.
    var id: String { get }
    var policy: ServerPolicy { get }
    var interaction: Interaction? { get }
    /// In the order in which they are written.
    var clients: [ClientMetadata] { get }

    func client(_ id: String) -> ClientMetadata?
    /// `iss`, in answers to the request.
    func identifier(_ exchange: Exchange) -> String
    /// The URL of an endpoint, in the form of the request.
    func url(_ endpoint: String, _ exchange: Exchange) -> String
    /// Pages whose forms go to an endpoint.
    func pages(at endpoint: String) -> PersonPages
    /// The answer to an authorization request that a person has approved: it begins a session, unless one goes on.
    func approve(
        _ request: RequestedAuthorization, by account: Account, _ session: BrowserSession?, scopes: [String],
        in exchange: Exchange
    ) throws(OAuthRefusal) -> Response
}

extension AuthorizationServer {
    /// The server among those of all providers, for rows that they share.
    package var realm: String { "\(provider).\(id)" }

    /// The name by which rows tell clients of several servers apart.
    package func key(of client: ClientMetadata) -> String { "\(realm) \(client.clientID)" }

    package func hint(for clientID: String) -> String {
        Spelling.hint(clientID, among: clients.map(\.clientID).sorted())
    }

    /// The client that sends a form, once it has proved that it does. Assertions may be meant for the issuer, for the token
    /// endpoint, or for the endpoint to which they are sent.
    package func authenticate(_ exchange: Exchange, _ form: Form) throws(OAuthRefusal) -> ClientMetadata {
        let authentication = try ClientAuthentication(exchange.request, form)
        guard let client = client(authentication.clientID) else {
            throw authentication.unknownClient(hint: hint(for: authentication.clientID))
        }
        let audiences = [
            identifier(exchange), url(policy.paths.token, exchange), url(policy.paths.pushedRequest, exchange),
            url(policy.paths.introspection, exchange), url(policy.paths.revocation, exchange),
            url(policy.paths.deviceAuthorization, exchange),
        ]
        try authentication.check(client.credentials, audiences: audiences, in: exchange)
        return client
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
        response.append("iss", policy.isNamedInAnswers ? identifier(exchange) : nil)
        return response
    }

    /// What <https://datatracker.ietf.org/doc/html/rfc8414> says of the server, and
    /// <https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderMetadata> of its requests.
    package func metadata(_ exchange: Exchange) -> JSONObject {
        let paths = policy.paths
        let methods = ClientAuthenticationMethod.allCases.map { JSONValue.string($0.rawValue) }
        let algorithms = (ClientMetadata.algorithms + ["HS256"]).map { JSONValue.string($0) }
        let endpoints = [
            ("authorization_endpoint", paths.authorization), ("token_endpoint", paths.token), ("jwks_uri", paths.keys),
            ("introspection_endpoint", paths.introspection), ("revocation_endpoint", paths.revocation),
            ("pushed_authorization_request_endpoint", paths.pushedRequest),
            ("device_authorization_endpoint", paths.deviceAuthorization), ("userinfo_endpoint", paths.userInfo),
            ("end_session_endpoint", paths.endSession),
        ]
        var metadata = JSONObject([("issuer", .string(identifier(exchange)))])
        for (name, path) in endpoints { metadata[name] = .string(url(path, exchange)) }
        metadata["response_types_supported"] = .array(
            policy.responseTypes.map { .string($0.sorted().joined(separator: " ")) })
        metadata["response_modes_supported"] = ["query", "fragment", "form_post"]
        metadata["grant_types_supported"] = .array(
            [
                "authorization_code", "refresh_token", "client_credentials", DeviceAuthorization.grantType,
                TokenExchange.grantType,
            ].map { .string($0) }
                + (policy.responseTypes.contains { !$0.contains("code") } ? ["implicit"] : []))
        for endpoint in ["token", "introspection", "revocation"] {
            metadata["\(endpoint)_endpoint_auth_methods_supported"] = .array(methods)
            metadata["\(endpoint)_endpoint_auth_signing_alg_values_supported"] = .array(algorithms)
        }
        metadata["code_challenge_methods_supported"] = .array(policy.pkceMethods.map { .string($0) })
        metadata["require_pushed_authorization_requests"] = .bool(policy.requiresPushedRequests)
        metadata["request_object_signing_alg_values_supported"] = .array(algorithms)
        metadata["authorization_response_iss_parameter_supported"] = .bool(policy.isNamedInAnswers)
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
