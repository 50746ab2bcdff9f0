import EmulatorCore
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
