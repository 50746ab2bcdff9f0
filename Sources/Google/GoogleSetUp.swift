import EmulatorCore
import JOSE
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

extension GoogleProvider {
    package static func trace(in app: AppConfiguration) -> AppTrace {
        client(of: app).id == nil ? .nothing : .client
    }

    /// Returns the client in an app's configuration. Beside variables, `GoogleService-Info.plist` has `CLIENT_ID`;
    /// `google-services.json` and the files of Google's console have `client_id`.
    private static func client(of app: AppConfiguration) -> AppConfiguration.Client {
        let named = app.client("GOOGLE")
        return AppConfiguration.Client(
            id: named.id ?? unnamedIDs(of: app).first, secret: named.secret ?? app["client_secret"],
            redirectURI: named.redirectURI ?? app["redirect_uris"])
    }

    private static func unnamedIDs(of app: AppConfiguration) -> [String] {
        app.all("CLIENT_ID", "client_id").filter { $0.hasSuffix(".apps.googleusercontent.com") }
    }

    /// Adds the clients. A web app's `messagingSenderId` is the number with which its project's client IDs begin.
    /// <https://firebase.google.com/docs/projects/learn-more#config-files-objects>
    package static func begin(_ start: inout StartingSeed) throws(KeyError) {
        guard start.includes(GoogleSection.name) else { return }
        let number = start.app["messagingSenderId", "FIREBASE_MESSAGING_SENDER_ID", "GCM_SENDER_ID"]
        let words = StartingSeed.ClientWords(
            section: GoogleSection.name, noun: "client",
            exampleID: "\(number ?? "example")-understudy.apps.googleusercontent.com",
            testSecret: "google-secret-for-tests")
        let client = client(of: start.app)
        let others = unnamedIDs(of: start.app).filter { $0 != client.id }.map {
            AppConfiguration.Client(id: $0, secret: nil, redirectURI: nil)
        }
        let clients = ([client] + others).map { ($0, app: $0.id.flatMap { appClient($0, in: start.app) }) }
        // A backend's client is the audience of its apps' ID tokens, and comes first.
        for (client, app) in clients.filter({ $0.app == nil }) + clients.filter({ $0.app != nil }) {
            start.addClient(
                words, client,
                paths: [
                    "/api/auth/callback/google", "/auth/callback/google", "/auth/google/callback",
                    "/auth/google_oauth2/callback", "/accounts/google/login/callback/", "/login/oauth2/code/google",
                ], app: app)
        }
    }

    /// Returns the type of client in an app's configuration; `nil` for a web client. Only an iOS app's property list
    /// has the reversed ID. In `google-services.json`, 1 is an Android app and 2 an iOS app
    /// (<https://developers.google.com/android/guides/google-services-plugin>). The file of Google's console for a
    /// desktop app has "installed" (<https://developers.google.com/identity/protocols/oauth2/native-app#creatingcred>).
    private static func appClient(_ id: String, in app: AppConfiguration) -> StartingSeed.AppClient? {
        func client(_ type: GoogleClient.Kind, _ appID: String? = nil) -> StartingSeed.AppClient {
            let appID = appID.map { [("appID", JSONValue.string($0))] } ?? []
            return StartingSeed.AppClient([("type", .string(type.rawValue))] + appID, hasSecret: type.hasSecret)
        }
        if app.all("REVERSED_CLIENT_ID").contains(GoogleClient.reversed(id)) { return client(.ios, app["BUNDLE_ID"]) }
        for (name, object) in app.objects(where: "client_id", is: id) {
            if name == "installed" { return client(.desktop) }
            switch object["client_type"]?.integer {
            case 1: return client(.android, object["android_info"]?["package_name"]?.string)
            case 2: return client(.ios, object["ios_info"]?["bundle_id"]?.string)
            default: break
            }
        }
        return nil
    }
}
