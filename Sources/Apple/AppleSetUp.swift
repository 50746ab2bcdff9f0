import EmulatorCore
import JOSE
import JSON

// The guides repeat parts of docs/ios.md, docs/web.md, docs/backend.md and docs/clients.md.

extension AppleProvider {
    package func setUpGuides(at place: SetUpPlace) -> [SetUpGuide] { [native(place), web(place)] }

    private func native(_ place: SetUpPlace) -> SetUpGuide {
        let app = settings.teams.lazy.flatMap(\.apps).first?.bundleID ?? "YOUR.BUNDLE.ID"
        let control = "\(place.base)\(Endpoint.controlRoot)"
        let request: JSONValue = [
            "client": .string(app), "scopes": ["fullName", "email"], "nonce": "SHA-256-OF-THE-RAW-NONCE",
        ]
        let cancel: JSONValue = ["provider": .string(name), "client": .string(app), "outcome": "cancel"]
        return SetUpGuide(
            id: "apple-native", title: "Sign in with Apple in an app",
            about: "For AuthenticationServices on iOS, macOS and their like, with a test in the place of the device.",
            steps: [
                SetUpGuide.Step(
                    "A device asks its own system, not the network, when somebody touches the button. So replace one thing "
                        + "in tests: where the app gets its ASAuthorizationAppleIDCredential, send this request. Its answer has "
                        + "the credential's properties. The nonce is what the app puts into request.nonce: the SHA-256 of the "
                        + "raw nonce, in lower-case hex.",
                    "curl \(ShellWord.quoted("\(control)/apple/authorizations")) -d \(ShellWord.quoted(request.text))"),
                SetUpGuide.Step(
                    "A person who cancels is the error 1001, as on the device. Order it for the next sign-in:",
                    "curl \(ShellWord.quoted("\(control)/outcomes")) -d \(ShellWord.quoted(cancel.text))"),
                SetUpGuide.Step(
                    "What getCredentialState(forUserID:) would say, of the user that the first answer names:",
                    "curl \(ShellWord.quoted("\(control)/apple/credential-state?client=\(app)&user=USER"))"),
                SetUpGuide.Step("Everything behind the credential stays as it is: your backend is the next guide."),
            ], document: "ios.md"
        ) { $0.path == "\(Endpoint.controlRoot)/apple/authorizations" }
    }

    private func web(_ place: SetUpPlace) -> SetUpGuide {
        let host = AppleProvider.host
        let service = settings.teams.lazy.flatMap(\.services).first?.id ?? "YOUR.SERVICES.ID"
        let addresses = [
            (name: "authorization", value: place.url(host, "/auth/authorize")),
            (name: "token", value: place.url(host, "/auth/token")),
            (name: "revocation", value: place.url(host, "/auth/revoke")),
            (name: "keys", value: place.url(host, "/auth/keys")),
            (name: "discovery", value: place.url(host, "/.well-known/openid-configuration")),
        ]
        return SetUpGuide(
            id: "apple-web", title: "Sign in with Apple on the web",
            about: "For a web app and for the backend that redeems authorization codes, an iOS app's too.",
            steps: [
                SetUpGuide.Step("Give your code these addresses.", values: addresses),
                SetUpGuide.Step(
                    "The client secret is an ES256 JWT, and verified in full. Sign it with a key whose public half is in the "
                        + "seed, or have the test team's key sign one:",
                    "understudy client-secret \(ShellWord.quoted(service))"),
                SetUpGuide.Step(
                    "With response_mode=form_post the answer is posted from another site, so browsers leave cookies with "
                        + "SameSite=Lax behind. Keep state in a cookie with SameSite=None; Secure, or on the server."),
                SetUpGuide.Step(
                    "Tokens are issued by https://\(host). For clients that compare the issuer with the address at which they "
                        + "discovered it, put this into the seed.", #"{"apple": {"issuer": "request"}}"#),
            ],
            libraries: [
                SetUpGuide.Library(
                    "passport-apple",
                    "authorizationURL: \"\(place.url(host, "/auth/authorize"))\",\ntokenURL: \"\(place.url(host, "/auth/token"))\""
                ),
                SetUpGuide.Library("Auth.js", "Apple({ issuer: \"\(place.url(host))\" })"),
                SetUpGuide.Library("PyJWT", "PyJWKClient(\"\(place.url(host, "/auth/keys"))\")"),
                SetUpGuide.Library(
                    "django-allauth",
                    """
                    # in an app's ready()
                    AppleOAuth2Adapter.authorize_url = "\(place.url(host, "/auth/authorize"))"
                    AppleOAuth2Adapter.access_token_url = "\(place.url(host, "/auth/token"))"
                    AppleOAuth2Adapter.public_key_url = "\(place.url(host, "/auth/keys"))"
                    """),
                SetUpGuide.Library(
                    "omniauth-apple, social-auth-core", "# its addresses are written in: see “Unchanged clients”"),
            ], document: "web.md"
        ) { $0.host == host }
    }
}

extension AppleProvider {
    private static let services = ["APPLE_SERVICES_ID", "APPLE_SERVICE_ID", "APPLE_WEB_CLIENT_ID"]
    private static let bundles = ["APPLE_BUNDLE_ID", "APPLE_APP_ID", "BUNDLE_ID"]
    private static let privateKeys = ["APPLE_PRIVATE_KEY", "APPLE_KEY", "AUTH_APPLE_PRIVATE_KEY"]

