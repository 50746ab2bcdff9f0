import Foundation
import TestSupport
import Testing

@Suite("Google: consent to several clients")
struct ConsentTests {
    let fixture: FirebaseFixture
    private static let clients = ["example.apps.googleusercontent.com", "other.apps.googleusercontent.com"]
    private let callback = "http://localhost:3000/callback"
    private let path = "/accounts.google.com/o/oauth2/v2/auth"

    init() throws {
        fixture = try FirebaseFixture(
            seed: """
                {"google": {"clients": [
                  {"clientID": "other.apps.googleusercontent.com", "redirectURIs": ["http://localhost:3000/callback"]}
                ]}}
                """)
    }

    private func form(_ client: String, _ scope: String) -> [String: String] {
        [
            "client_id": client, "redirect_uri": callback, "response_type": "code", "scope": scope,
            "access_type": "offline",
        ]
    }

    private func tokens(_ client: String) throws -> Answer {
        try fixture.order(["provider": "google", "outcome": "approve", "account": "ada"])
        let answer = try fixture.client.get("\(path)?\(TestClient.encode(form(client, "openid email")))")
        return try fixture.client.post(
            "/oauth2.googleapis.com/token",
            form: [
                "client_id": client, "client_secret": "google-secret-for-tests", "redirect_uri": callback,
                "grant_type": "authorization_code", "code": answer.redirect["code"] ?? "",
            ])
    }

    private func userInfo(_ tokens: Answer) throws -> Int {
        let bearer = ["Authorization": "Bearer \(tokens["access_token"] ?? "")"]
        return try fixture.client.get("/openidconnect.googleapis.com/v1/userinfo", headers: bearer).status
    }

    @Test("scopes add up: what was granted to a client once isn't asked for again")
    func scopesAddUp() throws {
        /// The answer to Ada's choosing herself.
        func choose(_ scope: String, _ client: String = ConsentTests.clients[0]) throws -> Answer {
            let people = try fixture.client.get("\(path)?\(TestClient.encode(form(client, scope)))")
            return try fixture.client.post(path, form: people.inputs.merging(["account": "ada"]) { $1 })
        }
        func approve(_ consent: Answer) throws {
            #expect(consent.text.contains("Sign in to Example with Google"))
            let done = try fixture.client.post(path, form: consent.inputs.merging(["action": "continue"]) { $1 })
            #expect(done.redirect["code"] != nil)
        }
        try approve(choose("openid email"))
        try approve(choose("openid profile"))
        #expect(try choose("openid email profile").redirect["code"] != nil)
        try approve(choose("openid email", ConsentTests.clients[1]))
    }

    @Test(
        "a revoked token ends all that was granted to its client, and nothing of another's", arguments: [false, true])
    func revocation(byRefreshToken: Bool) throws {
        let (mine, other) = (try tokens(ConsentTests.clients[0]), try tokens(ConsentTests.clients[1]))
        let again = try tokens(ConsentTests.clients[0])
        let token = mine[byRefreshToken ? "refresh_token" : "access_token"] ?? ""
        #expect(try fixture.client.post("/oauth2.googleapis.com/revoke", form: ["token": token]).status == 200)
        #expect(try userInfo(mine) == 401)
        #expect(try userInfo(again) == 401)
        #expect(try userInfo(other) == 200)
        // The next consent is a first one.
        #expect(try tokens(ConsentTests.clients[0])["refresh_token"] != nil)
    }

    @Test("an expired token can't be revoked, and an account that goes takes its tokens along")
    func ends() throws {
        let mine = try tokens(ConsentTests.clients[0])
        try fixture.advance("1h")
        let expired = ["token": mine["access_token"] ?? ""]
        #expect(try fixture.client.post("/oauth2.googleapis.com/revoke", form: expired)["error"] == "invalid_token")
        let later = try tokens(ConsentTests.clients[0])
        #expect(try userInfo(later) == 200)
        #expect(try fixture.client.request("DELETE", "\(FirebaseFixture.control)/accounts/ada").status < 300)
        #expect(try userInfo(later) == 401)
    }

