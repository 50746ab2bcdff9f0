import EmulatorCore
import HTTPServer
import JSON
import OAuth
import Time
import Worlds

/// The stand-in for Google's sign-in, as far as OpenID Connect and Firebase need it.
package struct GoogleProvider: RefusesUnserved, KeepsOAuthGrants, RemembersEndedTokens, MintsIDTokens,
    ExplainsValues, StartsSeeds
{
    static let evidence = EvidenceTable(Texts.evidence)
    package static let facts = ProviderFacts(
        name: "google", title: "Google", section: GoogleSection.self, profile: GoogleProfile.self,
        rows: GoogleGrant.rows + [DeviceAuthorization.self], changes: [outOfBand], evidence: evidence
    ) { daemon in
        [
            (name: "GOOGLE_BASE_URL", value: "\(daemon)/\(host)"),
            (name: "GOOGLE_TOKEN_URL", value: "\(daemon)/\(tokenHost)/token"),
        ]
    }

    package static let grants: any OAuthGrant.Type = GoogleGrant.self
    package static let host = "accounts.google.com"
    package static let tokenHost = "oauth2.googleapis.com"
    static let userInfoHost = "openidconnect.googleapis.com"
    package static let apiHost = "www.googleapis.com"
    package static let issuer = "https://accounts.google.com"
    static let authorizePath = "/o/oauth2/v2/auth"

    var clients: RegisteredClients<GoogleClient> { settings.clients }
    let settings: GoogleSection
    let takesOutOfBand: Bool
    let pages = PersonPages(.google, .google, host: host, path: authorizePath)

    package init(seed: Seed) {
        settings = seed[GoogleSection.self]
        takesOutOfBand = seed.plays(GoogleProvider.outOfBand)
    }

    /// Whether an `iss` is Google's. In older ID tokens, it has no `https://`:
    /// <https://developers.google.com/identity/openid-connect/openid-connect>.
    package static func isIssuer(_ issuer: String) -> Bool { [self.issuer, host].contains(issuer) }

    package var endpoints: [Endpoint] {
        authorizations + browserScript + browserDialog + profiles + tokens + devices + keySets + [
            nativeCall, securityEventCall,
            .revocations(of: name, "Lets people remove an app in their Google account.") { try revokeByOrder($0, $1) },
        ]
    }

    private static let oldAddress = Evidence.chosen("an older address, which answers as the present one does")
    private static let authorization = Evidence.documented(
        "https://developers.google.com/identity/openid-connect/openid-connect#authenticationuriparameters")
    private static let codeExchange = Evidence.documented(
        "https://developers.google.com/identity/protocols/oauth2/web-server#exchange-authorization-code")
    private static let revocation = Evidence.documented(
        "https://developers.google.com/identity/protocols/oauth2/web-server#tokenrevoke")
    private static let deviceFlow = Evidence.documented(
        "https://developers.google.com/identity/protocols/oauth2/limited-input-device")
    private static let profile = Evidence.documented(
        "https://developers.google.com/identity/openid-connect/openid-connect#obtaininguserprofileinformation")
    private static let publicKeys = Evidence.documented(
        "https://developers.google.com/identity/sign-in/web/backend-auth#verify-the-integrity-of-the-id-token")

    private var authorizations: [Endpoint] {
        let (host, signIn) = ([GoogleProvider.host], GoogleSignIn(google: self))
        let traits = EndpointTraits.authorization(
            errors: ["access_denied", "interaction_required", "login_required", "consent_required"]
                + GoogleError.statusesOfPageErrors.map(\.name), mints: .google)
        return [
            Endpoint(
                "GET", host, "/.well-known/openid-configuration", title: "the discovery document", cors: .any, .api,
                discovery
            ).known(
                by: .documented("https://developers.google.com/identity/openid-connect/openid-connect#discovery")),
            Endpoint("GET", host, "/.well-known/risc-configuration", cors: .any, .api, securityConfiguration)
                .known(by: .documented("https://developers.google.com/identity/protocols/risc")),
            Endpoint(
                "GET", host, GoogleProvider.authorizePath, title: "the authorization request", keys: [.google], traits
            ) {
                try signIn.authorize($0, $0.request.queryForm)
            }.step { exchange in
                exchange.request.queryForm["redirect_uri"].flatMap(JavaScriptOrigin.init(relay:)) == nil
                    ? nil : SignInStep(.authorization, "pop-up of Google Identity Services")
            }.known(by: GoogleProvider.authorization),
            Endpoint("GET", host, "/o/oauth2/auth", keys: [.google], traits) {
                try signIn.authorize($0, $0.request.queryForm)
            }.known(by: GoogleProvider.oldAddress),
            Endpoint(
                "POST", host, GoogleProvider.authorizePath, title: "the answer of the consent page", keys: [.google],
                traits, signIn.decideOrAuthorize
            ).known(by: GoogleProvider.authorization),
        ]
    }

    private var tokens: [Endpoint] {
        let (host, tokenHost, apiHost) = ([GoogleProvider.host], [GoogleProvider.tokenHost], [GoogleProvider.apiHost])
        let token = EndpointTraits.api(GoogleError.ofTokens, mints: .google)
        let revocation = EndpointTraits.api(GoogleError.ofRevocation)
        func info(_ version: TokenInfoVersion) -> EndpointTraits {
            .api(GoogleError.ofTokenInfo(isNamed: version.namesErrors))
        }
        return [
            Endpoint("POST", host, "/o/oauth2/token", keys: [.google], token, self.token)
                .known(by: .reported("https://github.com/natelindev/tsdav/issues/130", on: "2022-09")),
            Endpoint("GET", host, "/o/oauth2/revoke", cors: .any, revocation) { try revoke($0, $0.request.queryForm) }
                .known(
                    by: .reported("https://github.com/google/google-api-javascript-client/issues/59", on: "2015-01")),
            Endpoint("POST", host, "/o/oauth2/revoke", cors: .any, revocation, revokeByPost)
                .known(by: GoogleProvider.oldAddress),
            Endpoint(
                "POST", tokenHost, "/token", title: "redeem a code, refresh, or ask for a device's token", cors: .any,
                keys: [.google], token, self.token
            ).remarks(remarks).known(by: GoogleProvider.codeExchange),
            Endpoint("POST", tokenHost, "/revoke", title: "revoke a token", cors: .any, revocation, revokeByPost)
                .known(by: GoogleProvider.revocation),
            Endpoint("POST", apiHost, "/oauth2/v3/token", cors: .any, keys: [.google], token, self.token)
                .known(by: GoogleProvider.oldAddress),
            Endpoint("POST", apiHost, "/oauth2/v4/token", cors: .any, keys: [.google], token, self.token)
                .known(
                    by: .recorded("https://github.com/googleapis/google-api-php-client/issues/1417", on: "2018-04")),
        ]
            + ["GET", "POST"].flatMap { method in
                TokenInfoVersion.allCases.map { version in
                    Endpoint(
                        method, version == .current ? tokenHost : apiHost, version.rawValue,
                        title: method == "GET" && version == .current ? "check a token" : nil, cors: .any,
                        keys: [.google], info(version)
                    ) { tokenInfo($0, version) }.known(by: version.evidence)
                }
            }
    }

    private var devices: [Endpoint] {
        let host = [GoogleProvider.deviceHost]
        let codes = EndpointTraits.api(GoogleError.ofDeviceCodes)
        let asked = SignInStep(.deviceCode, "ask for a device code")
        let page = SignInStep(.page, "open the device page")
        return [
            Endpoint(
                "POST", [GoogleProvider.tokenHost], "/device/code", title: "begin the device flow", step: asked, codes,
                deviceCode
            ).known(by: GoogleProvider.deviceFlow),
            Endpoint("POST", [GoogleProvider.host], "/o/oauth2/device/code", step: asked, codes, deviceCode)
                .known(by: GoogleProvider.oldAddress),
            Endpoint(
                "GET", host, GoogleProvider.devicePath, title: "the page for a device's code", step: page, .page
            ) {
                devicePages.enterCode($0)
            }.known(by: .ownPage),
            Endpoint(
                "POST", host, GoogleProvider.devicePath,
                step: SignInStep(.decision, "answer the device page"), .page
            ) { try devicePages.decide($0) }.known(by: .ownPage),
            // This is the address that Google shows on devices.
            Endpoint("GET", ["google.com"], GoogleProvider.devicePath, step: page, .page) {
                .redirect(to: $0.address.base(of: GoogleProvider.deviceHost) + GoogleProvider.devicePath)
            }.known(by: .reported("https://github.com/anxdpanic/plugin.video.youtube/issues/256", on: "2021-12")),
        ]
    }

    private var profiles: [Endpoint] {
        let traits = EndpointTraits.api(GoogleError.ofUserInfo)
        let old = EndpointTraits.api(APIError.ordered)
        let apiHost = [GoogleProvider.apiHost]
        let person = SignInStep(.userInfo, "ask who it is")
        let people = Endpoint(
            "GET", [GoogleProvider.peopleHost], "/v1/people/me", title: "who signed in, by the People API",
            step: person,
            cors: .any, old, personOfToken
        ).known(by: .documented("https://developers.google.com/people/api/rest/v1/people/get"))
        return [people]
            + ["GET", "POST"].flatMap { method in
                let title = method == "GET" ? "who signed in" : nil
                return [
                    Endpoint(
                        method, [GoogleProvider.userInfoHost], "/v1/userinfo", title: title, cors: .any, traits
                    ) { userInfo($0) }.known(by: GoogleProvider.profile),
                    Endpoint(method, apiHost, "/oauth2/v3/userinfo", title: title, cors: .any, traits) {
                        userInfo($0)
                    }.known(by: GoogleProvider.oldAddress),
                    Endpoint(method, apiHost, "/oauth2/v1/userinfo", cors: .any, old) { userInfo($0, .v1) }
                        .known(by: GoogleProvider.oldAddress),
                    Endpoint(method, apiHost, "/oauth2/v2/userinfo", title: title, cors: .any, old) {
                        userInfo($0, .v2)
                    }.known(by: GoogleProvider.oldAddress),
                    Endpoint(method, apiHost, "/userinfo/v2/me", step: person, cors: .any, old) { userInfo($0, .v2) }
                        .known(
                            by: .reported(
                                "https://github.com/googleapis/google-api-php-client/issues/2420", on: "2023-03")),
                ]
            }
    }

    private var keySets: [Endpoint] {
        let host = [GoogleProvider.apiHost]
        return [
            Endpoint(
                "GET", host, "/oauth2/v3/certs", title: "the keys of ID tokens", cors: .any, keys: [.google],
                .keySet(.google), GoogleProvider.keySet
            ).known(by: GoogleProvider.publicKeys),
            Endpoint(
                "GET", host, "/oauth2/v1/certs", cors: .any, keys: [.google], .certificates(.google),
                GoogleProvider.certificates
            ).known(by: GoogleProvider.publicKeys),
        ]
    }

    func client(named id: String) throws(GoogleError) -> GoogleClient {
        if let client = clients[id] { return client }
        throw GoogleError(
            "invalid_client", "The OAuth client was not found.", status: 401,
            Diagnosis(
                received: "client_id \(Diagnosis.quote(id))",
                "no such client is configured in the seed\(clients.hint(for: id))"))
    }

    /// Refuses a request that is too large, with the token endpoint's error or on Google's error page. Google doesn't
    /// document its own limits.
    package func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response? {
        guard [GoogleProvider.authorizePath, "/o/oauth2/auth"].contains(exchange.address.path) else {
            return GoogleError("invalid_request", "Bad Request", diagnosis).jsonResponse
        }
        return page(GoogleError("invalid_request", nil, diagnosis))
    }

    static func json(_ value: JSONValue, status: Int = 200) -> Response {
        Response(
            status: status, contentType: "application/json; charset=utf-8",
            headers: [(name: "Cache-Control", value: "no-cache, no-store, max-age=0, must-revalidate")],
            body: value.serialized())
    }

    /// Returns Google's `iss` for the tokens in the answer to a request.
    func issuer(_ exchange: Exchange) -> String { settings.issuer.issuer(at: GoogleProvider.host, exchange) }
}

