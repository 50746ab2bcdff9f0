import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Recordings
import Time

/// The stand-in for Apple: Sign in with Apple. <https://developer.apple.com/documentation/signinwithapplerestapi>
package struct AppleProvider: RefusesUnserved, KeepsOAuthGrants, MintsIDTokens, SignsClientSecrets, RelaysMail,
    ExplainsValues, StartsSeeds
{
    static let evidence = EvidenceTable(Texts.evidence)
    package static let facts = ProviderFacts(
        name: "apple", title: "Apple", section: AppleSection.self, profile: AppleProfile.self,
        rows: AppleGrant.rows + [EndedGrant.self, MigrationToken.self, RelayedSender.self],
        choices: [.address, .name, .scopes], changes: [codeVerifiers, accountIssuer], evidence: evidence
    ) { daemon in
        [(name: "APPLE_BASE_URL", value: "\(daemon)/\(host)")]
    }

    package static let grants: any OAuthGrant.Type = AppleGrant.self
    package static let host = "appleid.apple.com"

    let directory: AppleDirectory
    let settings: AppleSection
    let secrets = ClientSecretCache()

    package init(seed: Seed) {
        settings = seed[AppleSection.self]
        directory = AppleDirectory(settings.teams, keys: seed.keys)
    }

    package var endpoints: [Endpoint] {
        let (host, signIn) = ([AppleProvider.host], AppleSignIn(apple: self))
        let authorization = EndpointTraits.authorization(
            errors: ["user_cancelled_authorize"], mints: .apple, partOf: "/auth/authorize")
        let token = EndpointTraits.api(AppleError.ofTokens, mints: .apple)
        let revocation = EndpointTraits.api(AppleError.ofRevocation)
        return [
            Endpoint(
                "GET", host, "/.well-known/openid-configuration", title: "the discovery document", .api, discovery
            ).known(by: .documented("https://appleid.apple.com/.well-known/openid-configuration")),
            Endpoint("GET", host, "/auth/keys", title: "the keys of ID tokens", keys: [.apple], .keySet(.apple), keys)
                .known(
                    by: .documented(
                        "https://developer.apple.com/documentation/signinwithapplerestapi/fetch_apple_s_public_key_for_verifying_token_signature"
                    )),
            Endpoint(
                "GET", host, "/auth/authorize", title: "the authorization request", keys: [.apple], authorization
            ) {
                try signIn.authorize($0, $0.request.queryForm)
            }.step(AppleProvider.authorizationStep).remarks(AppleProvider.remarks)
                .known(by: AppleProvider.authorizationPage),
            Endpoint(
                "POST", host, "/auth/authorize", title: "the authorization request, as a form", keys: [.apple],
                authorization
            ) {
                try signIn.authorize($0, $0.request.bodyForm)
            }.step(AppleProvider.authorizationStep).remarks(AppleProvider.remarks)
                .known(by: AppleProvider.authorizationPage),
            Endpoint(
                "POST", host, SignInPage.path, title: "the answer of the sign-in page", keys: [.apple], authorization,
                signIn.decide
            ).remarks(AppleProvider.remarks).known(by: .ownPage),
            Endpoint(
                "POST", host, "/auth/token", title: "redeem a code, or refresh", keys: [.apple], token, self.token
            ).known(
                by: .documented(
                    "https://developer.apple.com/documentation/signinwithapplerestapi/generate-and-validate-tokens")),
            Endpoint(
                "POST", host, "/auth/revoke", title: "revoke a token", keys: [.apple], revocation.withoutMembers, revoke
            ).known(
                by: .documented("https://developer.apple.com/documentation/signinwithapplerestapi/revoke-tokens")),
            Endpoint(
                "POST", host, "/auth/usermigrationinfo", title: "a team's users are moved", revocation, migrationInfo
            ).known(
                by: .documented(
                    "https://developer.apple.com/documentation/signinwithapple/transferring-your-apps-and-users-to-another-team"
                )),
        ] + scripts + controlCalls
    }

    private static let authorizationPage = Evidence.documented(
        "https://developer.apple.com/documentation/signinwithapplerestapi/request-an-authorization-to-the-sign-in-with-apple-server."
    )

    /// Describes an authorization request with the response mode `web_message`, which pop-ups use; `nil` for any other
    /// request.
    private static func authorizationStep(_ exchange: RecordedExchange) -> SignInStep? {
        exchange.request.queryForm["response_mode"] == ResponseMode.webMessage.rawValue
            ? SignInStep(.authorization, "pop-up of Sign in with Apple JS") : nil
    }

    private var controlCalls: [Endpoint] {
        [
            nativeCall, credentialStateCall, notificationCall,
            .revocations(
                of: name,
                "Lets people stop using Sign in with Apple for an app, in their settings; the team's server is told.",
                keys: [.apple]
            ) { try revokeByOrder($0, $1) }, relayCall, rotationCall,
        ]
    }

    /// Always returns `nil`: a request to Apple names its client by a parameter, such as `client_id`, and the caller of
    /// this function reads such parameters itself.
    package func client(of exchange: Exchange) -> String? { nil }

    /// Refuses a request that is too large with `invalid_request`. Apple doesn't document an error for such requests.
    package func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response? {
        let error = AppleError(.invalidRequest, nil, diagnosis)
        return exchange.address.path.hasPrefix("/auth/authorize")
            ? error.authorizeResponse(to: exchange.request) : error.jsonResponse
    }

    /// Returns the error page of Apple's servers for unknown paths and methods.
    package func notServed(_ exchange: Exchange) -> Response? {
        let (method, path) = (exchange.request.method, exchange.address.path)
        guard let host = exchange.address.host, [AppleProvider.host, AppleProvider.scriptHost].contains(host) else {
            return nil
        }
        let methods = endpoints.filter { $0.hosts == [host] && $0.path == path }.map(\.method)
        let title = methods.isEmpty ? "404 Not Found" : "405 Method Not Allowed"
        let received = Diagnosis.quote("\(method) \(path)")
        let diagnosis =
            methods.isEmpty
            ? Diagnosis(received: received, "nothing is served at this path")
            : Diagnosis(
                received: received, expected: methods.joined(separator: " or "), "use one of the expected HTTP methods")
        var response = Response(
            status: methods.isEmpty ? 404 : 405, contentType: "text/html",
            body: """
                <html>
                <head><title>\(title)</title></head>
                <body>
                <center><h1>\(title)</h1></center>
                <hr><center>Apple</center>
                </body>
                </html>

                """)
        response.headers.append((name: "Server", value: "Apple"))
        if !methods.isEmpty { response.headers.append((name: "Allow", value: methods.joined(separator: ", "))) }
        let evidence = AppleProvider.evidence.ofError(methods.isEmpty ? "404" : "405", title)
        return response.diagnosed(diagnosis).known(by: evidence)
    }

    /// Returns Apple's `iss` for the tokens in the answer to a request.
    func issuer(_ exchange: Exchange) -> String { settings.issuer.issuer(at: AppleProvider.host, exchange) }
}

