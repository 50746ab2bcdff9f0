import Foundation
import HTTPServer
import JOSE
import JSON
import TestSupport
import Testing

@Suite("OpenID Connect: logout")
struct LogoutTests {
    private func fixture(_ receiver: Receiver) throws -> OpenIDFixture {
        try OpenIDFixture(
            clients: #"""
                {"clientID":"web","backchannelLogoutURI":"\#(receiver.url)"},
                {"clientID":"second","clientSecret":"s","redirectURIs":["http://localhost:3000/callback"],
                "backchannelLogoutURI":"\#(receiver.url)"}
                """#)
    }

    private func path(_ fixture: OpenIDFixture, _ form: [String: String?]) -> String {
        "\(fixture.base)/logout?\(TestClient.encode(form.compactMapValues { $0 }))"
    }

    @Test("the session ends, each of its clients is told by a signed token, and the browser goes on")
    func logout() async throws {
        let receiver = try Receiver()
        defer { receiver.stop() }
        let fixture = try fixture(receiver)
        let browser = TestBrowser(fixture.client)
        let page = try browser.get(fixture.authorizePath(["scope": "openid"]))
        let code = try browser.submit(page, ["account": "ada"]).redirect["code"]
        let tokens = try fixture.token(["code": code])
        _ = try browser.get(fixture.authorizePath(["client_id": "second"]))
        let answer = try browser.get(
            path(
                fixture,
                [
                    "id_token_hint": tokens["id_token"], "post_logout_redirect_uri": "http://localhost:3000/",
                    "state": "x",
                ]))
        #expect(answer.location == "http://localhost:3000/?state=x")
        let stateless = try browser.get(
            path(
                fixture,
                ["id_token_hint": tokens["id_token"], "post_logout_redirect_uri": "http://localhost:3000/"]))
        #expect(stateless.location == "http://localhost:3000/")
        let sent = receiver.requests.map { $0.bodyForm["logout_token"] ?? "" }
        #expect(sent.count == 2)
        let token = try JWS(parsing: sent[0])
        #expect(token.header["typ"]?.string == "logout+jwt")
        let claims = OpenIDFixture.claims(tokens["id_token"])
        #expect(token.claims["sid"]?.string == claims["sid"] as? String)
        #expect(token.claims["sub"]?.string == claims["sub"] as? String)
        #expect(token.claims["aud"]?.string == "web")
        #expect(token.claims["nonce"] == nil)
        #expect(token.claims["events"]?["http://schemas.openid.net/event/backchannel-logout"]?.object?.isEmpty ?? false)
        let set = KeySet(try JSONValue(parsing: fixture.client.get("\(fixture.base)/jwks").text))
        #expect(set.fault(of: token, allowing: [.rs256]) == nil)
        #expect(try browser.get(fixture.authorizePath(["prompt": "none"])).redirect["error"] == "login_required")
        let bearer = fixture.bearer(tokens["access_token"])
        #expect(try fixture.client.get("\(fixture.base)/userinfo", headers: bearer).status == 401)
    }

    @Test("without a token of the session, the person is asked")
    func question() throws {
        let fixture = try OpenIDFixture()
        let browser = TestBrowser(fixture.client)
        #expect(try browser.get("\(fixture.base)/logout").text.contains("Signed out"))
        _ = try browser.submit(try browser.get(fixture.authorizePath()), ["account": "ada"])
        let page = try browser.get(
            path(fixture, ["client_id": "web", "post_logout_redirect_uri": "http://localhost:3000/"]))
        #expect(page.text.contains("Sign out?"))
        #expect(try browser.submit(page, ["action": "cancel"]).text.contains("Still signed in"))
        #expect(try browser.get(fixture.authorizePath(["prompt": "none"])).redirect["code"] != nil)
        #expect(try browser.submit(page, ["action": "yes"]).location.hasPrefix("http://localhost:3000/"))
        #expect(try browser.get(fixture.authorizePath(["prompt": "none"])).redirect["error"] == "login_required")
    }

    @Test("only the question's own form, or an ID token of the browser's session, signs out")
    func forged() throws {
        let fixture = try OpenIDFixture()
        let browser = TestBrowser(fixture.client)
        _ = try browser.submit(try browser.get(fixture.authorizePath()), ["account": "ada"])
        #expect(try browser.get(path(fixture, ["action": "yes"])).text.contains("Sign out?"))
        let other = try fixture.signIn(by: "grace")["id_token"]
        #expect(try browser.get(path(fixture, ["id_token_hint": other])).text.contains("Sign out?"))
        #expect(try browser.get(fixture.authorizePath(["prompt": "none"])).redirect["code"] != nil)
    }

    @Test("an ID token of another issuer is no hint, though both sign with the same keys")
    func otherIssuer() throws {
        let client = #"{"clientID":"web","clientSecret":"s","redirectURIs":["http://localhost:3000/callback"]}"#
        let fixture = try OpenIDFixture(
            seed: #"""
                {"openid":{"issuers":[{"id":"a","issuer":"https://a.example","clients":[\#(client)]},
                {"id":"b","issuer":"https://b.example","clients":[\#(client)]}]}}
                """#, base: "/oidc/a")
        let token = try fixture.token(["client_secret": "s", "code": try fixture.code()])["id_token"]
        #expect(try fixture.client.get("/oidc/a/logout?id_token_hint=\(token ?? "")").status == 200)
        let answer = try fixture.client.get("/oidc/b/logout?id_token_hint=\(token ?? "")")
        #expect(answer.status == 400)
        #expect(answer.diagnosis.contains("isn't an ID token of this issuer"))
        try fixture.order(["outcome": "approve", "account": "ada"])
        let parameters = TestClient.encode(fixture.parameters(["id_token_hint": token]))
        #expect(try fixture.client.get("/oidc/b/authorize?\(parameters)").redirect["error"] == "invalid_request")
    }

    @Test("refusals stay on a page, and end nothing")
    func refusals() throws {
        let fixture = try OpenIDFixture()
        let token = try fixture.signIn()["id_token"]
        for form in [
            ["id_token_hint": "x"], ["client_id": "nobody"], ["id_token_hint": token, "client_id": "spa"],
            ["post_logout_redirect_uri": "http://localhost:3000/"],
            ["id_token_hint": token, "post_logout_redirect_uri": "https://evil.example/"],
        ] as [[String: String?]] {
            let answer = try fixture.client.get(path(fixture, form))
            #expect([400, 401].contains(answer.status), "\(form)")
            #expect(!answer.diagnosis.isEmpty)
            #expect(answer.location.isEmpty)
        }
    }

    @Test("a session ends by the control API; how the notification ended is told and recorded")
    func failingReceiver() throws {
        let receiver = try Receiver(statuses: [503])
        defer { receiver.stop() }
        let fixture = try fixture(receiver)
        let tokens = try fixture.signIn(["scope": "openid offline_access"])
        let call = "\(OpenIDFixture.control)/openid/logouts"
        let answer = try fixture.client.post(call, json: ["issuer": "corp", "account": "ada"])
        #expect(answer.json["sessions"] as? Int == 1)
        let delivery = (answer.json["notifications"] as? [[String: Any]])?.first
        #expect(delivery?["delivered"] as? Bool == false)
        #expect(delivery?["status"] as? Int == 503)
        #expect(delivery?["client"] as? String == "web")
        let recorded = try fixture.client.get("\(OpenIDFixture.control)/requests?host=127.0.0.1").text
        #expect(recorded.contains("logout_token"))
        #expect(recorded.contains("answered 503"))
        // Offline access goes on.
        let refreshed = try fixture.token(["grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]])
        #expect(refreshed.status == 200)
        receiver.stop()
        _ = try fixture.signIn()
        let unreachable = try fixture.client.post(call, json: ["issuer": "corp", "account": "ada"])
        let failure = (unreachable.json["notifications"] as? [[String: Any]])?.first
        #expect((failure?["failure"] as? String)?.isEmpty == false)
        #expect(
            try fixture.client.post(call, json: ["issuer": "corp", "account": "ada"]).json["sessions"] as? Int == 0)
        #expect(try fixture.client.post(call, json: ["issuer": "x", "account": "ada"]).status == 404)
    }

    @Test("a logout token says the iss that the client knows, by whatever address the session ends")
    func issuerOfTheSignIn() throws {
        let receiver = try Receiver()
        defer { receiver.stop() }
        let fixture = try fixture(receiver)
        for base in [fixture.base, "/login.corp.example"] {
            let form = fixture.parameters(["grant_type": "authorization_code", "code": try fixture.code()])
            let answer = try fixture.client.post("\(base)/token", form: form, headers: OpenIDFixture.basic())
            let known = OpenIDFixture.claims(answer["id_token"])["iss"] as? String
            #expect(known?.hasSuffix(base) == true)
            let order = ["issuer": "corp", "account": "ada"]
            _ = try fixture.client.post("\(OpenIDFixture.control)/openid/logouts", json: order)
            let sent = receiver.requests.last?.bodyForm["logout_token"]
            #expect(OpenIDFixture.claims(sent)["iss"] as? String == known)
        }
        #expect(receiver.requests.count == 2)
    }

    // Keycloak: https://github.com/keycloak/keycloak/issues/11958, and its LogoutEndpoint: 204, or 400 and invalid_grant.
    @Test("a client ends a sign-in by its refresh token: with its session, or alone where it is for offline access")
    func refreshToken() async throws {
        let receiver = try Receiver()
        defer { receiver.stop() }
        let fixture = try OpenIDFixture(
            issuer: #""refreshTokens":"always""#,
            clients: #"{"clientID":"web","backchannelLogoutURI":"\#(receiver.url)"}"#)
        func logOut(_ token: String?, _ secret: String = OpenIDFixture.secret) throws -> Answer {
            let form = ["client_id": "web", "client_secret": secret, "refresh_token": token ?? ""]
            return try fixture.client.post("\(fixture.base)/logout", form: form)
        }
        for (scope, isSilent) in [("openid", false), ("openid offline_access", true)] {
            let browser = TestBrowser(fixture.client)
            let page = try browser.get(fixture.authorizePath(["scope": scope]))
            let code = try browser.submit(page, ["account": "ada"]).redirect["code"]
            let token = try fixture.token(["code": code])["refresh_token"]
            #expect(try logOut(token, "x")["error"] == "invalid_client")
            let answer = try logOut(token)
            #expect(answer.status == 204)
            #expect(answer.text.isEmpty)
            let refreshed = try fixture.token(["grant_type": "refresh_token", "refresh_token": token])
            #expect(refreshed["error"] == "invalid_grant")
            #expect((try browser.get(fixture.authorizePath(["prompt": "none"])).redirect["code"] != nil) == isSilent)
            let again = try logOut(token)
            #expect(again.status == 400)
            #expect(again["error"] == "invalid_grant")
            #expect(again.diagnosis.contains("can't be used to log out"))
        }
        #expect(receiver.requests.count == 1)
        #expect(try logOut("")["error"] == "invalid_request")
    }

    @Test("an account that goes takes its sessions, grants and consents along")
    func deletedAccount() throws {
        let fixture = try OpenIDFixture()
        let browser = TestBrowser(fixture.client)
        let code = try browser.submit(try browser.get(fixture.authorizePath()), ["account": "grace"]).redirect["code"]
        let bearer = fixture.bearer(try fixture.token(["code": code])["access_token"])
        _ = try fixture.client.request("DELETE", "\(OpenIDFixture.control)/accounts/grace")
        #expect(try fixture.client.get("\(fixture.base)/userinfo", headers: bearer).status == 401)
        #expect(try browser.get(fixture.authorizePath(["prompt": "none"])).redirect["error"] == "login_required")
    }
}