extension GoogleProvider {
    package func token(for wanted: TokenRequest, in exchange: Exchange) throws(ControlRefusal) -> TokenDraft? {
        _ = try clients.client(of: wanted)
        let account = try wanted.person(in: exchange)
        let scopes = GoogleScopes(wanted.scopes ?? ["openid", "email", "profile"])
        let token = IDToken(
            issuer: issuer(exchange), client: wanted.client, account: account,
            details: GoogleGrant.TokenDetails(scopes: scopes, nonce: wanted.nonce, isOffline: false),
            issuedAt: exchange.world.now)
        return TokenDraft(claims: token.claims, owner: .google, type: "JWT")
    }
}

extension GoogleProvider: OffersTrials {
    package func trials(returningTo redirectURI: String) -> [TrialSignIn] {
        clients.all.filter { $0.type == .web && $0.redirectURIs.register(redirectURI) }.map { client in
            TrialSignIn(
                GoogleProvider.title, client: client.id,
                authorization: "/\(GoogleProvider.host)\(GoogleProvider.authorizePath)",
                [("scope", "openid email profile")], token: "/\(GoogleProvider.tokenHost)/token")
        }
    }
}

extension GoogleProvider {
    private static let hosts: Set<String> = [
        host, tokenHost, userInfoHost, apiHost, peopleHost, deviceHost, "google.com",
    ]