extension AppleProvider {
    /// Returns the claims of the ID token that Apple would issue for a person to a client. The person needn't have
    /// consented, and no consent is recorded.
    package func token(for wanted: TokenRequest, in exchange: Exchange) throws(ControlRefusal) -> TokenDraft? {
        guard let client = directory.clients[wanted.client] else {
            throw wanted.noSuchClient("App ID or Services ID", hint: directory.hint(for: wanted.client))
        }
        let account = try wanted.person(in: exchange)
        let scopes = wanted.scopes ?? [AppleScope.email.rawValue]
        let (known, now) = exchange.world.read { ($0.grant(account.id, to: client), $0.now) }
        let granted = AppleScope.allCases.filter { scopes.contains($0.rawValue) || scopes.contains($0.nativeName) }
        let grant =
            known
            ?? AppleGrant(
                account: account.id, team: client.team, group: client.group, client: client.id, since: now,
                sharesEmail: account.apple.shareEmail, scopes: Set(granted))
        let token = IDToken(
            issuer: issuer(exchange), client: client, grant: grant, account: account, nonce: wanted.nonce,
            authenticatedAt: now, issuedAt: now)
        return TokenDraft(claims: token.claims(settings), owner: .apple, type: nil)
    }
}

extension AppleProvider: OffersTrials {
    package func trials(returningTo redirectURI: String) -> [TrialSignIn] {
        let host = AppleProvider.host
        return settings.teams.flatMap(\.services).filter { $0.returnURLs.register(redirectURI) }.map { service in
            // Apple gives names and addresses by a form post only.
            TrialSignIn(
                AppleProvider.title, client: service.id, authorization: "/\(host)/auth/authorize",
                [("response_mode", "form_post"), ("scope", "name email")], token: "/\(host)/auth/token")
        }
    }
}

