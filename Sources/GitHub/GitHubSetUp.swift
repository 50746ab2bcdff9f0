import EmulatorCore
import JOSE
import JSON

// The guide, in Assets, repeats parts of docs/backend.md and docs/clients.md.

extension GitHubProvider {
    package func setUpGuides(at place: SetUpPlace) -> [SetUpGuide] { SetUpGuide.read(Texts.setup, at: place) }
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
        let callbacks = client.redirectURI.map { [$0] } ?? ["http://localhost/", "http://127.0.0.1/"]
        let handlers = start.projectRedirectURIs
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
            "The OAuth app `\(id)` and where it may be returned to; the device flow is on. \(about)"
        )
    }
}
