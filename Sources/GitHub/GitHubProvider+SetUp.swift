import EmulatorCore

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