    /// Returns Google's error page for an unknown path or HTTP method. The status is 404. For an unknown method at the
    /// host of the sign-in pages, it is 405.
    package func notServed(_ exchange: Exchange) -> Response? {
        let (host, path) = (exchange.address.host ?? "", exchange.address.path)
        // The paths below belong to Firebase.
        guard GoogleProvider.hosts.contains(host), !path.hasPrefix("/identitytoolkit/") else { return nil }
        let method = exchange.request.method
        let isOtherMethod =
            host == GoogleProvider.host && endpoints.contains { $0.hosts.contains(host) && $0.path == path }
        let diagnosis = Diagnosis(
            received: Diagnosis.quote("\(method) \(path)"), notServedAdvice(host, path))
        guard isOtherMethod else {
            return GoogleProvider.page(
                404, "Error 404 (Not Found)!!1",
                "404. That's an error. The requested URL \(path) was not found on this server. That's all we know.",
                diagnosis)
        }
        return GoogleProvider.page(
            405, "Error 405 (Method Not Allowed)!!1",
            "405. That's an error. The request method \(method) is inappropriate for the URL \(path). That's all we know.",
            diagnosis)
    }

    private func notServedAdvice(_ host: String, _ path: String) -> String {
        let methods = endpoints.filter { $0.hosts.contains(host) && $0.path == path }.map(\.method)
        if !methods.isEmpty {
            return "nothing is served here with this method: send \(methods.joined(separator: " or "))"
        }
        return "nothing is served at this address: only the parts of Google that sign-in needs are"
    }

