import EmulatorCore
import HTTPServer
import JSON
import OAuth
import Worlds

/// The provider that serves all OpenID Connect issuers of a seed:
/// <https://openid.net/specs/openid-connect-core-1_0.html>.
package struct OpenIDProvider: HasAliases, KeepsOAuthGrants, MintsIDTokens, TakesUnseeded, StartsSeeds {
    static let evidence = EvidenceTable(Texts.evidence, beside: OAuthRefusal.evidence)
    package static let facts = ProviderFacts(
        name: OpenIDSection.name, title: "OpenID Connect", section: OpenIDSection.self, profile: OpenIDProfile.self,
        rows: OpenIDGrant.rows + [
            BrowserSession.self, Consent.self, DeviceAuthorization.self, PushedRequest.self, UsedAssertion.self,
            DynamicClient.self, ClientDocument.self, UsedProof.self, ProofNonceKey.self, TakenIssuer.self,
        ], evidence: evidence)

    package static let grants: any OAuthGrant.Type = OpenIDGrant.self

    let issuers: [Issuer]
    /// Whether an issuer that isn't in the seed is created by the first request for it.
    let takesUnknown: Bool
    /// The issuers in the seed. The keys are the addresses of their endpoints: the host followed by the path.
    private let issuersByAddress: [String: Issuer]

    package init(seed: Seed) {
        let section = seed[OpenIDSection.self]
        (issuers, takesUnknown) = (section.issuers, section.takesUnknown)
        issuersByAddress = Dictionary(
            issuers.flatMap { issuer in issuer.addresses.map { ($0, issuer) } }, uniquingKeysWith: { first, _ in first }
        )
    }

    package var aliases: [HostAlias] {
        issuers.flatMap(\.aliases)
            + (takesUnknown ? [HostAlias(prefix: Issuer.shortPrefix, host: Issuer.host, path: "")] : [])
    }

    package var endpoints: [Endpoint] {
        let resources = issuers.map { ProtectedResource(at: $0, among: issuers) }
        return issuers.flatMap { issuer in issuer.endpoints { _ in issuer } } + endpointsOnTrust
            + resources.flatMap(\.endpoints) + [
                logoutCall, listClientsCall, removeClientsCall, removeClientCall,
                .revocations(
                    of: name, "Lets people withdraw what they have consented to, at every issuer that has the client."
                ) { try revokeByOrder($0, $1) },
            ]
    }

    package func client(of exchange: Exchange) -> String? {
        guard let text = exchange.request.accessToken(), let issuer = issuer(at: exchange) else { return nil }
        let key = issuer.rowKey(of: text, in: exchange)
        return exchange.world.read { tables in
            tables.find(Token<OpenIDGrant>.self, key).flatMap { tables.find(OpenIDGrant.self, $0.grant) }?.client
        }
    }

    private func issuer(at exchange: Exchange) -> Issuer? {
        let address = exchange.address
        if let known = issuersByAddress["\(address.host ?? "")\(address.path)"] { return known }
        guard takesUnknown, address.host == Issuer.host else { return nil }
        return exchange.parameters["issuer"].flatMap { issuer($0, in: exchange.world) }
    }

    package func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response? {
        let refusal = OAuthRefusal("invalid_request", diagnosis)
        guard let issuer = issuer(at: exchange),
            issuer.addresses(of: issuer.policy.paths.authorization).contains(exchange.address.path)
        else { return refusal.response }
        return issuer.page(refusal, exchange)
    }

    package func accountDeleted(
        _ account: String, because reason: String, from tables: inout Transaction
    ) -> (@Sendable (_ exchange: Exchange) throws -> Void)? {
        tables.endGrants(OpenIDGrant.self, of: account, because: reason)
        tables.endSignIns(of: account)
        return nil
    }

    /// Returns the issuer that a request for a token names. If the seed accepts unknown issuers, it needn't exist yet.
    private func issuer(named id: String, _ exchange: Exchange) throws(ControlRefusal) -> Issuer {
        if let known = issuer(id, in: exchange.world) { return known }
        guard takesUnknown, TakenIssuer.isValid(id) else {
            throw ControlRefusal(
                ControlAnswer.error(
                    404, "noSuchIssuer",
                    "no issuer \(Diagnosis.quote(id)) is seeded\(Spelling.hint(id, among: issuers.map(\.id)))",
                    path: "$.issuer"))
        }
        return .takenOnTrust(id)
    }

    package func token(for wanted: TokenRequest, in exchange: Exchange) throws(ControlRefusal) -> TokenDraft? {
        let issuers =
            try wanted.issuer.map { (id) throws(ControlRefusal) in [try issuer(named: id, exchange)] } ?? issuers
        guard let issuer = issuers.first(where: { $0.client(wanted.client, in: exchange.world) != nil }),
            let client = issuer.client(wanted.client, in: exchange.world)
        else {
            let names = issuers.flatMap(\.clients).map(\.clientID).sorted()
            throw wanted.noSuchClient("client", hint: Spelling.hint(wanted.client, among: names))
        }
        let (account, now) = (try wanted.person(in: exchange), exchange.world.now)
        let grant = OpenIDGrant(
            key: "", issuer: issuer.id, client: client.clientID, account: account.id,
            scopes: wanted.scopes ?? ["openid", "email", "profile"], authenticatedAt: now, expires: now)
        let claims = issuer.idTokenClaims(grant, of: account, for: client, in: exchange, nonce: wanted.nonce)
        return TokenDraft(
            claims: claims, owner: issuer.owner, type: "JWT",
            algorithm: issuer.algorithm(client.idTokenAlgorithm, for: client), secret: client.clientSecret)
    }
}

