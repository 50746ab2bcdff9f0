import EmulatorCore
import JOSE
import JSON

// The guides repeat parts of docs/backend.md and docs/clients.md.

extension FacebookProvider {
    package func setUpGuides(at place: SetUpPlace) -> [SetUpGuide] { [web(place), native(place)] }

    private func web(_ place: SetUpPlace) -> SetUpGuide {
        let (host, graph) = (FacebookProvider.host, FacebookProvider.graphHost)
        let dialog = place.url(host, "/v19.0/dialog/oauth")
        let token = place.url(graph, "/v19.0/oauth/access_token")
        let addresses = [
            (name: "dialog", value: dialog), (name: "token", value: token),
            (name: "person", value: place.url(graph, "/v19.0/me")),
            (name: "keys", value: place.url(host, "/.well-known/oauth/openid/jwks/")),
        ]
        return SetUpGuide(
            id: "facebook", title: "Facebook on the web",
            about: "For a web app with Facebook Login, and for its backend.",
            steps: [
                SetUpGuide.Step(
                    "Give your code these addresses, with any version or none.", values: addresses),
                SetUpGuide.Step(
                    "Send the app ID and the app secret as fields of the token request, or by HTTP Basic."),
            ],
            libraries: [
                SetUpGuide.Library(
                    "django-allauth",
                    "\"AUTHORIZE_URL\": \"\(dialog)\",\n\"GRAPH_API_URL\": \"\(place.url(graph, "/v19.0"))\""),
                SetUpGuide.Library(
                    "omniauth-facebook",
                    "client_options: {\n  site: \"\(place.url(graph, "/v19.0"))\",\n  authorize_url: \"\(dialog)\"\n}"),
                SetUpGuide.Library(
                    "passport-facebook",
                    """
                    authorizationURL: "\(dialog)",
                    tokenURL: "\(token)",
                    profileURL: "\(place.url(graph, "/v19.0/me"))"
                    """),
                SetUpGuide.Library(
                    "Auth.js",
                    """
                    Facebook({
                      authorization: { url: "\(dialog)" },
                      token: "\(place.url(graph, "/oauth/access_token"))",
                      userinfo: { url: "\(place.url(graph, "/me?fields=id,name,email,picture"))" },
                    })
                    """),
            ], document: "clients.md"
        ) { [host, graph].contains($0.host) }
    }

    private func native(_ place: SetUpPlace) -> SetUpGuide {
        let app = place.seed[FacebookSection.self].seededClients.first?.id ?? "YOUR-APP-ID"
        let body: JSONValue = ["client": .string(app), "scopes": ["public_profile", "email"]]
        let path = "\(Endpoint.controlRoot)/facebook/authorizations"
        return SetUpGuide(
            id: "facebook-native", title: "Facebook's SDK on a device",
            about: "For Facebook Login on iOS and Android, with a test in the place of the device.",
            steps: [
                SetUpGuide.Step(
                    "Replace one thing in tests: where the app gets the SDK's result, send this request. With "
                        + "\"tracking\": \"limited\" it is Limited Login.",
                    "curl \(ShellWord.quoted("\(place.base)\(path)")) -d \(ShellWord.quoted(body.text))")
            ], document: "clients.md"
        ) { $0.path == path }
    }
}

extension FacebookProvider {
    package static func trace(in app: AppConfiguration) -> AppTrace {
        app.client("FACEBOOK", noun: "APP").id == nil ? .nothing : .client
    }

    package static func begin(_ start: inout StartingSeed) throws(KeyError) {
        guard start.includes(FacebookSection.name) else { return }
        start.addClient(
            .init(
                section: FacebookSection.name, noun: "app", exampleID: "1234567890",
                testSecret: "facebook-secret-for-tests"),
            start.app.client("FACEBOOK", noun: "APP"),
            paths: [
                "/api/auth/callback/facebook", "/auth/callback/facebook", "/auth/facebook/callback",
                "/accounts/facebook/login/callback/", "/login/oauth2/code/facebook",
            ])
    }
}
