import HTTPServer
import JOSE
import OAuth
import EmulatorCore
import Time

/// Sign in with Apple: <https://developer.apple.com/documentation/signinwithapplerestapi>.
package struct AppleProvider: RefusesUnserved, KeepsGrants, MintsIDTokens, SignsClientSecrets, RelaysMail,
    ExplainsValues, StartsSeeds
{
    package static let facts = ProviderFacts(
        name: "apple", title: "Apple", section: AppleSection.self, profile: AppleProfile.self,
        rows: AppleGrant.rows + [EndedGrant.self, MigrationToken.self, RelayedSender.self],
        choices: [.address, .name, .scopes], changes: [codeVerifiers, accountIssuer]
    ) { daemon in
        [(name: "APPLE_BASE_URL", value: "\(daemon)/\(host)")]
    }

    package static let host = "appleid.apple.com"

    let directory: AppleDirectory
    let settings: AppleSection
    let secrets = ClientSecretCache()

    package init(seed: Seed) {
        settings = seed[AppleSection.self]
        directory = AppleDirectory(settings.teams, keys: seed.keys)
    }

    package var endpoints: [Endpoint] {
        let host = [AppleProvider.host]
        let authorization = EndpointTraits.authorization(
            errors: ["user_cancelled_authorize"], mints: .apple, partOf: "/auth/authorize")
        let token = EndpointTraits.api(AppleError.ofTokens, mints: .apple)
        let revocation = EndpointTraits.api(AppleError.ofRevocation)
        return [
            Endpoint(
                "GET", host, "/.well-known/openid-configuration", title: "the discovery document", .api, discovery),
            Endpoint("GET", host, "/auth/keys", title: "the keys of ID tokens", keys: [.apple], .keySet(.apple), keys),
            Endpoint(
                "GET", host, "/auth/authorize", title: "the authorization request", keys: [.apple], authorization
            ) {
                try authorize($0, $0.request.queryForm)
            }.step(AppleProvider.authorizationStep).remarks(AppleProvider.remarks),
            Endpoint(
                "POST", host, "/auth/authorize", title: "the authorization request, as a form", keys: [.apple],
                authorization
            ) {
                try authorize($0, $0.request.bodyForm)
            }.step(AppleProvider.authorizationStep).remarks(AppleProvider.remarks),
            Endpoint(
                "POST", host, SignInPage.path, title: "the answer of the sign-in page", keys: [.apple], authorization,
                decide
            ).remarks(AppleProvider.remarks),
            Endpoint(
                "POST", host, "/auth/token", title: "redeem a code, or refresh", keys: [.apple], token, self.token),
            Endpoint(
                "POST", host, "/auth/revoke", title: "revoke a token", keys: [.apple], revocation.withoutMembers, revoke
            ),
            Endpoint(
                "POST", host, "/auth/usermigrationinfo", title: "a team's users are moved", revocation, migrationInfo),
        ] + scripts + controlCalls
    }

    /// Only Apple's script asks for the response mode of a pop-up.
    private static func authorizationStep(_ exchange: RecordedExchange) -> Step? {
        exchange.request.queryForm["response_mode"] == ResponseMode.webMessage.rawValue
            ? Step(.authorization, "pop-up of Sign in with Apple JS") : nil
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

    /// All that a request says of its client stands in its form.
    package func client(of exchange: Exchange) -> String? { nil }

    /// Refuses a request that is too large. Not documented: `invalid_request`, as for a repeated parameter.
    package func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response? {
        let error = AppleError(.invalidRequest, nil, diagnosis)
        return exchange.address.path.hasPrefix("/auth/authorize")
            ? error.authorizeResponse(to: exchange.request) : error.jsonResponse
    }

    /// Returns the page of Apple's servers for unknown paths, described at
    /// <https://github.com/Kosthi/ipatool-rs/issues/14>. The status 405 for another method isn't documented.
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
            ? Diagnosis(received: received, "nothing is served here")
            : Diagnosis(received: received, expected: methods.joined(separator: " or "), "use this method")
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
        return response.diagnosed(diagnosis)
    }

    /// Returns the `iss` of tokens for this request.
    func issuer(_ exchange: Exchange) -> String {
        switch settings.issuer {
        case .provider: "https://\(AppleProvider.host)"
        case .request: exchange.address.base(of: AppleProvider.host)
        }
    }
}