extension Issuer {
    /// Returns the paths of an endpoint: one for each path at which the issuer is served.
    func addresses(of endpoint: String) -> [String] {
        var seen: Set<String> = []
        return paths.map { EndpointPaths.resolve(endpoint, below: $0) }.filter { seen.insert($0).inserted }
    }

    /// The addresses of the issuer's discovery documents, and of the endpoints whose paths the seed can set. Each is
    /// made of the host and the path.
    var addresses: [String] {
        let discovery = ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"]
        return (policy.paths.all + discovery).flatMap { addresses(of: $0) }.map { host + $0 }
    }

    /// Returns the endpoints of this issuer, or of all issuers outside the seed. `issuer` returns the issuer to which a
    /// request was sent.
    func endpoints(
        of issuer: @escaping @Sendable (Exchange) throws -> Issuer
    ) -> [Endpoint] {
        let (hosts, own) = ([host], policy.paths)
        // Assertions are verified with the keys of their issuers.
        let platforms = policy.workloadPlatforms.filter { $0.keys == nil }.map(\.issuer)
        let keys = [owner] + (policy.trustedIssuers + platforms).map { Issuer.owner($0) }
        var authorization = EndpointTraits.authorization(
            errors: OAuthRefusal.ofAuthorizations, mints: mintsForBrowsers ? owner : nil, isOpen: true)
        authorization.namesIssuer = true
        let client = EndpointTraits.api(OAuthRefusal.ordered(OAuthRefusal.ofClients))
        let device = EndpointTraits.api(OAuthRefusal.ordered(OAuthRefusal.ofClients + ["invalid_scope"]))
        let token = EndpointTraits.api(
            OAuthRefusal.ordered(OAuthRefusal.ofTokens, nonce: { try proofNonce($0) }), mints: owner)
        var userInfo = EndpointTraits.api(
            OAuthRefusal.ordered(["invalid_token", "insufficient_scope"], isForBearers: true),
            mints: clients.contains { $0.userInfoAlgorithm != nil } ? owner : nil)
        userInfo.answersClaims = true
        let exposing = Endpoint.CORS.exposing(OAuthRefusal.exposedHeaders)
        // If clients may have metadata documents, the client's is fetched before an endpoint that needs it runs.
        func at(
            _ endpoint: String, _ evidence: Evidence, title: String? = nil, _ traits: EndpointTraits,
            _ methods: [String] = ["POST"], cors: Endpoint.CORS = .any, needsClient: Bool = false,
            _ respond: @escaping @Sendable (Issuer, Exchange) throws -> Response
        ) -> [Endpoint] {
            let begins = endpoint != own.token
            return addresses(of: endpoint).flatMap { path in
                methods.map { method in
                    let title = method == methods[0] ? title : nil
                    guard needsClient, policy.clientMetadataDocuments else {
                        return Endpoint(method, hosts, path, title: title, cors: cors, keys: keys, traits) { exchange in
                            try respond(try issuer(exchange), exchange)
                        }.known(by: evidence)
                    }
                    return Endpoint(
                        method, hosts, path, title: title, cors: cors, keys: keys, traits
                    ) { exchange async throws in
                        do {
                            let issuer = try issuer(exchange)
                            try await issuer.fetchClient(of: exchange, refreshes: begins)
                            return try respond(issuer, exchange)
                        } catch let error as OAuthRefusal {
                            return traits.authorizes ? page(error, exchange) : error.response
                        }
                    }.known(by: evidence)
                }
            }
        }
        var all = paths.flatMap { place in metadataEndpoints(at: place, of: issuer) }
        all += at(own.keys, .rfc("7517#section-5"), title: "the keys of ID tokens", .keySet(owner), ["GET"]) {
            $0.keySet($1)
        }
        let core = "https://openid.net/specs/openid-connect-core-1_0.html"
        let request = Evidence.specified("\(core)#AuthorizationEndpoint")
        all += at(
            own.authorization, request, title: "the authorization request", authorization, ["GET"], cors: .none,
            needsClient: true
        ) { try $0.authorize($1, $1.request.queryForm) }
        all += at(
            own.authorization, request, title: "the authorization request, as a form", authorization, cors: .none,
            needsClient: true
        ) { try $0.authorizeByPost($1) }
        all += at(
            own.pushedRequest, .rfc("9126#section-2"), title: "push an authorization request", device, cors: exposing,
            needsClient: true
        ) {
            try $0.push($1)
        }
        all += at(
            own.token, .specified("\(core)#TokenEndpoint"), title: "redeem a code, refresh, or exchange", token,
            cors: exposing, needsClient: true
        ) {
            try $0.token($1)
        }
        all += at(
            own.userInfo, .specified("\(core)#UserInfo"), title: "who signed in", userInfo, ["GET", "POST"],
            cors: exposing
        ) {
            try $0.userInfo($1)
        }
        all += at(own.introspection, .rfc("7662#section-2"), title: "check a token", client) { try $0.introspect($1) }
        all += at(own.revocation, .rfc("7009#section-2"), title: "revoke a token", client.withoutMembers) {
            try $0.revoke($1)
        }
        all += at(
            own.deviceAuthorization, .rfc("8628#section-3.1"), title: "begin the device flow", device,
            needsClient: true
        ) {
            try $0.authorizeDevice($1)
        }
        all += at(own.device, .ownPage, .page, ["GET"], cors: .none) { $0.devicePage($1) }
        all += at(own.device, .ownPage, .page, cors: .none) { try $0.decideOnDevice($1) }
        if policy.registration != .off {
            let registration = EndpointTraits.api(OAuthRefusal.ordered(OAuthRefusal.ofRegistrations))
            let registered = "\(own.registration)/:client"
            all += at(own.registration, .rfc("7591#section-3"), title: "register a client", registration) {
                try $0.register($1)
            }
            all += at(
                registered, .rfc("7592#section-2.1"), title: "read a client's registration", registration, ["GET"]
            ) {
                $0.readRegistration($1)
            }
            all += at(
                registered, .rfc("7592#section-2.2"), title: "change a client's registration", registration, ["PUT"]
            ) {
                try $0.changeRegistration($1)
            }
            all += at(
                registered, .rfc("7592#section-2.3"), title: "end a client's registration",
                registration.withoutMembers, ["DELETE"]
            ) {
                try $0.endRegistration($1)
            }
        }
        all += addresses(of: own.endSession).flatMap { path in
            ["GET", "POST"].map { method in
                Endpoint(
                    method, hosts, path, title: method == "GET" ? "sign out" : nil, keys: [owner], .page(mints: owner)
                ) { exchange in
                    do {
                        let form = method == "GET" ? exchange.request.queryForm : exchange.request.bodyForm
                        return try await (try issuer(exchange)).logout(exchange, form)
                    } catch let error as OAuthRefusal { return error.response }
                }.known(by: .specified("https://openid.net/specs/openid-connect-rpinitiated-1_0.html#RPLogout"))
            }
        }
        return all
    }

