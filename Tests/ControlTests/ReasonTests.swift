import Foundation
import TestSupport
import Testing
import Understudy

/// If the daemon knows why a code or token doesn't work, the diagnosis names this reason and no other.
@Suite("The one reason of a refusal") struct ReasonTests {
    let fixture: FaultFixture
    private var client: TestClient { fixture.client }

    init() throws { fixture = try FaultFixture() }

    private static let providers = ["apple", "github", "google", "facebook", "openid"]

    /// The parameters with which a sign-in is answered with a refresh token.
    private static let offline = [
        "google": ["access_type": "offline", "prompt": "consent"], "openid": ["scope": "openid email offline_access"],
    ]

    private func refresh(_ token: String, at provider: String) throws -> Answer {
        var form = ["grant_type": "refresh_token", "refresh_token": token]
        switch provider {
        case "apple":
            form["client_id"] = AppleFixture.service
            form["client_secret"] = try AppleFixture.secret()
            return try client.post("/appleid.apple.com/auth/token", form: form)
        case "google":
            form["client_id"] = "example.apps.googleusercontent.com"
            form["client_secret"] = "google-secret-for-tests"
            return try client.post("/oauth2.googleapis.com/token", form: form)
        default:
            return try client.post("/login.corp.example/token", form: form, headers: OpenIDFixture.basic())
        }
    }

    /// Sends a request with an access token.
    private func use(_ token: String, at provider: String) throws -> Answer {
        let headers = ["Authorization": "Bearer \(token)", "User-Agent": "tests"]
        switch provider {
        case "github": return try client.get("/api.github.com/user", headers: headers)
        case "google": return try client.get("/openidconnect.googleapis.com/v1/userinfo", headers: headers)
        case "facebook": return try client.get("/graph.facebook.com/me?access_token=\(token)")
        default: return try client.get("/login.corp.example/userinfo", headers: headers)
        }
    }

    @Test("a code of another world: which one", arguments: providers)
    func otherWorld(provider: String) throws {
        let site = try #require(Site.authorizations.first { $0.provider == provider })
        let name = "elsewhere-\(UUID())"
        let daemon = try TestServer.start(seeds: [.builtIn])
        let client = TestClient(port: daemon.port)
        let code = Site.code(try site.call(client, "/~\(name)"))
        #expect(!code.isEmpty)
        let answer = try Site.redeem(code, at: provider, client, "/~here")
        #expect(
            answer.diagnosis.contains(
                "issued in the test world \"\(name)\", but this request went to the world \"here\""), "\(answer)")
        daemon.stop()
    }

    @Test("a code of nobody's: that this world hasn't given it out", arguments: providers.filter { $0 != "apple" })
    func nobodys(provider: String) throws {
        let answer = try Site.redeem("0123456789abcdef", at: provider, client)
        #expect(answer.diagnosis.contains("has issued no such"), "\(answer)")
    }

    @Test("the text \"undefined\" is named as such", arguments: providers)
    func undefined(provider: String) throws {
        let answer = try Site.redeem("undefined", at: provider, client)
        #expect(answer.diagnosis.contains("is the text \"undefined\""), "\(answer)")
    }

    // https://developers.google.com/identity/protocols/oauth2/web-server#offline
    @Test("a refresh token that a sign-in at Google didn't bring", arguments: ["undefined", "null", ""])
    func missingAtGoogle(text: String) throws {
        let answer = try refresh(text, at: "google")
        #expect(answer.diagnosis.contains("only with access_type=offline"), "\(answer)")
        #expect(answer.diagnosis.contains(text.isEmpty ? "is missing" : "is the text \"\(text)\""))
    }

    @Test("a refresh token whose app the person has removed: who, and when", arguments: ["apple", "google", "openid"])
    func revokedRefreshToken(provider: String) throws {
        let tokens = try Site.signIn(at: provider, client, more: ReasonTests.offline[provider] ?? [:])
        let token = try #require(tokens["refresh_token"], "\(tokens)")
        let order = try client.post(
            "\(FaultFixture.api)/\(provider)/revocations", json: ["account": "ada", "client": "*"])
        #expect(order.status == 200)
        let diagnosis = try refresh(token, at: provider).diagnosis
        #expect(diagnosis.contains(/the (person|user) removed .*"[^"]+".* at 20[0-9-]+T[0-9:]+/), "\(diagnosis)")
        #expect(!diagnosis.contains(" or "))
    }

    @Test("an access token whose app the person has removed", arguments: ["github", "google", "facebook", "openid"])
    func revokedAccessToken(provider: String) throws {
        let token = try #require(try Site.signIn(at: provider, client)["access_token"])
        #expect(try use(token, at: provider).diagnosis.isEmpty)
        _ = try client.post(
            "\(FaultFixture.api)/\(provider)/revocations", json: ["account": "ada", "client": "*"])
        let diagnosis = try use(token, at: provider).diagnosis
        #expect(diagnosis.contains(/the (person|user) (removed|revoked)/), "\(diagnosis)")
    }

    @Test("what a scenario has done is told with its name")
    func scenario() throws {
        let revoked = try Site.signIn(at: "apple", client)["refresh_token"] ?? ""
        let played = try client.post("\(FaultFixture.api)/scenarios/revoked-grant", json: [String: Any]())
        _ = try client.post("\(FaultFixture.api)/scenarios/provider-outage", json: [String: Any]())
        #expect(played.status < 300, "\(played)")
        #expect(try refresh(revoked, at: "apple").diagnosis.contains("scenario provider-outage"))
        _ = try client.request("DELETE", "\(FaultFixture.api)/faults")
        #expect(try refresh(revoked, at: "apple").diagnosis.contains("(scenario revoked-grant)"))
    }
}
