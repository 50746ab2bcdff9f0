import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth

// The endpoints of an issuer share these functions: addresses, clients, signed tokens, and the metadata.

extension Issuer {
    /// The issuer's identifier in database keys: the provider's name and the issuer's ID.
    var realm: String { "\(provider).\(id)" }

    /// Returns the URL of an endpoint, at the address by which the request has reached the issuer. `place` is the path
    /// below which the endpoint is served; the default is the path in the issuer's URL.
    func url(_ endpoint: String, _ exchange: Exchange, below place: String? = nil) -> String {
        exchange.address.url(of: host, EndpointPaths.resolve(endpoint, below: place ?? path))
    }

    /// Returns sign-in pages that send their forms to the endpoint `endpoint`.
    func pages(at endpoint: String) -> PersonPages {
        PersonPages(look, host: host, path: EndpointPaths.resolve(endpoint, below: path))
    }

    /// Returns the response of the endpoint for the issuer's JSON Web Key Set:
    /// <https://datatracker.ietf.org/doc/html/rfc7517#section-5>.
    func keySet(_ exchange: Exchange) -> Response {
        Response(status: 200, contentType: "application/json", body: exchange.keySet(owner).serialized())
    }

    /// Returns the client's identifier in database keys: its issuer and its client ID.
    func key(of client: ClientMetadata) -> String { "\(realm) \(client.clientID)" }

    /// Returns how an error message names the client with this identifier in database keys: by its client ID, and by
    /// its issuer if that is another one.
    func clientName(ofKey key: String) -> String {
        let parts = key.split(separator: " ", maxSplits: 1).map { String($0) }
        guard parts.count == 2 else { return "the client \(Diagnosis.quote(key))" }
        let client = "the client \(Diagnosis.quote(parts[1]))"
        guard parts[0] != realm else { return client }
        return "\(client) of the issuer \(Diagnosis.quote(String(parts[0].dropFirst(provider.count + 1))))"
    }

    func hint(for clientID: String) -> String {
        Spelling.hint(clientID, among: clients.map(\.clientID).sorted())
    }

