import Foundation
import TestSupport
import Testing
import Understudy

@Suite("An exchange, taken apart") struct ExchangeTests {
    let fixture: InspectorFixture

    init() throws { fixture = try InspectorFixture() }

    @Test("a refusal: why, its documentation, its fields, and the way through its sign-in") func refusal() throws {
        let callback = try fixture.gitHubCallback()
        let code = Answer.fields(String(callback.drop { $0 != "?" }.dropFirst()))["code"] ?? ""
        _ = try fixture.redeem(code)
        let second = try fixture.redeem(code)
        let page = try fixture.shown(second)
        #expect(page.status == 200)
        #expect(page.words.contains("Why it was refused") && page.words.contains(second.diagnosis.dropFirst()))
        #expect(page.text.contains("/_understudy/help/errors/github"))
        #expect(page.words.contains("Request 3 of 3 of the sign-in") && page.text.contains("rel=\"prev\""))
        #expect(page.words.contains("client_secret github-secret-for-tests"))
        #expect(page.words.contains("\"error\": \"bad_verification_code\""))
        #expect(page.words.contains("the last that worked"))
        #expect(try fixture.page("requests/r999999").status == 404)
        #expect(try fixture.page("requests/r999999").words.contains("No request \"r999999\""))
    }

    @Test("a redirect's values, cookies, and fields that occur twice") func redirect() throws {
        let query = "client_id=Iv1.0123456789abcdef&state=one&state=%C3%A4+two&empty="
        let answer = try fixture.client.get(
            "/github.com/login/oauth/authorize?\(query)", headers: ["Cookie": "a=1; theme=dark", "X-Empty": ""])
        let words = try fixture.shown(answer).words
        #expect(words.contains("state one state ä two empty empty"))
        #expect(words.contains("Cookies a 1 theme dark"))
        let code = try fixture.client.get(
            "/_understudy/requests/\(try Self.last(fixture, path: "authorize"))")
        #expect(code.status == 200)
        _ = try fixture.gitHubCallback()
        let redirected = try fixture.page("requests/\(try Self.last(fixture, path: "authorize"))").words
        #expect(redirected.contains("302 Found") && redirected.contains("In its query code "))
    }

    static func last(_ fixture: InspectorFixture, path: String) throws -> String {
        let list = try fixture.client.get("/_understudy/v1/requests?path=*\(path)&limit=1").json["requests"]
        return (list as? [[String: Any]])?.last?["id"] as? String ?? ""
    }

    @Test("what was made for it, and for what it was made") func children() throws {
        let token = try fixture.native()["identityToken"]
        let body = FirebaseFixture.postBody("apple.com", idToken: token, nonce: InspectorFixture.rawNonce)
        let assertion = try fixture.client.post(
            "\(FirebaseFixture.toolkit)/v1/accounts:signInWithIdp?key=\(FirebaseFixture.key)",
            json: ["requestUri": "http://localhost", "postBody": body] as [String: Any])
        let page = try fixture.shown(assertion)
        #expect(page.words.contains("Made for it") && page.words.contains("Within postBody providerId apple.com"))
        let child = try Self.last(fixture, path: "/auth/keys")
        #expect(try fixture.page("requests/\(child)").words.contains("Made for \(assertion.exchangeID):"))
    }

    @Test("two exchanges beside one another") func compared() throws {
        let first = try fixture.redeem("one-wrong-code")
        let second = try fixture.redeem("another-wrong-code", secret: "wrong-secret")
        let page = try fixture.page("requests/\(first.exchangeID)?with=\(second.exchangeID)")
        #expect(page.words.contains("code one-wrong-code another-wrong-code"))
        #expect(page.words.contains("error bad_verification_code incorrect_client_credentials"))
        #expect(page.words.contains("differ in") && page.words.contains("the same"))
        #expect(try fixture.page("requests/\(first.exchangeID)?with=r99999").status == 404)
        let (one, two) = (try fixture.native(), try fixture.native(nonce: nil))
        let claims = try fixture.page("requests/\(one.exchangeID)?with=\(two.exchangeID)").words
        #expect(claims.contains("identityToken: nonce \(InspectorFixture.hash) not there"))
        let same = try fixture.page("requests/\(one.exchangeID)?with=\(one.exchangeID)").words
        #expect(same.contains("are the same"))
    }

    @Test("forms within a field are compared field by field") func comparedWithin() throws {
        let ids = try ["one-raw-nonce", "another-raw-nonce"].map { nonce in
            try fixture.client.post(
                "\(FirebaseFixture.toolkit)/v1/accounts:signInWithIdp?key=\(FirebaseFixture.key)",
                json: ["requestUri": "http://localhost", "postBody": "providerId=apple.com&nonce=\(nonce)"]
            ).exchangeID
        }
        let words = try fixture.page("requests/\(ids[0])?with=\(ids[1])").words
        #expect(words.contains("postBody.nonce one-raw-nonce another-raw-nonce"))
    }

