import Foundation
import JOSE
import JSON
import TestSupport
import Testing

@Suite("GitHub: token management and webhooks")
struct TokenManagementTests {
    let fixture: GitHubFixture

    init() throws { fixture = try GitHubFixture() }

    private let path = "/applications/\(GitHubFixture.automatic)"

    private func manage(
        _ method: String, _ path: String, _ body: Any?, headers: [String: String] = GitHubFixture.basic()
    ) throws -> Answer {
        try fixture.call(method, path, headers: headers, json: body)
    }

    @Test("check: the whole authorization")
    func check() throws {
        let token = try fixture.token(scope: "user gist")
        let answer = try manage("POST", "\(path)/token", ["access_token": token])
        #expect(answer.status == 200)
        #expect(answer["token"] == token)
        #expect(answer["token_last_eight"] == String(token.suffix(8)))
        #expect(answer["hashed_token"] == Hex.encode(Digest.sha256(token)))
        #expect(answer.json["scopes"] as? [String] == ["gist", "user"])
        #expect((answer.json["app"] as? [String: Any])?["client_id"] as? String == GitHubFixture.automatic)
        #expect((answer.json["user"] as? [String: Any])?["login"] as? String == "ada")
        #expect(answer.json["expires_at"] is NSNull)
    }

    @Test("reset: a new token, the old one dead")
    func reset() throws {
        let token = try fixture.token(scope: "gist")
        let new = try manage("PATCH", "\(path)/token", ["access_token": token])["token"]
        #expect(new?.hasPrefix("gho_") ?? false)
        #expect(new != token)
        #expect(try fixture.get("/user", token: token).status == 401)
        #expect(try fixture.get("/user", token: new).header("X-OAuth-Scopes") == "gist")
    }

    @Test("delete one token; delete the grant and every token with it")
    func delete() throws {
        let (first, second, third) = (try fixture.token(), try fixture.token(), try fixture.token(scope: "gist"))
        #expect(try manage("DELETE", "\(path)/token", ["access_token": first]).status == 204)
        #expect(try fixture.get("/user", token: first).status == 401)
        #expect(try fixture.get("/user", token: second).status == 200)
        let code = try fixture.code()
        #expect(try manage("DELETE", "\(path)/grant", ["access_token": second]).status == 204)
        for token in [second, third] { #expect(try fixture.get("/user", token: token).status == 401) }
        #expect(try fixture.exchange(["code": code])["error"] == "bad_verification_code")
    }

    @Test("credentials are the app's, by Basic only")
    func refusals() throws {
        let token = try fixture.token()
        let body = ["access_token": token]
        let bearer = try manage("POST", "\(path)/token", body, headers: ["Authorization": "Bearer \(token)"])
        #expect(bearer.status == 401)
        #expect(bearer.diagnosis.contains("Basic"))
        #expect(try manage("POST", "\(path)/token", body, headers: GitHubFixture.basic(secret: "x")).status == 401)
        #expect(
            try manage("POST", "\(path)/token", body, headers: GitHubFixture.basic(GitHubFixture.asking)).status == 404)
        #expect(try manage("POST", "\(path)/token", ["access_token": "gho_x"]).status == 404)
        #expect(try manage("POST", "\(path)/token", ["token": token]).status == 422)
        #expect(try manage("POST", "\(path)/token", nil).status == 422)
        let others = try fixture.token(client: GitHubFixture.asking)
        let answer = try manage("POST", "\(path)/token", ["access_token": others])
        #expect(answer.status == 404)
        #expect(answer.diagnosis.contains(GitHubFixture.asking))
    }

