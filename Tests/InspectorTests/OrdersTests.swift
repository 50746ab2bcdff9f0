import Foundation
import TestSupport
import Testing

/// Orders are made by forms, and waiting ones are listed.
@Suite struct OrdersTests {
    let fixture: InspectorFixture

    init() throws { fixture = try InspectorFixture() }

    private init(_ fixture: InspectorFixture) { self.fixture = fixture }

    private static let tokenEndpoint = ["provider": "apple", "endpoint": "POST appleid.apple.com/auth/token"]

    private func query(_ path: String, _ fields: [String: String]) throws -> Answer {
        var url = URLComponents()
        url.queryItems = fields.map { URLQueryItem(name: $0.key, value: $0.value) }
        return try fixture.page("\(path)?\(url.percentEncodedQuery ?? "")")
    }

    private func queued(_ kind: String, world: String? = nil) throws -> [[String: Any]] {
        let base = world.map { "/~\($0)" } ?? ""
        return try fixture.client.get("\(base)/_understudy/v1/\(kind)").json[kind] as? [[String: Any]] ?? []
    }

    /// Sends the form of a fault at Apple's token endpoint.
    private func fault(_ fields: [String: String], _ more: [String: String] = [:]) throws -> Answer {
        let sent = Dictionary(uniqueKeysWithValues: fields.map { ("field.\($0.key)", $0.value) })
        return try fixture.submit(
            "orders/fault", sent.merging(OrdersTests.tokenEndpoint) { $1 }.merging(more) { $1 })
    }

    // MARK: - Faults