    /// Returns the endpoints for the issuer's metadata, for one of the paths at which the issuer is served.
    private func metadataEndpoints(
        at place: String, of issuer: @escaping @Sendable (Exchange) throws -> Issuer
    ) -> [Endpoint] {
        let below = ["\(place)/.well-known/openid-configuration", "\(place)/.well-known/oauth-authorization-server"]
        // RFC 8414 section 3.1 puts the issuer's path after the well-known one. Clients of the Model Context Protocol
        // also look for the other document there.
        let inserted = place.isEmpty ? [] : HostAlias.metadata.map { $0 + place }
        let isOwn = place == path
        return (below + inserted).map { path in
            Endpoint(
                "GET", [host], path, title: path == below[0] ? "the discovery document" : nil, cors: .any
            ) { exchange in
                let issuer = try issuer(exchange)
                return issuer.discovery(exchange, at: isOwn ? issuer.path : place)
            }.known(
                by: path.contains("/openid-configuration")
                    ? .specified("https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderConfig")
                    : .rfc("8414#section-3"))
        }
    }

    /// Whether the issuer's authorization endpoint itself issues signed tokens, as in the implicit and hybrid flows.
    private var mintsForBrowsers: Bool {
        isTakenOnTrust
            || clients.contains { client in
                (client.responseTypes ?? policy.responseTypes).contains { types in
                    types.contains("id_token") || types.contains("token") && client.accessToken == .jwt
                }
            }
    }
}

