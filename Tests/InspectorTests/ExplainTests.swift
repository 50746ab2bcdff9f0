import Foundation
import JOSE
import TestSupport
import Testing

@Suite("What is pasted is explained") struct ExplainTests {
    let fixture: InspectorFixture

    init() throws { fixture = try InspectorFixture() }

    @Test("a callback, before and after its code is redeemed") func callback() throws {
        let callback = try fixture.gitHubCallback()
        let code = Answer.fields(String(callback.drop { $0 != "?" }.dropFirst()))["code"] ?? ""
        let fresh = try fixture.explain(callback)
        #expect(fresh.kind == "A callback URL")
        #expect(
            fresh.findings.contains {
                $0.contains("authorization code issued by GitHub") && $0.contains("Ada Lovelace (ada)")
            })
        #expect(
            fresh.findings.contains("the code wasn't redeemed yet")
                && fresh.findings.contains { $0.hasPrefix("code expires in") })
        #expect(fresh.findings.contains { $0.hasPrefix("state is from") })
        #expect(!fresh.findings.contains { $0.hasPrefix("WRONG") })
        _ = try fixture.redeem(code)
        #expect(try fixture.explain(callback).findings.contains { $0.hasPrefix("the code was already redeemed") })
        _ = try fixture.redeem(code)
        #expect(
            try fixture.explain(code).findings.contains {
                $0.hasPrefix("WRONG the code was sent 2 times")
            })
    }

    @Test(
        "a callback that went wrong",
        arguments: [
            (
                "?error=access_denied&state=STATE",
                "WRONG error is \"access_denied\""
            ),
            (
                "?error=user_cancelled_authorize",
                "WRONG error is \"user_cancelled_authorize\""
            ),
            ("?error=consent_required", "the user must consent"),
            ("?code=never-given-out", "WRONG code wasn't issued"),
            ("?code=CODE&state=forged-state", "WRONG state \"forged-state\" wasn't sent"),
            ("?code=CODE&code=CODE", "WRONG \"code\" occurs more than once"),
            ("#access_token=unknown-token&token_type=bearer", "in the URL's fragment"),
            ("?id_token=rubbish&state=STATE", "WRONG id_token isn't a JSON Web Token"),
        ])
    func refused(parameters: String, words: String) throws {
        let fields = Answer.fields(String(try fixture.gitHubCallback().drop { $0 != "?" }.dropFirst()))
        let text = parameters.replacingOccurrences(of: "CODE", with: fields["code"] ?? "")
            .replacingOccurrences(of: "STATE", with: fields["state"] ?? "")
        let found = try fixture.explain("https://app.example/callback\(text)").findings
        #expect(found.contains { $0.contains(words) }, "\(found)")
        // The body of a form_post is explained in the same way.
        guard !parameters.hasPrefix("#") else { return }
        let posted = try fixture.explain(String(text.dropFirst()))
        #expect(posted.kind == "The result of a sign-in")
        #expect(posted.findings.contains { $0.contains(words) })
    }

    @Test("a code that expired, and one that came to another address") func lateCode() throws {
        let callback = try fixture.gitHubCallback()
        let other = callback.replacingOccurrences(of: "/callback?", with: "/elsewhere?")
        #expect(
            try fixture.explain(other).findings.contains {
                $0.hasPrefix("WRONG the code was issued for another redirect_uri")
            })
        _ = try fixture.call("clock", ["advance": "11m"])
        #expect(try fixture.explain(callback).findings.contains { $0.hasPrefix("WRONG") && $0.contains("expired") })
    }

    @Test("tokens, and a token endpoint's answer") func tokens() throws {
        let callback = try fixture.gitHubCallback()
        let code = Answer.fields(String(callback.drop { $0 != "?" }.dropFirst()))["code"] ?? ""
        let answer = try fixture.redeem(code)
        let whole = try fixture.explain(answer.text)
        #expect(whole.kind == "The result of a sign-in")
        #expect(whole.findings.contains { $0.hasPrefix("access_token is") })
        let token = try fixture.explain("Bearer \(answer["access_token"] ?? "")")
        #expect(token.kind == "A code or a token")
        #expect(token.findings.contains { $0.contains("its checksum") && !$0.hasPrefix("WRONG") })
        let native = try fixture.native()
        let text = "  \(native["identityToken"] ?? "")\n"
        #expect(
            try fixture.explain(text).findings.contains { $0.contains("issued the token") }
        )
        #expect(try fixture.explain("eyJ.rubbish").findings.contains { $0.hasPrefix("WRONG the token can't be read") })
    }

    @Test("why a token of GitHub's has ended") func ended() throws {
        let tokens = try (0..<11).map { _ in
            let callback = try fixture.gitHubCallback()
            let code = Answer.fields(String(callback.drop { $0 != "?" }.dropFirst()))["code"] ?? ""
            return try #require(try fixture.redeem(code)["access_token"])
        }
        let ended = try fixture.explain(tokens[0]).findings
        #expect(ended.contains { $0.hasPrefix("WRONG the value no longer works") })
        let latest = try fixture.explain(tokens[10]).findings
        #expect(!latest.contains { $0.hasPrefix("WRONG") })
    }

    @Test("a nonce alone is looked for in the recording") func nonce() throws {
        let raw = InspectorFixture.rawNonce
        #expect(
            try fixture.explain(raw).findings.contains { $0.hasPrefix("no recorded request") })
        _ = try fixture.native()
        _ = try fixture.native(nonce: raw)
        let found = try fixture.explain(raw)
        #expect(found.kind.hasPrefix("Perhaps a raw nonce"))
        #expect(found.findings.contains("this text's SHA-256 was sent to Apple as the nonce, as it should be"))
        #expect(found.findings.contains { $0.hasPrefix("this text was sent to Apple unhashed") })
        #expect(try fixture.explain(InspectorFixture.hash).kind == "A SHA-256, as of a nonce")
    }

    @Test("the page takes a form with its token only, and keeps what was pasted out of addresses") func page() throws {
        let token = try fixture.native()["identityToken"] ?? ""
        let answer = try fixture.submit(
            "explain", ["value": token, "rawNonce": InspectorFixture.rawNonce], from: "explain")
        #expect(answer.status == 200)
        #expect(answer.words.contains("A JSON Web Token: ID token of Apple"))
        #expect(answer.words.contains("that was given here"))
        #expect(answer.text.contains("/_understudy/requests/r"))
        #expect(answer.text.contains("method=\"post\"") && !answer.text.contains("explain?"))
        #expect(try fixture.client.post("/_understudy/explain", form: ["value": token]).status == 403)
        for value in [" \n", String(repeating: "x", count: 40_000)] {
            let refused = try fixture.submit("explain", ["value": value], from: "explain")
            #expect(refused.status == 400 && refused.text.contains("role=\"alert\""))
        }
    }

    @Test("worlds know nothing of one another's codes") func worlds() throws {
        let fixture = try InspectorFixture(isAlone: true)
        let callback = try fixture.gitHubCallback()
        let answer = try fixture.call("explain", ["value": callback], world: "other")
        #expect(answer.json["sound"] as? Bool == false)
        #expect(answer.text.contains("issued in this test world"))
    }

    @Test("an address is one, although a sign-in brought it") func address() throws {
        let order: [String: Any] = ["provider": "apple", "outcome": "approve", "account": "grace", "shareEmail": false]
        try #require(fixture.call("outcomes", order).status == 201)
        let answer = try fixture.call(
            "apple/authorizations", ["client": "com.example.app", "scopes": ["email"], "account": "grace"])
        let hidden = try #require(answer.json["email"] as? String)
        for (address, kind) in [(hidden, "a private relay address"), ("ada@example.com", "an ordinary address")] {
            let explained = try fixture.call("explain", ["value": address])
            #expect(explained.json["kind"] as? String == "An e-mail address" && explained.text.contains(kind))
            #expect(explained.json["sound"] as? Bool == true && !explained.text.contains("expired"))
        }
    }

    @Test(
        "what can't be explained is refused",
        arguments: ["{}", #"{"value":""}"#, #"{"value":7}"#, #"{"value":"x","more":1}"#])
    func body(text: String) throws {
        let answer = try fixture.client.request("POST", "/_understudy/v1/explain", body: Array(text.utf8))
        #expect(answer.status == 400 && !answer.diagnosis.isEmpty)
    }
}