    @Test("an endpoint is chosen in steps, and the form offers what fits there")
    func steps() throws {
        let start = try fixture.page("orders/fault")
        #expect(start.text.contains("<option value=\"apple\">Apple</option>"))
        #expect(!start.text.contains("name=\"endpoint\""))
        let second = try query("orders/fault", ["provider": "apple"])
        #expect(second.text.contains("POST /auth/token — redeem a code, or refresh"))
        let token = try query("orders/fault", OrdersTests.tokenEndpoint).text
        for fits in ["error", "token.claims.1", "token.signature", "malformedJSON", "rotateKeys", "status", "delay"] {
            #expect(token.contains("name=\"field.effect.\(fits)\""), "\(fits)")
        }
        #expect(token.contains("invalid_grant"))
        for misfit in ["state", "iss", "code", "jwks", "reply.code", "lose"] {
            #expect(!token.contains("name=\"field.effect.\(misfit)\""), "\(misfit)")
        }
        // The form's fields for the effect come before those for the number of times and the probability.
        let first = try #require(token.range(of: "Error code"))
        #expect(first.lowerBound < (token.range(of: "Probability")?.lowerBound ?? first.lowerBound))
        let keys = try query("orders/fault", ["provider": "apple", "endpoint": "GET appleid.apple.com/auth/keys"]).text
        #expect(keys.contains("name=\"field.effect.jwks\"") && !keys.contains("field.effect.error"))
        let authorization = try query(
            "orders/fault", ["provider": "apple", "endpoint": "GET appleid.apple.com/auth/authorize"]
        ).text
        #expect(authorization.contains("name=\"field.effect.state\""))
        // Any of OAuth's errors can be typed, so the field is no menu.
        #expect(authorization.contains("list=\"options-field.effect.error\""))
        #expect(
            !authorization.contains("<select name=\"field.effect.error\"")
                && token.contains("<select name=\"field.effect.error\""))
        // Another provider's endpoint isn't offered, even if the address names it.
        let mixed = try query("orders/fault", ["provider": "github", "endpoint": "POST appleid.apple.com/auth/token"])
        #expect(!mixed.text.contains("What goes wrong</legend>"))
    }

    @Test(
        "the form orders what it shows, and the control API says so",
        arguments: [
            (
                ["effect.error": "invalid_grant", "effect.description": "no"],
                #"{"description":"no","error":"invalid_grant"}"#
            ),
            (["effect.status": "418", "effect.body": "tea"], #"{"body":"tea","status":418}"#),
            (
                ["effect.status": "503", "effect.headers.1": "Retry-After", "effect.headers.1.value": "7"],
                #"{"headers":{"Retry-After":"7"},"status":503}"#
            ),
            (["effect.delay": "2s"], #"{"delay":"2s"}"#),
            (["effect.status": "503", "effect.delay": "1s"], #"{"delay":"1s","status":503}"#),
            (["effect.disconnect": "midBody"], #"{"disconnect":"midBody"}"#),
            (["effect.rotateKeys": "drop"], #"{"rotateKeys":"drop"}"#),
            (["effect.malformedJSON": "on"], #"{"malformedJSON":true}"#),
            (
                [
                    "effect.token.claims.1": "aud", "effect.token.claims.1.value": "other",
                    "effect.token.claims.2": "email_verified", "effect.token.claims.2.value": "false",
                    "effect.token.claims.3": "nonce", "effect.token.claims.3.value": "",
                    "effect.token.signature": "none",
                ],
                #"{"token":{"claims":{"aud":"other","email_verified":false,"nonce":null},"signature":"none"}}"#
            ),
        ])
    func effects(fields: [String: String], effect: String) throws {
        let answer = try fault(fields)
        #expect(answer.status == 303 && answer.location.contains("/_understudy/orders?notice="))
        let fault = try #require(try queued("faults").first)
        let text = try JSONSerialization.data(withJSONObject: fault["effect"] ?? [:], options: .sortedKeys)
        #expect(String(decoding: text, as: UTF8.self) == effect)
        #expect((fault["match"] as? [String: Any])?["path"] as? String == "/auth/token")
        #expect(try fixture.page("orders").text.contains("Apple: redeem a code, or refresh"))
    }

    @Test("client, fields, times and probability narrow it down")
    func match() throws {
        _ = try fault([
            "effect.error": "invalid_grant", "match.client": "com.example.web", "after": "2", "times.null": "on",
            "probability": "0.5", "match.fields.1": "grant_type", "match.fields.1.value": "refresh_token",
        ])
        let fault = try #require(try queued("faults").first)
        let match = try #require(fault["match"] as? [String: Any])
        #expect(match["client"] as? String == "com.example.web")
        #expect(match["fields"] as? [String: String] == ["grant_type": "refresh_token"])
        #expect(fault["after"] as? Int == 2 && fault["times"] is NSNull && fault["probability"] as? Double == 0.5)
        let page = try fixture.page("orders").text
        #expect(page.contains("for ever, after 2 more, with probability 0.5"))
        #expect(page.contains("grant_type=refresh_token"))
    }

    @Test("what is ordered happens")
    func happens() throws {
        _ = try fault(["effect.status": "503"])
        let first = try fixture.client.post("/appleid.apple.com/auth/token", form: [:])
        let second = try fixture.client.post("/appleid.apple.com/auth/token", form: [:])
        #expect(first.status == 503 && second.status == 400)
        #expect(try fixture.page("orders").text.contains("No outcome or fault is waiting"))
    }

    @Test("a refusal stands at its fields, with its status and the form still filled in")
    func refused() throws {
        let answer = try fault(["effect.delay": "soon", "times": "often", "match.client": "<b>"])
        #expect(answer.status == 400)
        #expect(answer.text.contains("role=\"alert\"") && answer.text.contains("id=\"field.effect.delay-fault\""))
        #expect(answer.text.contains("id=\"field.times-fault\""))
        #expect(answer.diagnosis.contains("$."))
        #expect(answer.text.contains("value=\"soon\"") && answer.text.contains("value=\"&lt;b&gt;\""))
        #expect(try queued("faults").isEmpty)
        let nowhere = try fixture.submit("orders/fault", ["provider": "apple", "endpoint": "GET nowhere/"])
        #expect(nowhere.status == 400)
    }

    @Test("the call is shown before it is made, as a command that makes it")
    func preview() throws {
        let answer = try fault(
            ["effect.error": "invalid_grant", "effect.description": "it's over"], ["preview": "1"])
        #expect(answer.status == 200 && answer.text.contains("id=\"sent-json\""))
        // A single quote ends the shell's word, and is written between two words.
        #expect(answer.text.contains(#"it&#39;\&#39;&#39;s over"#))
        #expect(try queued("faults").isEmpty)
    }

    // MARK: - Sign-ins

    @Test("an outcome is ordered with what a person could choose at the provider")
    func outcome() throws {
        let apple = try query("orders/sign-in", ["provider": "apple"]).text
        #expect(apple.contains("name=\"field.shareEmail\"") && apple.contains("user_cancelled_authorize"))
        #expect(apple.contains("<option value=\"ada\">Ada Lovelace, ada@example.com</option>"))
        let github = try query("orders/sign-in", ["provider": "github"]).text
        #expect(!github.contains("field.shareEmail") && github.contains("access_denied"))
        let answer = try fixture.submit(
            "orders/sign-in",
            [
                "provider": "apple", "field.client": "com.example.app", "field.account": "grace",
                "field.outcome": "approve", "field.shareEmail": "false", "field.name.given": "Amazing",
                "field.times": "3", "field.error": "left over",
            ])
        #expect(answer.status == 303)
        let outcome = try #require(try queued("outcomes").first)
        #expect(outcome["account"] as? String == "grace" && outcome["shareEmail"] as? Bool == false)
        #expect(outcome["name"] as? [String: String] == ["given": "Amazing", "family": ""])
        // The error belongs to another outcome.
        #expect(outcome["error"] == nil)
        let page = try fixture.page("orders").text
        #expect(page.contains("3 times") && page.contains("hides the address") && page.contains("Amazing"))
    }

    @Test(
        "an outcome that can't be is refused",
        arguments: [
            (["outcome": "approve", "account": "nobody"], "account", "no account"),
            (["outcome": "error"], "error", "needs the error"),
            (["outcome": "approve", "times": "0"], "times", "whole number"),
        ])
    func badOutcome(fields: [String: String], field: String, words: String) throws {
        let sent = Dictionary(uniqueKeysWithValues: fields.map { ("field.\($0.key)", $0.value) })
        let answer = try fixture.submit("orders/sign-in", sent.merging(["provider": "apple"]) { $1 })
        #expect(answer.status == 400 && answer.text.contains("id=\"field.\(field)-fault\""))
        #expect(answer.text.contains("role=\"alert\"") && answer.text.contains(words))
        #expect(try queued("outcomes").isEmpty)
        #expect(try fixture.submit("orders/sign-in", ["provider": "nobody"]).status == 400)
    }

    @Test("people are found while somebody writes")
    func people() throws {
        let found = try fixture.client.get("/_understudy/orders/people?search=hop")
        #expect(found.text == #"[{"value":"grace","text":"Grace Hopper, grace@example.com"}]"#)
        #expect(found.header("Cache-Control") == "no-store")
    }

    // MARK: - Withdrawing

    @Test("an order is withdrawn by its button, and a stale button says so")
    func withdraw() throws {
        _ = try fixture.submit("orders/sign-in", ["provider": "github", "field.outcome": "cancel"])
        _ = try fixture.submit("orders/sign-in", ["provider": "google", "field.outcome": "cancel"])
        let id = try #require(try queued("outcomes").first?["id"] as? String)
        #expect(try fixture.submit("orders/withdraw", ["kind": "outcome", "id": id]).status == 303)
        #expect(try queued("outcomes").count == 1)
        let again = try fixture.submit("orders/withdraw", ["kind": "outcome", "id": id])
        #expect(again.status == 404 && again.text.contains("it was used up") && again.text.contains("Withdraw all"))
        let hostile = try fixture.submit("orders/withdraw", ["kind": "fault", "id": "../reset?<script>"])
        #expect(hostile.status == 404 && !hostile.text.contains("<script>"))
        #expect(try fixture.submit("orders/withdraw-all", [:]).status == 303)
        #expect(try queued("outcomes").isEmpty)
    }

    @Test("a form without this daemon's token changes nothing")
    func forged() throws {
        let answer = try fixture.client.post(
            "/_understudy/orders/sign-in",
            form: ["provider": "github", "field.outcome": "cancel", "formToken": "another"])
        #expect(answer.status == 403)
        #expect(try queued("outcomes").isEmpty)
    }

    @Test("worlds have orders of their own")
    func worlds() throws { try OrdersTests(InspectorFixture(isAlone: true)).checkWorlds() }

    private func checkWorlds() throws {
        let answer = try fixture.submit(
            "orders/sign-in", ["provider": "github", "field.outcome": "cancel"], world: "w1")
        #expect(answer.location.contains("/~w1/_understudy/orders?notice="))
        #expect(try queued("outcomes").isEmpty)
        #expect(try queued("outcomes", world: "w1").count == 1)
        #expect(try fixture.page("orders").text.contains("No outcome or fault is waiting"))
        #expect(try fixture.page("orders", world: "w1").text.contains("cancels"))
    }

    @Test("hostile texts of orders are text")
    func hostile() throws {
        _ = try fixture.client.post(
            "/_understudy/v1/faults",
            json: [
                "match": ["fields": ["scope": "<script>alert(1)</script>\u{202E}"]],
                "effect": ["status": 500, "body": "\u{1B}[31m"],
            ])
        let page = try fixture.page("orders").text
        #expect(!page.contains("<script>alert") && page.contains("&lt;script&gt;alert(1)"))
        #expect(!page.contains("\u{202E}") && page.contains("⟨U+202E⟩"))
    }
}