    private static func page(_ status: Int, _ title: String, _ text: String, _ diagnosis: Diagnosis) -> Response {
        let page = HTML.tag(
            "html", [("lang", "en")], .tag("head", [], .tag("meta", [("charset", "utf-8")]), .tag("title", [], title)),
            .tag("body", [], .tag("p", [], text)))
        return Response(status: status, contentType: "text/html; charset=UTF-8", body: page.document)
            .diagnosed(diagnosis).known(by: evidence.ofError(String(status), title))
    }
}

// GET https://accounts.google.com/.well-known/openid-configuration, and the keys
//
// Quirk: the keys are published in two forms, a key set at /oauth2/v3/certs and certificates at /oauth2/v1/certs.

extension GoogleProvider {
    private static let document = DiscoveryDocument(Texts.discovery)

    func discovery(_ exchange: Exchange) -> Response {
        // "Standard HTTP caching headers are used and should be respected." The time isn't documented.
        GoogleProvider.cached(
            seconds: 3600, GoogleProvider.document.filled(for: exchange, ["issuer": issuer(exchange)]))
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
                .known(by: evidence.ofError("internal"))
        }
    }

    private static func cached(seconds: Int, _ value: JSONValue) -> Response {
        Response(
            status: 200, contentType: "application/json; charset=UTF-8",
            headers: [(name: "Cache-Control", value: "public, max-age=\(seconds), must-revalidate, no-transform")],
            body: value.serialized())
    }
}

extension Look {
    /// The look of Google's pages: a large rounded card on pale blue. On wide screens, the question is beside the
    /// choices.
    static let google = Look(name: "Google", style: StyleSheets.look)
}

extension PageWords {
    static let google = PageWords(Texts.words, of: "Google")
}
