import EmulatorCore
import JSON

// The guides repeat parts of docs/backend.md and docs/clients.md.

extension GoogleProvider {
    package func setUpGuides(at place: SetUpPlace) -> [SetUpGuide] { [web(place), native(place)] }

    private func web(_ place: SetUpPlace) -> SetUpGuide {
        let (host, api) = (GoogleProvider.host, GoogleProvider.apiHost)
        let addresses = [
            (name: "discovery", value: place.url(host, "/.well-known/openid-configuration")),
            (name: "authorization", value: place.url(host, GoogleProvider.authorizePath)),
            (name: "token", value: place.url(GoogleProvider.tokenHost, "/token")),
            (name: "revocation", value: place.url(GoogleProvider.tokenHost, "/revoke")),
            (name: "person", value: place.url(GoogleProvider.userInfoHost, "/v1/userinfo")),
            (name: "keys", value: place.url(api, "/oauth2/v3/certs")),
        ]
        return SetUpGuide(
            id: "google", title: "Google on the web",
            about: "For a web app, and for the backend that redeems codes and verifies ID tokens.",
            steps: [
                SetUpGuide.Step(
                    "Give your code the discovery document's address, or each address.",
                    values: addresses),
                SetUpGuide.Step(
                    "Tokens are issued by https://\(host). For clients that compare the issuer with the address at which they "
                        + "discovered it, put this into the seed.", #"{"google": {"issuer": "request"}}"#),
            ], libraries: libraries(place), document: "clients.md"
        ) { exchange in
            exchange.host.map { [host, GoogleProvider.tokenHost, GoogleProvider.userInfoHost].contains($0) } ?? false
        }
    }

    private func libraries(_ place: SetUpPlace) -> [SetUpGuide.Library] {
        let (host, api) = (GoogleProvider.host, GoogleProvider.apiHost)
        let authorization = place.url(host, GoogleProvider.authorizePath)
        let token = place.url(GoogleProvider.tokenHost, "/token")
        let discovery = place.url(host, "/.well-known/openid-configuration")
        return [
            SetUpGuide.Library(
                "django-allauth",
                """
                "AUTHORIZE_URL": "\(authorization)",
                "ACCESS_TOKEN_URL": "\(token)",
                "IDENTITY_URL": "\(place.url(api, "/oauth2/v2/userinfo"))",
                "CERTS_URL": "\(place.url(api, "/oauth2/v1/certs"))"
                """),
            SetUpGuide.Library("Authlib", "server_metadata_url=\"\(discovery)\""),
            SetUpGuide.Library(
                "passport-google-oauth20",
                """
                authorizationURL: "\(authorization)",
                tokenURL: "\(token)",
                userProfileURL: "\(place.url(api, "/oauth2/v3/userinfo"))"
                """),
            SetUpGuide.Library("Auth.js", "Google({ issuer: \"\(place.url(host))\" })  // and \"issuer\": \"request\""),
            SetUpGuide.Library(
                "golang.org/x/oauth2",
                "oauth2.Endpoint{\n    AuthURL: \"\(authorization)\",\n    TokenURL: \"\(token)\",\n}"),
            SetUpGuide.Library(
                "Spring Security",
                """
                spring.security.oauth2.client.provider.google.authorization-uri=\(authorization)
                spring.security.oauth2.client.provider.google.token-uri=\(token)
                spring.security.oauth2.client.provider.google.user-info-uri=\(place.url(api, "/oauth2/v3/userinfo"))
                spring.security.oauth2.client.provider.google.jwk-set-uri=\(place.url(api, "/oauth2/v3/certs"))
                """),
            SetUpGuide.Library(
                "omniauth-google-oauth2, google-auth", "# some addresses are written in: see “Unchanged clients”"),
        ]
    }

    private func native(_ place: SetUpPlace) -> SetUpGuide {
        let client = place.seed[GoogleSection.self].seededClients.first?.id ?? "YOUR.apps.googleusercontent.com"
        let body: JSONValue = ["client": .string(client), "scopes": ["openid", "email", "profile"]]
        let path = "\(Endpoint.controlRoot)/google/authorizations"
        return SetUpGuide(
            id: "google-native", title: "Google's SDK on a device",
            about: "For Google Sign-In on iOS and Android, with a test in the place of the device.",
            steps: [
                SetUpGuide.Step(
                    "Replace one thing in tests: where the app gets the SDK's result, send this request. Its answer is what the "
                        + "SDK would deliver.",
                    "curl \(ShellWord.quoted("\(place.base)\(path)")) -d \(ShellWord.quoted(body.text))")
            ], document: "clients.md"
        ) { $0.path == path }
    }
}