    /// Authenticates the client that sends a form, unless the issuer accepts any client. The `aud` of a client
    /// assertion may be the issuer, or the endpoint for tokens, pushed requests, introspection, revocation or device
    /// authorization.
    func authenticate(_ exchange: Exchange, _ form: Form) throws -> ClientMetadata {
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

    /// Returns the claims of a token that this issuer has signed, with a published key or with the secret of the
    /// token's client; `nil` for any other token.
    func signedClaims(of text: String, type: String, in exchange: Exchange) -> JSONObject? {
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

    /// Returns the claims of an ID token of this issuer, even if the token has expired. Other issuers may sign with the
    /// same keys, so `iss` is compared.
    func claims(ofIDToken text: String, in exchange: Exchange) -> JSONObject? {
        guard let claims = signedClaims(of: text, type: "JWT", in: exchange), claims["exp"] != nil,
            claims["iss"]?.string == identifier(exchange)
        else { return nil }
        return claims
    }

    func check(_ client: ClientMetadata, mayUse grantType: String) throws(OAuthRefusal) {
        guard !client.mayUse(grantType) else { return }
        throw OAuthRefusal(
            "unauthorized_client",
            Diagnosis(
                received: "grant_type \(Diagnosis.quote(grantType)) from client \"\(client.clientID)\"",
                "the client may not use this grant type: add it to the client's grantTypes in the seed"))
    }

    /// Returns the beginning of an authorization response: the parameters `state` and `iss`
    /// (<https://datatracker.ietf.org/doc/html/rfc9207>).
    func answer(_ exchange: Exchange, to redirectURI: String, of request: Form) -> AuthorizationResponse {
        var response = AuthorizationResponse(
            redirectURI: exchange.reachable(redirectURI), mode: AuthorizationParameters.mode(of: request))
        response.append("state", exchange.redirectState(request.field("state"))?.value)
        response.append("iss", exchange.redirectIssuer(policy.isNamedInAnswers ? identifier(exchange) : nil))
        return response
    }

    /// Returns the issuer's metadata as an OAuth server (<https://datatracker.ietf.org/doc/html/rfc8414>), together
    /// with some members that OpenID Connect adds
    /// (<https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderMetadata>). An issuer may have several
    /// paths; `place` is the one for which the metadata was requested.
    func metadata(_ exchange: Exchange, below place: String) -> JSONObject {
        let paths = policy.paths
        let methods = policy.authenticationMethods.map { JSONValue.string($0.rawValue) }
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
            ].filter { $0 != "refresh_token" || policy.refreshTokens != .never }.map { .string($0) }
                + (policy.responseTypes.contains { !$0.contains("code") } ? ["implicit"] : [])
                + (policy.takesAssertions ? [.string(IdentityAssertion.grantType)] : []))
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

extension SeedReferences {
    /// Checks the addresses of the authorization servers in a seed: no host may belong to another provider or be
    /// reserved for the daemon, and no two servers may have the same address. A server's URL is its member `urlMember`,
    /// or else what `defaultURL` returns for its ID. `short` is the beginning of the servers' short paths, such as
    /// `/oidc`.
    mutating func checkServers(
        _ servers: [LocatedJSON], urlMember: String, default defaultURL: (String) -> String, short: String
    ) {
        var places: [String: String] = [:]
        // Servers on this machine share one host.
        let own = WebAddress(defaultURL(""))?.host ?? ""
        for server in servers {
            let id = server["id"]?.string ?? ""
            if let json = server["id"], id.allSatisfy({ $0 == "." }) {
                add(json, "expected a name of more than dots, because it stands in addresses")
            }
            let json = server[urlMember].flatMap { $0.string == nil ? nil : $0 }
            guard let address = checkAddress(json, json?.string ?? defaultURL(id)) else { continue }
            let host = address.isOfThisMachine ? own : address.host
            func claim(_ path: String, _ json: LocatedJSON) {
                let path = path.hasSuffix("/") ? String(path.dropLast()) : path
                if let other = places.updateValue(id, forKey: "\(host)\(path)") {
                    add(json, "is at the same address as \(Diagnosis.quote(other)): host and path must differ")
                }
            }
            claim(address.path, json ?? server)
            for place in server["alsoAt"]?.items ?? [] { claim(place["path"]?.string ?? "", place["path"] ?? place) }
            if let json, address.isOfThisMachine { checkOwnPath(json, address.path, of: id, short) }
            checkPaths(server["paths"])
        }
    }

    private mutating func checkAddress(_ json: LocatedJSON?, _ url: String) -> WebAddress? {
        guard let address = WebAddress(url), address.path == address.rest else {
            if let json { add(json, "expected a URL without a query, a fragment and a user") }
            return nil
        }
        if let json, !address.isOfThisMachine { checkHost(json, address.host) }
        return address
    }

    /// Checks the path of an authorization server on the daemon's own host. It must not hide the daemon's own pages.
    private mutating func checkOwnPath(_ json: LocatedJSON, _ path: String, of id: String, _ short: String) {
        let first = path.split(separator: "/").first.map(String.init) ?? ""
        let isShort = "/\(first)" == short
        guard
            isShort
                ? path != "\(short)/\(id)"
                : ["emulator", "mcp", ".well-known"].contains(first) || first.hasPrefix("_") || first.hasPrefix("~")
        else { return }
        add(
            json,
            "the path \(Diagnosis.quote(path)) is reserved for the daemon: use another path, or leave it out for \(short)/\(id)"
        )
    }

    private mutating func checkPaths(_ json: LocatedJSON?) {
        guard let json else { return }
        var seen: Set<String> = ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"]
        for path in EndpointPaths(reading: json.value).all where !seen.insert(path).inserted {
            add(json, "\(Diagnosis.quote(path)) is the path of two endpoints: each needs its own")
        }
    }
}
