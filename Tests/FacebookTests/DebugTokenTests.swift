import Foundation
import TestSupport
import Testing

// https://developers.facebook.com/docs/graph-api/reference/debug_token
@Suite("Facebook: debug_token")
struct DebugTokenTests {
    private func refusal(_ fixture: FacebookFixture, _ query: [String: String?]) throws -> Answer {
        let answer = try fixture.graph("/debug_token", query)
        #expect(answer.status == 400, "\(answer)")
        #expect(answer.graphError?["type"] as? String == "OAuthException")
        return answer
    }

    @Test("an app's token may ask, and that of one of its developers; others are told whose may")
    func callers() throws {
        let fixture = try FacebookFixture(app: #""developers":["grace"]"#)
        let (ada, grace) = (try fixture.token(), try fixture.token(account: "grace"))
        for caller in [FacebookFixture.appToken, grace] {
            let data = try fixture.inspected(ada, by: caller)
            #expect(data?["is_valid"] as? Bool == true)
            #expect(data?["type"] as? String == "USER")
            #expect(data?["user_id"] as? String == FacebookFixture.ada)
            #expect(data?["error"] == nil)
        }
        // https://github.com/nyaruka/rapidpro/pull/3734
        let refused = try refusal(fixture, ["input_token": grace, "access_token": ada])
        #expect(refused.graphCode == "100")
        #expect(
            refused.message
                == "(#100) You must provide an app access token, or a user access token that is an owner or developer of the app"
        )
        #expect(refused.diagnosis.contains("developers"))
        #expect(try refusal(fixture, ["input_token": ada, "access_token": "EAAx"]).graphCode == "190")
        #expect(try refusal(fixture, ["input_token": ada]).graphCode == "104")
        let forged = try refusal(fixture, ["input_token": ada, "access_token": "1234567890|x"])
        #expect(forged.message == "Invalid OAuth access token signature.")
        // Asserted by the tests of a public client; the code by its form.
        let none = try refusal(fixture, ["access_token": FacebookFixture.appToken])
        #expect(none.message == "(#100) The parameter input_token is required")
    }

    // https://developers.facebook.com/docs/facebook-login/guides/access-tokens/debugging: "for long-lived access tokens the issued_at field is
    // also returned".
    @Test("only a long-lived token has a time of issue")
    func issuedAt() throws {
        let fixture = try FacebookFixture()
        try fixture.approve()
        let short = try #require(FacebookFixture.fields(try fixture.dialog(["response_type": "token"]))["access_token"])
        #expect(try fixture.inspected(short)?["is_valid"] as? Bool == true)
        #expect(try fixture.inspected(short)?["issued_at"] == nil)
        let long = try #require(
            try fixture.redeem(["grant_type": "fb_exchange_token", "fb_exchange_token": short])["access_token"])
        #expect(try fixture.inspected(long)?["issued_at"] is Int)
    }

    @Test("another app's token can't be looked at; the app's own is one without a person")
    func apps() throws {
        let seed = """
            {"facebook":{"apps":[{"appID":"99","appSecret":"s","redirectURIs":["\(FacebookFixture.callback)"]}]}}
            """
        let fixture = try FacebookFixture(seed: seed)
        let token = try fixture.token()
        let other = try refusal(fixture, ["input_token": token, "access_token": "99|s"])
        #expect(other.graphCode == "100")
        #expect(other.message == "(#100) The App_id in the input_token did not match the Viewing App")
        let own = try fixture.inspected(FacebookFixture.appToken)
        #expect(own?["type"] as? String == "APP")
        #expect(own?["is_valid"] as? Bool == true)
        let bad = try fixture.inspected("EAAx")
        #expect(bad?["is_valid"] as? Bool == false)
        #expect((bad?["error"] as? [String: Any])?["subcode"] == nil)
        // Quoted by public clients: the token's app and the exchange's differ.
        let exchanged = try fixture.redeem([
            "grant_type": "fb_exchange_token", "fb_exchange_token": token, "client_id": "99", "client_secret": "s",
        ])
        #expect(exchanged.graphCode == "1")
        #expect(exchanged.message == "The access token does not belong to application 99")
    }

    @Test("a seed names developers that there are")
    func developers() throws {
        #expect(throws: (any Error).self) { try FacebookFixture(app: #""developers":["nobody"]"#) }
    }
}