    @Test("saved as an archive, alone and with its sign-in") func archives() throws {
        let callback = try fixture.gitHubCallback()
        let code = Answer.fields(String(callback.drop { $0 != "?" }.dropFirst()))["code"] ?? ""
        let page = try fixture.shown(try fixture.redeem(code))
        let links = page.text.matches(of: #/href="([^"]*format=har)" download="([^"]*)"/#).map { String($0.1) }
        #expect(links.count == 2)
        let counts = try links.map { link -> Int in
            let path = link.replacingOccurrences(of: "&amp;", with: "&").drop { $0 != "/" }.dropFirst(2).drop {
                $0 != "/"
            }
            let log = try fixture.client.get(String(path)).json["log"] as? [String: Any]
            return (log?["entries"] as? [Any])?.count ?? 0
        }
        #expect(counts == [1, 2])
        let refused = try fixture.client.get("/_understudy/v1/requests/r1?format=xml")
        #expect(refused.status == 400)
    }

    @Test(
        "what was ordered, and a connection that was cut",
        arguments: [
            (#"{"status":503}"#, "What was ordered"), (#"{"disconnect":"midBody"}"#, "the client received half of"),
            (#"{"delay":"20ms"}"#, "What was ordered"),
        ])
    func faults(effect: String, words: String) throws {
        let order = #"{"match":{"path":"/auth/keys"},"effect":\#(effect)}"#
        _ = try fixture.client.request(
            "POST", "/_understudy/v1/faults", headers: ["Content-Type": "application/json"], body: Array(order.utf8))
        _ = try? fixture.client.get("/appleid.apple.com/auth/keys")
        let page = try fixture.page("requests/\(try Self.last(fixture, path: "/auth/keys"))")
        #expect(page.words.contains(words) && page.words.contains("ordered"))
    }

    @Test("the pages of a world show that world's exchanges") func worlds() throws {
        let fixture = try InspectorFixture(isAlone: true)
        let signIn = try fixture.native(world: "other")
        #expect(try fixture.page("requests/\(signIn.exchangeID)", world: "other").words.contains("World: other"))
        #expect(try fixture.page("requests/\(signIn.exchangeID)").status == 404)
    }
}

@Suite("An exchange whose secrets are masked") struct MaskedExchangeTests {
    @Test("no secret is on any page of it") func masked() throws {
        var options = RunningServer.Options()
        options.masksSecrets = true
        let fixture = try InspectorFixture(options: options)
        let callback = try fixture.gitHubCallback()
        let code = Answer.fields(String(callback.drop { $0 != "?" }.dropFirst()))["code"] ?? ""
        let good = try fixture.redeem(code)
        let bad = try fixture.redeem(code)
        let native = try fixture.native()
        let secrets = [code, "github-secret-for-tests", good["access_token"] ?? "", native["identityToken"] ?? ""]
        #expect(secrets.allSatisfy { $0.count > 8 })
        let ids = [good, bad, native].map(\.exchangeID)
        var paths = ids.flatMap { ["requests/\($0)", "requests/\($0)/request-body", "requests/\($0)/response-body"] }
        paths += [
            "requests/\(ids[0])?with=\(ids[1])", "requests/\(try ExchangeTests.last(fixture, path: "authorize"))",
        ]
        for path in paths {
            // A saved body may be that of a refusal, which the test's client would take for a refusal of its own
            // request.
            let wire = Wire.asking(port: fixture.server.port, "/_understudy/\(path)")
            let page = try #require(try wire?.receive())
            #expect(page.status == 200)
            for secret in secrets { #expect(!page.text.contains(secret), "\(path)") }
        }
        // Claims of decoded tokens aren't masked, as in the recording.
        #expect(try fixture.shown(native).words.contains("expires in 23 h"))
        #expect(try fixture.shown(bad).words.contains("Secrets are masked: insert the real secrets."))
    }

    @Test("a token is judged by the time of its exchange, however the clock was moved since") func judgedThen() throws {
        let fixture = try InspectorFixture()
        let made = try fixture.client.post(
            "/_understudy/v1/apple/authorizations", json: ["client": AppleFixture.app, "account": "ada"])
        let id = try #require(made.header("Understudy-Request"))
        for step in ["30d", "-60d"] {
            _ = try fixture.client.post("/_understudy/v1/clock", json: ["advance": step])
            let page = try fixture.page("requests/\(id)").text
            #expect(
                page.contains("expires in 23 h") || page.contains("expires in 24 h")
                    || page.contains("expires in 1 day"))
            #expect(page.contains("nothing wrong"))
        }
    }
}
