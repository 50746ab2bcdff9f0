import Foundation
import Understudy

/// A world of the built-in seed, merged with `seed`, with shorthand for requests to GitHub.
package final class GitHubFixture: Sendable {
    package static let web = "/github.com"
    package static let api = "/api.github.com"
    package static let control = "/_understudy/v1"
    /// A client that is answered automatically for Ada.
    package static let automatic = "Ov23liAutoAnswers001"
    /// A client whose sign-ins ask on a page.
    package static let asking = "Iv1.0123456789abcdef"
    package static let gitHubApp = "Iv23liGitHubApp00001"
    package static let suspended = "Ov23liSuspended00001"
    package static let secret = "github-secret-for-tests"
    package static let callback = "https://example.com/callback"
    package static let askingCallback = "http://localhost:3000/callback"
    package static let deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"
    package static let issuer = "https://github.com/login/oauth"

    package let server: TestServer
    package let client: TestClient

    /// Makes a world. With `isAlone`, it gets a daemon of its own.
    package init(seed: String? = nil, isAlone: Bool = false) throws {
        let seeds: [SeedInput] =
            [.builtIn] + (seed.map { [.json($0, directory: "\(Repository.root)/seed-data")] } ?? [])
        server = try isAlone ? TestServer.start(seeds: seeds) : TestServer.world(seeds: seeds)
        client = TestClient(port: server.port)
    }

    deinit { server.stop() }

    package func order(_ outcome: [String: Any]) throws {
        let answer = try client.post(
            "\(GitHubFixture.control)/outcomes", json: outcome.merging(["provider": "github"]) { $1 })
        guard answer.status == 201 || answer.status == 200 else { throw TransportError(reason: "\(answer)") }
    }

    /// Stops the world's clock at the present time. Tests do this before steps that must happen at one moment or within
    /// a lifetime, even on a busy machine.
    package func freeze() throws {
        _ = try client.post("\(GitHubFixture.control)/clock", json: ["freeze": true])
    }

    package func advance(_ duration: String) throws {
        _ = try client.post("\(GitHubFixture.control)/clock", json: ["advance": duration])
    }

    // MARK: - The web flow

    package static func authorizePath(_ parameters: [String: String?] = [:]) -> String {
        var form: [String: String] = ["client_id": automatic, "redirect_uri": callback, "state": "s 1"]
        for (name, value) in parameters { form[name] = value }
        return "\(web)/login/oauth/authorize?\(TestClient.encode(form))"
    }

    package func authorize(_ parameters: [String: String?] = [:], headers: [String: String] = [:]) throws -> Answer {
        try client.get(GitHubFixture.authorizePath(parameters), headers: headers)
    }

    package func code(_ parameters: [String: String?] = [:]) throws -> String {
        try authorize(parameters).redirect["code"] ?? ""
    }

    /// Redeems a code, answered in JSON. Parameters are replaced or, with `nil`, removed.
    package func exchange(
        _ parameters: [String: String?], headers: [String: String] = ["Accept": "application/json"]
    ) throws -> Answer {
        var form: [String: String] = [
            "client_id": GitHubFixture.automatic, "client_secret": GitHubFixture.secret,
        ]
        for (name, value) in parameters { form[name] = value }
        return try client.post("\(GitHubFixture.web)/login/oauth/access_token", form: form, headers: headers)
    }

    /// Returns a token for a person, by an ordered approval and an exchange.
    package func token(
        scope: String? = nil, client clientID: String = automatic, account: String = "ada"
    ) throws -> String {
        try order(["outcome": "approve", "account": account, "client": clientID])
        let code = try code(["client_id": clientID, "scope": scope, "redirect_uri": nil])
        return try exchange(["client_id": clientID, "code": code])["access_token"] ?? ""
    }

    // MARK: - REST

    package func get(_ path: String, token: String? = nil, headers: [String: String] = [:]) throws -> Answer {
        try call("GET", path, token: token, headers: headers)
    }

    package func call(
        _ method: String, _ path: String, token: String? = nil, headers: [String: String] = [:], json: Any? = nil
    ) throws -> Answer {
        var all = ["User-Agent": "understudy-tests"]
        if let token { all["Authorization"] = "Bearer \(token)" }
        if json != nil { all["Content-Type"] = "application/json" }
        let body = try json.map { Array(try JSONSerialization.data(withJSONObject: $0)) } ?? []
        return try client.request(
            method, "\(GitHubFixture.api)\(path)", headers: all.merging(headers) { $1 }, body: body)
    }

    /// Returns the header of an app that authenticates with its secret.
    package static func basic(_ clientID: String = automatic, secret: String = secret) -> [String: String] {
        ["Authorization": "Basic \(Data("\(clientID):\(secret)".utf8).base64EncodedString())"]
    }
}

extension Answer {
    /// The body as a JSON array of objects.
    package var list: [[String: Any]] {
        (try? JSONSerialization.jsonObject(with: Data(body)) as? [[String: Any]]) ?? []
    }

    /// The body as a form.
    package var form: [String: String] { Answer.fields(text) }
}

extension TestBrowser {
    package convenience init(_ fixture: GitHubFixture) { self.init(fixture.client) }

    package func signIn(as account: String) throws {
        _ = try post("\(GitHubFixture.web)/session", ["account": account, "return_to": "/settings/applications"])
    }
}
