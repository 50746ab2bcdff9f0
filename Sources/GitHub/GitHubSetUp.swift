import EmulatorCore
import JOSE
import JSON

// The guides repeat parts of docs/backend.md and docs/clients.md.

extension GitHubProvider {
    package func setUpGuides(at place: SetUpPlace) -> [SetUpGuide] {
        let (host, api) = (GitHubProvider.host, GitHubProvider.apiHost)
        let addresses = [
            (name: "authorization", value: place.url(host, "/login/oauth/authorize")),
            (name: "token", value: place.url(host, "/login/oauth/access_token")),
            (name: "device codes", value: place.url(host, "/login/device/code")),
            (name: "REST", value: place.url(api)), (name: "Enterprise's", value: place.url(host, "/api/v3")),
        ]
        let libraries = [
            SetUpGuide.Library("django-allauth", "\"GITHUB_URL\": \"\(place.url(host))\""),
            SetUpGuide.Library(
                "omniauth-github",
                """
                client_options: {
                  site: "\(place.url(host, "/api/v3"))",
                  authorize_url: "\(place.url(host, "/login/oauth/authorize"))",
                  token_url: "\(place.url(host, "/login/oauth/access_token"))"
                }
                """),
            SetUpGuide.Library(
                "passport-github2",
                """
                authorizationURL: "\(place.url(host, "/login/oauth/authorize"))",
                tokenURL: "\(place.url(host, "/login/oauth/access_token"))",
                userProfileURL: "\(place.url(api, "/user"))",
                userEmailURL: "\(place.url(api, "/user/emails"))"
                """),
            SetUpGuide.Library("Auth.js", "GitHub({ enterprise: { baseUrl: \"\(place.url(host))\" } })"),
            SetUpGuide.Library("octokit", "baseUrl: \"\(place.url(host, "/api/v3"))\""),
            SetUpGuide.Library("PyGithub", "Github(auth=…, base_url=\"\(place.url(host, "/api/v3"))\")"),
            SetUpGuide.Library("supabase/auth", "GOTRUE_EXTERNAL_GITHUB_URL=\(place.url(host))"),
        ]
        return [
            SetUpGuide(
                id: "github", title: "GitHub",
                about: "For a backend that signs people in with GitHub, and for programs that use the device flow.",
                steps: [
                    SetUpGuide.Step("Give your code these addresses.", values: addresses),
                    SetUpGuide.Step(
                        "Token answers are forms unless you ask for JSON, with Accept: application/json. The person goes to "
                            + "this page with a device's code:", place.url(host, "/login/device")),
                    SetUpGuide.Step(
                        "Clients that know only GitHub Enterprise's layout find it below the first address of the libraries."
                    ),
                ], libraries: libraries, document: "backend.md"
            ) { [host, api].contains($0.host) }
        ]
    }
}

extension GitHubProvider {
    private static let testSecret = "github-secret-for-tests"

    package static func trace(in app: AppConfiguration) -> AppTrace {
        app.client("GITHUB").id == nil ? .nothing : .client
    }

    package static func begin(_ start: inout StartingSeed) throws(KeyError) {
        guard start.includes(GitHubSection.name) else { return }
        let client = start.app.client("GITHUB")
        let id = client.id ?? "Ov23liUnderstudy0001"
        // On a loopback address, GitHub accepts any port and any path below this one.
        let callbacks = ["http://localhost/", "http://127.0.0.1/"] + [client.redirectURI].compactMap { $0 }
        let handlers = start.redirectURIs.filter { $0.hasPrefix("https://") }
        var members: [(String, JSONValue)] = [("name", "Example"), ("clientID", .string(id))]
        if client.secret == nil { members.append(("clientSecret", .string(testSecret))) }
        members += [
            ("callbackURLs", .array((callbacks + handlers.prefix(5)).map { .string($0) })), ("deviceFlow", true),
        ]
        let about =
            client.secret == nil
            ? "Its secret is `\(testSecret)`."
            : "Its secret is in `\(StartingSeed.secretsFile)`; without that file it is `\(testSecret)`."
        if let secret = client.secret {
            start.addSecrets(
                GitHubSection.name, ["oauthApps": [["clientID": .string(id), "clientSecret": .string(secret)]]])
        }
        start.add(
            GitHubSection.name, ["oauthApps": [.object(JSONObject(members))]],
            "The OAuth app `\(id)`: it may be returned to any port of this machine, and the device flow is on. \(about)"
        )
    }
}
