import Foundation
import JSON
import TestSupport
import Testing

@Suite("Assistants order what happens")
struct OrderToolTests {
    private static let native: JSONValue = ["client": "com.example.app", "account": "ada"]

    @Test("an outcome ends the next sign-in as the device tells it, and is withdrawn")
    func outcomes() throws {
        let apple = try AppleFixture()
        let assistant = Assistant(url: apple.server.url)
        let cancel: JSONValue = ["provider": "apple", "outcome": "cancel"]
        let order = try assistant.ask("order_outcome", cancel)
        #expect(try assistant.ask("list_orders")["outcomes"]?.array?.first?["id"] == order["id"])
        let refusal = try assistant.ask("sign_in_natively", OrderToolTests.native)
        #expect(refusal["error"]?["code"]?.integer == 1001)
        #expect(try assistant.ask("list_orders") == ["outcomes": [], "faults": []])
        _ = try assistant.ask("order_outcome", cancel)
        _ = try assistant.ask("remove_orders")
        #expect(try assistant.ask("sign_in_natively", OrderToolTests.native)["identityToken"] != nil)
        #expect(
            try assistant.refusal("order_outcome", ["provider": "aple", "outcome": "cancel"]).contains("\"apple\""))
        #expect(
            try assistant.refusal("order_outcome", ["provider": "apple", "outcome": "approve", "account": "no"]) != "")
    }

    @Test("a fault shows at its endpoint; what doesn't fit is refused with what would")
    func faults() throws {
        let apple = try AppleFixture()
        let assistant = Assistant(url: apple.server.url)
        let match: JSONValue = ["host": "appleid.apple.com", "path": "/auth/keys"]
        let fault = try assistant.ask("order_fault", ["match": match, "effect": ["status": 503], "times": .null])
        #expect(try apple.client.get("\(AppleFixture.prefix)/auth/keys").status == 503)
        #expect(try assistant.ask("list_sign_ins")["flows"]?.array?.first?["steps"]?.array?.first?["fault"] != nil)
        _ = try assistant.ask("remove_orders", ["id": fault["id"] ?? ""])
        #expect(try apple.client.get("\(AppleFixture.prefix)/auth/keys").status == 200)
        #expect(try assistant.refusal("remove_orders", ["id": fault["id"] ?? ""]).contains("used up"))
        #expect(
            try assistant.refusal("order_fault", ["match": match, "effect": ["error": "x"]]).contains("jwks"))
        let endpoints = try assistant.ask("list_endpoints", ["host": "apple", "path": "keys"])
        #expect(endpoints["found"]?.integer == 1)
        #expect(endpoints["endpoints"]?.array?.first?["path"]?.string == "/auth/keys")
    }

    @Test("a scenario is played and ended")
    func scenarios() throws {
        let apple = try AppleFixture()
        let assistant = Assistant(url: apple.server.url)
        let names = try assistant.ask("list_scenarios")["scenarios"]?.array?.compactMap { $0["name"]?.string } ?? []
        #expect(names.contains("provider-outage"))
        #expect(try assistant.ask("play_scenario", ["name": "provider-outage"])["advice"] != nil)
        #expect(try assistant.ask("list_orders")["faults"] != [])
        #expect(
            try assistant.ask("play_scenario", ["name": "provider-outage", "end": true])["withdrawn"]?.bool == true)
        #expect(try assistant.ask("list_orders")["faults"] == [])
        #expect(try assistant.refusal("play_scenario", ["name": "provider-outag"]).contains("provider-outage"))
    }

    @Test("time is told, moved and brought back")
    func clock() throws {
        let apple = try AppleFixture()
        let assistant = Assistant(url: apple.server.url)
        let order: JSONValue = ["set": "2030-01-01T00:00:00Z", "freeze": true]
        #expect(try assistant.ask("clock", order)["now"]?.string == "2030-01-01T00:00:00Z")
        #expect(try assistant.ask("clock", ["advance": "-1h"])["now"]?.string == "2029-12-31T23:00:00Z")
        #expect(try assistant.ask("clock")["frozen"]?.bool == true)
        #expect(try assistant.ask("clock", ["reset": true])["frozen"]?.bool == false)
        #expect(try assistant.refusal("clock", ["advance": "soon"]).contains("$.advance"))
    }

    @Test("a token is minted, and what is broken in it is explained")
    func tokens() throws {
        let apple = try AppleFixture()
        let assistant = Assistant(url: apple.server.url)
        let order: JSONValue = [
            "provider": "apple", "client": "com.example.app", "account": "ada", "claims": ["exp": "-1h"],
        ]
        let minted = try assistant.ask("mint_token", order)
        let explained = try assistant.call("explain_value", ["value": minted["token"] ?? ""])
        #expect(explained.json["sound"]?.bool == false)
        #expect(explained.text.contains("expired"), "\(explained.text)")
        #expect(try assistant.refusal("mint_token", ["provider": "github", "client": "x"]).contains("no ID tokens"))
    }

    @Test("the SDKs of Google and Facebook are played, too, and other refusals are the tool's")
    func natively() throws {
        let apple = try AppleFixture()
        let assistant = Assistant(url: apple.server.url)
        let google: JSONValue = [
            "provider": "google", "client": "example.apps.googleusercontent.com", "account": "ada", "nonce": "n",
        ]
        #expect(try assistant.ask("sign_in_natively", google)["idToken"] != nil)
        #expect(
            try assistant.refusal("sign_in_natively", ["client": "com.example.app", "account": "no"]).contains("no"))
        _ = try assistant.ask("order_outcome", ["provider": "google", "outcome": "cancel"])
        #expect(try assistant.ask("sign_in_natively", google)["error"]?["code"]?.string == "canceled")
        let unknown = try assistant.ask("sign_in_natively", ["client": "com.example.apq"])
        #expect(unknown["error"]?["code"]?.integer == 1000)
    }
}