extension OpenIDProvider {
    package func issued(_ text: String, in world: World) -> IssuedValue? {
        // The client in a code's row has its issuer before it, so the grant's is used.
        world.issued(text, OpenIDGrant.self) { $0.client }
    }
}

extension OpenIDProvider: OffersTrials {
    package func trials(returningTo redirectURI: String) -> [TrialSignIn] {
        issuers.flatMap { issuer in
            issuer.clients.filter { $0.redirectURIs.register(redirectURI) }.compactMap { issuer.trial(of: $0) }
        }
    }
}

extension Issuer {
    /// Returns the values with which a developer can try out a sign-in to a client on the inspector's web pages; `nil`
    /// for a client that authenticates with a signed JWT.
    fileprivate func trial(of client: ClientMetadata) -> TrialSignIn? {
        let methods = client.credentials.methods
        let authentication: TrialSignIn.Authentication
        if methods.contains(.clientSecretBasic) {
            authentication = .basic
        } else if methods.contains(.clientSecretPost) {
            authentication = .form
        } else if methods.contains(.none) {
            authentication = .none
        } else {
            return nil
        }
        let rule = client.pkce ?? policy.pkce
        func address(_ endpoint: String) -> String {
            let path = EndpointPaths.resolve(endpoint, below: self.path)
            return alias.rest(of: path, at: host).map { alias.prefix + $0 } ?? "/\(host)\(path)"
        }
        return TrialSignIn(
            name, client: client.clientID, authorization: address(policy.paths.authorization),
            [("scope", "openid email profile")], token: address(policy.paths.token), authentication: authentication,
            needsPKCE: rule == .required || rule == .public && authentication == .none)
    }
}

extension Issuer {
    /// Returns the discovery document: <https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderMetadata>.
    /// An issuer may have several paths; `place` is the one for which the document was requested.
    func discovery(_ exchange: Exchange, at place: String) -> Response {
        var document = metadata(exchange, below: place)
        if let issuer = furtherPlaces.first(where: { $0.path == place })?.issuer {
            document["issuer"] = .string(issuer)
        }
        let algorithms = JSONValue.array(algorithms.map { .string($0.rawValue) })
        let known = ["openid", "profile", "email", "address", "phone", "offline_access", "groups", "roles"]
            .filter { $0 != "offline_access" || policy.refreshTokens != .never }
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

extension Look {
    /// Returns the look of an OpenID issuer's sign-in pages: plain forms, and the issuer's name on a dark band.
    static func issuer(_ name: String) -> Look {
        Look(name: name, style: StyleSheets.look)
    }
}

extension Evidence {
    /// Makes evidence (the public source of a behaviour) from a section of an RFC. `section` has the form
    /// `9728#section-3`.
    static func rfc(_ section: String) -> Evidence {
        .specified("https://datatracker.ietf.org/doc/html/rfc\(section)")
    }
}