    @Test("scoped tokens are for GitHub Apps")
    func scoped() throws {
        let token = try fixture.token(client: GitHubFixture.gitHubApp)
        let path = "/applications/\(GitHubFixture.gitHubApp)/token/scoped"
        let basic = GitHubFixture.basic(GitHubFixture.gitHubApp)
        func ask(_ body: [String: Any]) throws -> Answer {
            try manage("POST", path, body.merging(["access_token": token]) { $1 }, headers: basic)
        }
        let answer = try ask(["target": "analytical-engines", "permissions": ["emails": "read"]])
        #expect(answer.status == 200)
        #expect(answer["token"]?.hasPrefix("ghu_") ?? false)
        #expect(try fixture.get("/user", token: token).status == 200)
        #expect(try ask([:]).status == 422)
        #expect(try ask(["target": "nowhere"]).status == 404)
        #expect(try ask(["target": "ada", "permissions": ["contents": "write"]]).status == 422)
        #expect(
            try manage("POST", "\(self.path)/token/scoped", ["access_token": fixture.token(), "target": "ada"]).status
                == 403)
    }

    @Test("whoever finds tokens can revoke them, without credentials")
    func leaked() throws {
        let (first, second) = (try fixture.token(), try fixture.token())
        let answer = try fixture.call("POST", "/credentials/revoke", json: ["credentials": [first, "ghp_unknown"]])
        #expect(answer.status == 202)
        let dead = try fixture.get("/user", token: first)
        #expect(dead.status == 401)
        #expect(dead.diagnosis.contains("leaked"))
        #expect(
            try fixture.call("POST", "/credentials/revoke", token: second, json: ["credentials": [second]]).status
                == 403)
        #expect(try fixture.get("/user", token: second).status == 200)
        for body in [["credentials": []], ["credentials": "x"], ["credentials": [1]], [:]] as [[String: Any]] {
            #expect(try fixture.call("POST", "/credentials/revoke", json: body).status == 422)
        }
        let many = (0...1000).map { "gho_\($0)" }
        #expect(try fixture.call("POST", "/credentials/revoke", json: ["credentials": many]).status == 422)
    }

    // MARK: - The webhook

    private func withReceiver(_ receiver: Receiver) throws -> GitHubFixture {
        try GitHubFixture(
            seed: #"{"github":{"githubApps":[{"clientID":"Iv23liGitHubApp00001","webhookURL":"\#(receiver.url)"}]}}"#)
    }

    private func revoke(_ fixture: GitHubFixture, _ account: String = "ada") throws -> Answer {
        try fixture.client.post(
            "\(GitHubFixture.control)/github/revocations",
            json: ["account": account, "client": GitHubFixture.gitHubApp])
    }

    @Test("a person's revocation is told to a GitHub App, signed; openssl agrees")
    func webhook() throws {
        let receiver = try Receiver()
        defer { receiver.stop() }
        let fixture = try withReceiver(receiver)
        let token = try fixture.token(client: GitHubFixture.gitHubApp)
        let answer = try revoke(fixture)
        #expect(answer.json["revoked"] as? Bool == true)
        let delivery = answer.json["webhook"] as? [String: Any]
        #expect(delivery?["delivered"] as? Bool == true)
        #expect(delivery?["status"] as? Int == 200)
        #expect(try fixture.get("/user", token: token).status == 401)
        let request = try #require(receiver.requests.first)
        let payload = try JSONValue(parsing: request.body)
        #expect(payload["action"]?.string == "revoked")
        #expect(payload["sender"]?["login"]?.string == "ada")
        #expect(request.header("X-GitHub-Event") == "github_app_authorization")
        #expect(request.header("Content-Type") == "application/json")
        #expect(request.header("User-Agent")?.hasPrefix("GitHub-Hookshot/") ?? false)
        #expect(request.header("X-GitHub-Delivery")?.count == 36)
        for (name, digest) in [("X-Hub-Signature-256", "sha256"), ("X-Hub-Signature", "sha1")] {
            let openssl = try Shell.run(
                "openssl", ["dgst", "-\(digest)", "-hmac", "webhook-secret-for-tests", "-r"],
                input: String(decoding: request.body, as: UTF8.self))
            let expected = openssl.output.split(separator: " ").first.map(String.init) ?? "?"
            #expect(request.header(name) == "\(digest)=\(expected)")
        }
    }

    @Test("the page revokes with the webhook, too")
    func page() throws {
        let receiver = try Receiver()
        defer { receiver.stop() }
        let fixture = try withReceiver(receiver)
        _ = try fixture.token(client: GitHubFixture.gitHubApp)
        let browser = TestBrowser(fixture)
        try browser.signIn(as: "ada")
        let page = try browser.get("\(GitHubFixture.web)/settings/connections/applications/\(GitHubFixture.gitHubApp)")
        _ = try browser.submit(page, ["action": "revoke"])
        #expect(eventually { receiver.requests.count == 1 })
    }

    @Test("an order that can't be followed says why; a failed webhook is reported")
    func orders() throws {
        #expect(try revoke(fixture).status == 409)
        #expect(try revoke(fixture, "nobody").status == 404)
        let unknown = try fixture.client.post(
            "\(GitHubFixture.control)/github/revocations", json: ["account": "ada", "client": "x"])
        #expect(unknown.status == 404)
        #expect(try fixture.client.post("\(GitHubFixture.control)/github/revocations", json: [:]).status == 400)
        _ = try fixture.token()
        let plain = try fixture.client.post(
            "\(GitHubFixture.control)/github/revocations",
            json: ["account": "ada", "client": GitHubFixture.automatic])
        #expect(plain.json["webhook"] is NSNull)
        let receiver = try Receiver(statuses: [500])
        let failing = try withReceiver(receiver)
        _ = try failing.token(client: GitHubFixture.gitHubApp)
        #expect((try revoke(failing).json["webhook"] as? [String: Any])?["delivered"] as? Bool == false)
        receiver.stop()
        _ = try failing.token(client: GitHubFixture.gitHubApp)
        #expect((try revoke(failing).json["webhook"] as? [String: Any])?["failure"] is String)
    }

    @Test("a deleted account takes its grants with it")
    func deletedAccount() throws {
        let token = try fixture.token()
        #expect(try fixture.client.request("DELETE", "\(GitHubFixture.control)/accounts/ada").status == 204)
        #expect(try fixture.get("/user", token: token).status == 401)
    }
}

@Suite("GitHub: discovery")
struct GitHubDiscoveryTests {
    @Test("both documents, the empty key set, and the address that GitHub doesn't have")
    func documents() throws {
        let fixture = try GitHubFixture()
        for path in [
            "/.well-known/oauth-authorization-server/login/oauth", "/login/oauth/.well-known/openid-configuration",
        ] {
            let answer = try fixture.client.get("\(GitHubFixture.web)\(path)")
            #expect(answer["issuer"] == GitHubFixture.issuer)
            #expect(answer.json["code_challenge_methods_supported"] as? [String] == ["S256"])
            #expect(
                answer["token_endpoint"]
                    == "http://localhost:\(fixture.client.port)/github.com/login/oauth/access_token")
        }
        #expect(try fixture.client.get("\(GitHubFixture.web)/login/oauth/.well-known/jwks").text == #"{"keys":[]}"#)
        #expect(
            try fixture.client.get("\(GitHubFixture.web)/login/oauth/.well-known/oauth-authorization-server").status
                == 404)
    }
}
