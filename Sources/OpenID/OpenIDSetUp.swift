import EmulatorCore
import JOSE
import JSON

// The guide, in Assets, repeats parts of docs/openid.md.

extension OpenIDProvider {
    /// Returns a set-up guide (how to configure an app) for each issuer in the seed.
    package func setUpGuides(at place: SetUpPlace) -> [SetUpGuide] {
        issuers.flatMap { issuer in
            SetUpGuide.read(
                Texts.setup, at: place,
                [
                    "id": SetUpGuide.name(issuer.id), "name": issuer.name, "here": place.base + issuer.alias.prefix,
                    "issuer": issuer.host + issuer.path, "otherIssuer": issuer.followsRequest ? nil : "",
                ])
        }
    }
}

extension OpenIDProvider {
    private static let testSecret = "openid-secret-for-tests"
    private static let names = ["OIDC", "OPENID"]

    private static func client(of app: AppConfiguration) -> AppConfiguration.Client {
        names.lazy.map { app.client($0) }.first { $0.id != nil } ?? app.client("OIDC")
    }

    private static func issuer(of app: AppConfiguration) -> String? {
        app[names.flatMap { ["\($0)_ISSUER", "\($0)_ISSUER_URL", "AUTH_\($0)_ISSUER"] }]
    }

    package static func trace(in app: AppConfiguration) -> AppTrace {
        client(of: app).id == nil && issuer(of: app) == nil ? .nothing : .client
    }

    /// Adds an issuer to a new seed (the test data), unless the app's configuration has nothing of OpenID Connect. The
    /// issuer's URL is the https URL of the issuer in that configuration, or else an example.
    package static func begin(_ start: inout StartingSeed) throws(KeyError) {
        guard start.includes(OpenIDSection.name, ifNamed: true) else { return }
        let client = client(of: start.app)
        let id = client.id ?? "web"
        // An issuer on this machine is the address of another server, not a name that can be played.
        let named = issuer(of: start.app).flatMap { $0.hasPrefix("https://") ? $0 : nil }
        var member = JSONObject([("clientID", .string(id))])
        if client.secret == nil { member["clientSecret"] = .string(testSecret) }
        member["redirectURIs"] = start.redirectURIs(
            client.redirectURI,
            paths: ["/api/auth/callback/oidc", "/auth/callback/oidc", "/accounts/oidc/login/callback/"])
        member["postLogoutRedirectURIs"] = ["http://localhost:*/"]
        let issuer = JSONObject([
            ("id", "corp"), ("name", "Example Corp"), ("issuer", .string(named ?? "https://login.corp.example")),
            ("issuerFollowsRequest", true), ("clients", [.object(member)]),
        ])
        if let secret = client.secret {
            let secrets: JSONValue = ["clientID": .string(id), "clientSecret": .string(secret)]
            start.addSecrets(OpenIDSection.name, ["issuers": [["id": "corp", "clients": [secrets]]]])
        }
        let secret =
            client.secret == nil ? "Its secret is `\(testSecret)`." : "Its secret is in `\(StartingSeed.secretsFile)`."
        start.add(
            OpenIDSection.name, ["issuers": [.object(issuer)]],
            "An issuer of your own, at `http://localhost:9099/oidc/corp`, with the client `\(id)`. \(secret)")
    }
}