    package static func trace(in app: AppConfiguration) -> AppTrace {
        let names = ["APPLE_TEAM_ID", "APPLE_KEY_ID"] + services
        return app.client("APPLE").id == nil && app[names] == nil ? .nothing : .client
    }

    /// Adds a team with a key, an app and a Services ID. Of a key in the app's configuration, only the public half is
    /// used.
    package static func begin(_ start: inout StartingSeed) throws(KeyError) {
        guard start.includes(AppleSection.name) else { return }
        let client = start.app.client("APPLE")
        let bundle = start.app[bundles] ?? "com.example.app"
        let service = start.app[services] ?? client.id ?? "\(bundle).web"
        let app = service == bundle ? "\(bundle).app" : bundle
        let team = start.app["APPLE_TEAM_ID", "TEAM_ID"] ?? "UNDERSTUDY"
        let id = start.app["APPLE_KEY_ID", "AUTH_APPLE_KEY_ID"] ?? "TESTKEY001"
        let returnURLs = start.redirectURIs(
            client.redirectURI,
            paths: [
                "/api/auth/callback/apple", "/auth/callback/apple", "/auth/apple/callback",
                "/accounts/apple/login/callback/", "/login/oauth2/code/apple",
            ])
        let key = try key(id, &start)
        start.describe(person: "grace", as: AppleProfile.name, ["shareEmail": false])
        start.add(
            AppleSection.name,
            [
                "teams": [
                    [
                        "id": .string(team), "keys": [key.json], "apps": [["bundleID": .string(app)]],
                        "services": [
                            [
                                "id": .string(service), "primaryApp": .string(app), "returnURLs": returnURLs,
                                "allowInsecureReturnURLs": true,
                            ]
                        ],
                        "relay": ["domains": .array(mailDomains(returnURLs).map { .string($0) })],
                    ]
                ]
            ],
            "The team `\(team)` with the app `\(app)`, the Services ID `\(service)`, which may be returned to this machine, "
                + "and the key `\(id)`, which client secrets are signed with. \(key.about) `grace` hides her address: who may mail her, `relay` says."
        )
    }

    /// Returns the domains from which the app may send mail to relay addresses: the hosts of its return URLs.
    private static func mailDomains(_ returnURLs: JSONValue) -> [String] {
        let hosts = (returnURLs.array ?? []).compactMap { url -> String? in
            guard let url = url.string, url.hasPrefix("https://") else { return nil }
            let host = url.dropFirst("https://".count).prefix { !"/:?#".contains($0) }
            return host == "localhost" ? nil : host.lowercased()
        }
        return Set(hosts + ["example.com"]).sorted()
    }

    private static func key(
        _ id: String, _ start: inout StartingSeed
    ) throws(KeyError) -> (json: JSONValue, about: String) {
        let path = "keys/AuthKey_\(id)"
        let own = start.app[privateKeys].flatMap { try? Key(pem: Array($0.utf8)) }
        let key: Key
        if let own { key = own } else { key = try Key.generateP256() }
        let publicKey = ("publicKeyFile", JSONValue.string("\(path).pub.pem"))
        guard own == nil else {
            start.addFile("\(path).pub.pem", try key.publicPEM())
            return (
                .object(JSONObject([("id", .string(id)), publicKey])),
                "Its public half is the one of the app's own key, which stays where it is."
            )
        }
        start.addFile("\(path).p8", try key.pem(), isPrivate: true)
        start.addFile("\(path).pub.pem", try key.publicPEM())
        return (
            .object(
                JSONObject([("id", .string(id)), publicKey, ("privateKeyFile", .string("\(path).p8"))])),
            "`\(path).p8` is a test key, made for this seed, that works with nothing real: give it to the app in place of "
                + "Apple's, or print a secret with `understudy client-secret`."
        )
    }
}
