import EmulatorCore
import Foundation
import TestSupport
import Testing
import Understudy

/// Providers as of a day: each behaviour that changed, on both sides of its day.
@Suite("As of a day")
struct AsOfTests {
    private func seed(_ day: String) -> String { #"{"asOf": "\#(day)"}"# }

    @Test(
        "GitHub adds iss to callbacks for two days in April 2026, and again since August",
        arguments: [
            ("2026-04-08", false), ("2026-04-09", true), ("2026-04-10", true), ("2026-04-11", false),
            ("2026-08-19", false), ("2026-08-20", true), ("next", true),
        ])
    func issuer(day: String, isThere: Bool) throws {
        let github = try GitHubFixture(seed: seed(day))
        #expect(try github.authorize().redirect["iss"] == (isThere ? GitHubFixture.issuer : nil))
    }

    @Test("what the seed says of a behaviour counts more than the day")
    func switchWins() throws {
        let github = try GitHubFixture(seed: #"{"asOf": "2026-04-08", "github": {"callbackIssuer": true}}"#)
        #expect(try github.authorize().redirect["iss"] == GitHubFixture.issuer)
    }

    @Test("GitHub ignores code challenges before July 2025", arguments: [("2025-07-13", true), ("2025-07-14", false)])
    func gitHubChallenge(day: String, isIgnored: Bool) throws {
        let github = try GitHubFixture(seed: seed(day))
        let code = try github.code([
            "code_challenge": String(repeating: "a", count: 43), "code_challenge_method": "S256",
        ])
        #expect(try (github.exchange(["code": code])["access_token"] != nil) == isIgnored)
    }

    @Test(
        "tokens of GitHub Apps are refreshed since April 2020, those of OAuth apps since August 2026",
        arguments: [
            ("2020-04-29", false, false), ("2020-04-30", true, false), ("2026-07-31", true, false),
            ("2026-08-01", true, true),
        ])
    func refresh(day: String, app: Bool, oauthApp: Bool) throws {
        let github = try GitHubFixture(seed: seed(day))
        for (client, isRefreshed) in [(GitHubFixture.gitHubApp, app), (GitHubFixture.automatic, oauthApp)] {
            try github.order(["outcome": "approve", "account": "ada", "client": client])
            let code = try github.code(["client_id": client, "scope": "offline_access"])
            let answer = try github.exchange(["client_id": client, "code": code])
            #expect(answer["access_token"] != nil, "\(answer)")
            #expect((answer["refresh_token"] != nil) == isRefreshed, "\(client): \(answer)")
        }
    }

    @Test("GitHub's first version of the API is supported until March 2028, and then gone")
    func apiVersions() throws {
        let today = try GitHubFixture()
        #expect(try today.get("/versions").text == #"["2026-03-10","2022-11-28"]"#)
        let first = ["X-GitHub-Api-Version": "2022-11-28"]
        #expect(try today.get("/rate_limit", headers: first).json["rate"] != nil)
        let next = try GitHubFixture(seed: seed("next"))
        #expect(try next.get("/versions").text == #"["2026-03-10"]"#)
        #expect(try next.get("/rate_limit", headers: first).status == 410)
        #expect(try next.get("/rate_limit").json["rate"] == nil)
        let early = try GitHubFixture(seed: seed("2026-03-09"))
        #expect(try early.get("/rate_limit", headers: ["X-GitHub-Api-Version": "2026-03-10"]).status == 400)
    }

    @Test("Apple ignores code challenges before October 2024", arguments: [("2024-10-16", 200), ("2024-10-17", 400)])
    func appleChallenge(day: String, status: Int) throws {
        let apple = try AppleFixture(seed: seed(day))
        let code = try apple.code([
            "code_challenge": String(repeating: "a", count: 43), "code_challenge_method": "S256",
        ])
        #expect(try apple.token(["code": code]).status == status)
    }

    @Test("Apple's discovery document names another issuer than its tokens in June 2025")
    func appleIssuer() throws {
        let apple = try AppleFixture(seed: seed("2025-06-12"))
        let discovery = "\(AppleFixture.prefix)/.well-known/openid-configuration"
        #expect(try apple.client.get(discovery)["issuer"] == "https://account.apple.com")
        let token = try apple.token(["code": apple.code()])["id_token"] ?? ""
        #expect(AppleFixture.claims(token)["iss"] as? String == AppleFixture.issuer)
        let later = try AppleFixture(seed: seed("2025-06-17"))
        #expect(try later.client.get(discovery)["issuer"] == AppleFixture.issuer)
    }

    @Test("Google shows the code on a page until October 2022, and the code works")
    func outOfBand() throws {
        func world(_ day: String) throws -> FirebaseFixture {
            try FirebaseFixture(
                seed: """
                    {"asOf": "\(day)", "google": {"clients": [{"clientID": "cli", "type": "desktop",
                     "interaction": {"mode": "auto", "account": "ada"}}]}}
                    """)
        }
        let page = "urn:ietf:wg:oauth:2.0:oob"
        let form = ["client_id": "cli", "redirect_uri": page, "response_type": "code", "scope": "openid"]
        let path = "/accounts.google.com/o/oauth2/v2/auth?\(TestClient.encode(form))"
        let early = try world("2022-10-02")
        let answer = try early.client.get(path)
        #expect(answer.status == 200)
        #expect(answer.location.isEmpty)
        let title = answer.text.components(separatedBy: "<title>").last?.components(separatedBy: "</title>").first ?? ""
        #expect(title.hasPrefix("Success "))
        let code = Answer.fields(String(title.dropFirst("Success ".count)).replacingOccurrences(of: "&amp;", with: "&"))
        let token = try early.client.post(
            "/oauth2.googleapis.com/token",
            form: [
                "client_id": "cli", "client_secret": "google-secret-for-tests", "redirect_uri": page,
                "code": code["code"] ?? "", "grant_type": "authorization_code",
            ])
        #expect(token.status == 200, "\(token)")
        let late = try world("2022-10-03")
        #expect(try late.client.get(path).status == 400)
    }

    @Test(
        "Firebase's new projects hide addresses since September 2023",
        arguments: [("2023-09-14", "EMAIL_NOT_FOUND"), ("2023-09-15", "INVALID_LOGIN_CREDENTIALS")])
    func enumeration(day: String, message: String) throws {
        let firebase = try FirebaseFixture(seed: seed(day))
        let answer = try firebase.v1("signInWithPassword", ["email": "nobody@example.org", "password": "x"])
        #expect(answer.message == message)
    }

    // MARK: - Where the day is said

    @Test("a world can have a day of its own, beside others, and keeps what it has")
    func world() throws {
        let server = try TestServer.start()
        defer { server.stop() }
        var client = TestClient(port: server.port)
        let worlds = "\(AppleFixture.control)/worlds"
        let bad = try client.post(worlds, json: ["name": "old", "asOf": "2025-02-30"])
        #expect(bad.status == 400)
        #expect(bad.text.contains(#""path":"$.asOf""#))
        #expect(try client.post(worlds, json: ["name": "old", "asOf": "2025-06-12"]).status == 201)
        let discovery = "\(AppleFixture.prefix)/.well-known/openid-configuration"
        #expect(try client.get(discovery)["issuer"] == AppleFixture.issuer)
        client.host = "old.localhost"
        #expect(try client.get(discovery)["issuer"] == "https://account.apple.com")
        let order = ["provider": "apple", "outcome": "cancel"]
        #expect(try client.post("\(AppleFixture.control)/outcomes", json: order).status == 201)
        #expect(try client.post(worlds, json: ["name": "old", "asOf": "next"]).status == 200)
        #expect(try client.get(discovery)["issuer"] == AppleFixture.issuer)
        #expect(try client.get("\(AppleFixture.control)/outcomes").text.contains("cancel"))
        #expect(try client.get("\(AppleFixture.control)/seed")["asOf"] == "next")
    }

    @Test("the daemon's day is also that of a world with a seed of its own, unless this names a day")
    func daemon() throws {
        var options = RunningServer.Options()
        options.asOf = "2025-06-12"
        let server = try TestServer.start(seeds: [.json(#"{"asOf": "2020-01-01"}"#)], options: options)
        defer { server.stop() }
        let client = TestClient(port: server.port)
        let discovery = "\(AppleFixture.prefix)/.well-known/openid-configuration"
        #expect(try client.get(discovery)["issuer"] == "https://account.apple.com")
        for (seed, issuer) in [([:], "https://account.apple.com"), (["asOf": "next"], AppleFixture.issuer)] {
            #expect(try client.post("\(AppleFixture.control)/seed", json: seed, method: "PUT").status == 200)
            #expect(try client.get(discovery)["issuer"] == issuer)
        }
        options.asOf = "tomorrow"
        #expect(throws: StartError.self) { try RunningServer.start(options: options) }
    }

    @Test("every declared change has days that exist, a sentence and a page, and a name of its own")
    func declarations() {
        var names: Set<String> = []
        for (provider, changes) in Providers.changes {
            for change in changes {
                #expect(names.insert("\(provider) \(change.name)").inserted, "\(change.name)")
                #expect(change.evidence.hasPrefix("https://"), "\(change.name)")
                #expect(!change.summary.isEmpty && !change.summary.hasSuffix("."), "\(change.name)")
                for period in change.periods { #expect(period.from != nil || period.until != nil, "\(change.name)") }
            }
        }
        #expect(names.count >= 9)
    }
}
