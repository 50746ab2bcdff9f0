import Foundation
import TestSupport
import Testing
import Understudy

@Suite("Mistyped addresses") struct MistypedAddressTests {
    let fixture: FaultFixture

    init() throws { fixture = try FaultFixture() }

    @Test(
        "an address at which nothing is served is told the one that was meant",
        arguments: [
            ("GET", "/appleid.aple.com/auth/keys", #"did you mean "/appleid.apple.com/auth/keys"?"#),
            ("POST", "/appleid.apple.com/auth/token/", #"did you mean "/auth/token"?"#),
            ("POST", "/appleid.apple.com//auth/token", #"did you mean "/auth/token"?"#),
            ("GET", "/github.com/login/oauth/authorise?client_id=x", #"did you mean "/login/oauth/authorize"?"#),
            ("GET", "/accounts.google.com/o/oauth2/v2/auht", #"did you mean "/o/oauth2/v2/auth"?"#),
            ("GET", "/graph.facebook.com/v22.0/oauth/acces_token", #"did you mean "/v22.0/oauth/access_token"?"#),
            (
                "POST", "/identitytoolkit.googleapis.com/v1/accounts:signInWithPasword",
                #"did you mean "/v1/accounts:signInWithPassword"?"#
            ),
            ("POST", "/login.corp.example/tokn", #"did you mean "/token"?"#),
            (
                "GET", "/api.github.com/orgs/analytical-engines/membres",
                #"did you mean "/orgs/analytical-engines/members"?"#
            ),
        ])
    func meant(method: String, path: String, words: String) throws {
        let answer = try fixture.client.request(method, path, headers: ["User-Agent": "tests"])
        #expect((400..<500).contains(answer.status))
        #expect(answer.diagnosis.contains(words), "\(answer)")
    }

    @Test(
        "an address that is near none, and a hostile one, are told nothing",
        arguments: ["/x", "/a/b/c/d", "/" + String(repeating: "a/", count: 3000)])
    func none(path: String) throws {
        let answer = try fixture.client.get("/appleid.apple.com\(path)")
        #expect(answer.status == 404)
        #expect(!answer.diagnosis.isEmpty && !answer.diagnosis.contains("did you mean"))
    }

    @Test(
        "a call of the control API without its version, or with another one, is told its address",
        arguments: ["/_understudy/outcomes", "/_understudy/v2/outcomes"])
    func version(path: String) throws {
        let answer = try fixture.client.post(path, json: ["provider": "google", "outcome": "cancel"])
        #expect(answer.status == 404)
        #expect((answer.json["error"] as? [String: Any])?["code"] as? String == "noSuchCall")
        #expect(answer.diagnosis.contains(#"did you mean "/_understudy/v1/outcomes"?"#), "\(answer)")
    }

    @Test("the wrong method is told the right one, in a provider's words, too")
    func method() throws {
        #expect(try fixture.client.get("/appleid.apple.com/auth/token").diagnosis.contains("POST"))
        #expect(try fixture.client.get("/github.com/login/oauth/access_token").diagnosis.contains("POST"))
    }
}