    private func refresh(_ token: String?, _ client: String = clients[0]) throws -> Answer {
        var form = [
            "client_id": client, "client_secret": "google-secret-for-tests", "grant_type": "refresh_token",
        ]
        form["refresh_token"] = token
        return try fixture.client.post("/oauth2.googleapis.com/token", form: form)
    }

    @Test("what was revoked is told with how: by a client, by the person, with the account")
    func revoked() throws {
        func expect(_ token: String?, _ reason: String) throws {
            let answer = try refresh(token)
            #expect(answer["error_description"] == "Token has been expired or revoked.", "\(answer)")
            #expect(answer.diagnosis.contains(reason), "\(answer.diagnosis)")
        }
        let first = try tokens(ConsentTests.clients[0])
        _ = try fixture.client.post(
            "/accounts.google.com/o/oauth2/revoke", form: ["token": first["access_token"] ?? ""])
        try expect(first["refresh_token"], "\(ConsentTests.clients[0]) revoked it")
        let info = try fixture.client.get(
            "/openidconnect.googleapis.com/v1/userinfo",
            headers: ["Authorization": "Bearer \(first["access_token"] ?? "")"])
        #expect(info.diagnosis.contains("revoked it"))
        let second = try tokens(ConsentTests.clients[0])
        let order = ["account": "ada", "client": ConsentTests.clients[0]]
        _ = try fixture.client.post("\(FirebaseFixture.control)/google/revocations", json: order)
        try expect(second["refresh_token"], #"the person removed ""#)
        let third = try tokens(ConsentTests.clients[0])
        _ = try fixture.client.request("DELETE", "\(FirebaseFixture.control)/accounts/ada")
        try expect(third["refresh_token"], "the account was deleted")
    }

    @Test("a refresh token of another client, and texts that never were one")
    func otherRefreshTokens() throws {
        let mine = try tokens(ConsentTests.clients[0])
        // https://github.com/prasmussen/gdrive/issues/375
        let other = try refresh(mine["refresh_token"], ConsentTests.clients[1])
        #expect(other.status == 401)
        #expect(other["error"] == "unauthorized_client" && other["error_description"] == "Unauthorized")
        #expect(other.diagnosis.contains(ConsentTests.clients[0]))
        for (text, words) in [
            ("undefined", "access_type=offline"), ("", "missing or empty"), ("1//0x", "no such refresh token"),
        ] {
            #expect(try refresh(text).diagnosis.contains(words))
        }
        let access = try refresh(mine["access_token"])
        #expect(access["error_description"] == "Bad Request" && access.diagnosis.contains("an access token"))
    }

    // https://developers.google.com/identity/protocols/oauth2#expiration
    @Test("the hundred and first refresh token of a person and a client ends the oldest")
    func refreshTokenLimit() throws {
        func more() throws -> String? {
            try fixture.order(["provider": "google", "outcome": "approve", "account": "ada"])
            let url = "\(path)?\(TestClient.encode(form(ConsentTests.clients[0], "openid")))&prompt=consent"
            return try fixture.client.post(
                "/oauth2.googleapis.com/token",
                form: [
                    "client_id": ConsentTests.clients[0], "client_secret": "google-secret-for-tests",
                    "redirect_uri": callback, "grant_type": "authorization_code",
                    "code": fixture.client.get(url).redirect["code"] ?? "",
                ])["refresh_token"]
        }
        let (first, second) = (try more(), try more())
        for _ in 0..<98 { _ = try more() }
        #expect(try refresh(first).status == 200)
        let last = try more()
        let ended = try refresh(first)
        #expect(ended["error_description"] == "Token has been expired or revoked.")
        #expect(ended.diagnosis.contains("100 newer refresh tokens"))
        #expect(try refresh(second).status == 200)
        #expect(try refresh(last).status == 200)
    }
}