// The OpenID Connect discovery document and the keys.
// Quirk: several keys are published at once and change without notice.

extension AppleProvider {
    /// A past change at Apple: for some days in June 2025, the issuer in the discovery document differed from the `iss`
    /// of tokens. Clients that compare the two refused every sign-in.
    static let accountIssuer = Change(
        "accountIssuer", ("2025-06-11", "2025-06-17"),
        summary:
            "the discovery document names the issuer https://account.apple.com; tokens have https://appleid.apple.com",
        caveat: "last reported on 16 June; the end isn't published",
        evidence: "https://github.com/supabase/auth/pull/2055, https://github.com/instantdb/instant/issues/1293")

    private static let document = DiscoveryDocument(Texts.discovery)

    func discovery(_ exchange: Exchange) -> Response {
        let issuer =
            exchange.world.seed.plays(AppleProvider.accountIssuer) ? "https://account.apple.com" : issuer(exchange)
        return AppleProvider.publicJSON(AppleProvider.document.filled(for: exchange, ["issuer": issuer]))
    }

    func keys(_ exchange: Exchange) -> Response { AppleProvider.publicJSON(exchange.keySet(.apple)) }

    /// The control API's call `POST /_understudy/v1/apple/keys/rotate`, by which a test makes Apple publish a new
    /// signing key, as Apple sometimes does. If there are then more than three, the oldest is withdrawn.
    var rotationCall: Endpoint {
        .control(
            "POST", "apple/keys/rotate", "Publishes a new signing key, and withdraws the oldest of more than three.",
            answers: [
                .json(
                    "The keys.",
                    .members([
                        .required("signing", .string, "The signing key's ID."),
                        .required("published", .strings(), "The published keys' IDs."),
                    ])), .refusal(503, "keyGeneration", "No key can be made now."),
            ], keys: [.apple]
        ) { try await rotateKeys($0) }
    }

    private func rotateKeys(_ exchange: Exchange) async throws -> Response {
        let keys = exchange.world.keys[.apple]
        guard let keyID = try await keys.rotate(in: exchange.world.name)?.first else {
            return ControlAnswer.error(
                503, "keyGeneration",
                "no key: it can't be made, or \(KeyGenerator.waitingLimit) rotations wait for one already")
        }
        let published = keys.published.map { JSONValue.string($0.id) }
        return ControlAnswer.ok(["signing": .string(keyID), "published": .array(published)])
    }

    private static func publicJSON(_ value: JSONValue) -> Response {
        Response(status: 200, contentType: "application/json;charset=UTF-8", body: value.serialized())
    }
}

extension Look {
    /// The look of Apple's pages: white or black, centred, with a black button.
    static let apple = Look(name: "Apple", style: StyleSheets.look)
}
