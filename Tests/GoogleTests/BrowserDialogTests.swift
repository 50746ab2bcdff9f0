import Foundation
import TestSupport
import Testing

/// FedCM's endpoints, as far as no browser has to call them; `Tests/Browser/test_google_dialog.py` does.
@Suite("Google: the browser's dialog")
struct BrowserDialogTests {
    private static let origin = "https://app.example"
    private static let host = "/accounts.google.com"
    let fixture: FirebaseFixture

    init() throws {
        fixture = try FirebaseFixture(
            seed: """
                {"google": {"clients": [
                    {"clientID": "buttons", "javaScriptOrigins": ["https://app.example"]},
                    {"clientID": "inside", "javaScriptOrigins": ["https://app.example"], "organization": "example.com"},
                    {"clientID": "auto", "javaScriptOrigins": ["https://app.example"],
                     "interaction": {"mode": "auto", "account": "ada"}}]}}
                """)
    }

    private func get(_ path: String, _ headers: [String: String] = ["Sec-Fetch-Dest": "webidentity"]) throws -> Answer {
        try fixture.client.get(path, headers: headers)
    }

    private func post(
        _ form: [String: String], at path: String = "issue", origin: String? = BrowserDialogTests.origin,
        purpose: String? = "webidentity"
    ) throws -> Answer {
        var headers: [String: String] = [:]
        headers["Origin"] = origin
        headers["Sec-Fetch-Dest"] = purpose
        return try fixture.client.post(
            "\(BrowserDialogTests.host)/gsi/fedcm/\(path)", form: ["client_id": "buttons"].merging(form) { $1 },
            headers: headers)
    }

    private func accounts() throws -> [[String: Any]] {
        let answer = try get("\(BrowserDialogTests.host)/gsi/fedcm/accounts")
        return try #require(answer.json["accounts"] as? [[String: Any]])
    }

    private func ada() throws -> [String: Any] {
        try #require(try accounts().first { $0["email"] as? String == "ada@example.com" })
    }

    private func claims(_ answer: Answer) throws -> [String: Any] {
        let token = try #require(answer.json["token"] as? String)
        return AppleFixture.claims(token)
    }

    private func error(_ answer: Answer) -> String? {
        (answer.json["error"] as? [String: Any])?["error"] as? String
    }

    @Test("the well-known file names the config file in the way in which it was asked for")
    func wellKnown() throws {
        let ways = [
            ("/google.com", [:], ""), ("", [:], ""), ("/accounts.google.com", [:], ""),
            ("", ["Host": "google.com"], "https://accounts.google.com"),
        ]
        for (prefix, headers, base) in ways {
            let answer = try get("\(prefix)/.well-known/web-identity", headers)
            let start = base.isEmpty ? "http://localhost:\(fixture.server.port)/accounts.google.com" : base
            #expect((answer.json["provider_urls"] as? [String])?.first?.hasPrefix(start) == true, "\(prefix)")
            #expect((answer.json["login_url"] as? String)?.hasPrefix(start) == true)
        }
        let config = try get("\(BrowserDialogTests.host)/gsi/fedcm.json", [:])
        for name in ["accounts", "client_metadata", "id_assertion", "disconnect"] {
            let url = try #require(config.json["\(name)_endpoint"] as? String)
            #expect(url.contains("/accounts.google.com/gsi/fedcm/"))
        }
    }

    @Test("the dialog's choice brings an ID token with the page's nonce, and makes the client a known one")
    func choice() throws {
        let sub = try #require(try ada()["id"] as? String)
        #expect((try ada()["approved_clients"] as? [String])?.isEmpty == true)
        let answer = try post([
            "account_id": sub, "params": #"{"nonce":"n"}"#, "disclosure_text_shown": "true",
            "is_auto_selected": "false",
        ])
        #expect(answer.status == 200)
        #expect(answer.header("Access-Control-Allow-Origin") == BrowserDialogTests.origin)
        #expect(answer.header("Access-Control-Allow-Credentials") == "true")
        let payload = try claims(answer)
        #expect(payload["nonce"] as? String == "n")
        #expect(payload["aud"] as? String == "buttons")
        #expect(payload["sub"] as? String == sub)
        #expect(try ada()["approved_clients"] as? [String] == ["buttons"])
        let older = try post(["account_id": sub, "nonce": "m"])
        #expect(try claims(older)["nonce"] as? String == "m")
    }

    @Test(
        "only a browser's dialog gets a credential, and only for pages of the client's origins",
        arguments: [
            ("https://app.example", "webidentity", nil), ("https://evil.example", "webidentity", "origin_mismatch"),
            ("null", "webidentity", "origin_mismatch"), (nil, "webidentity", "invalid_request"),
            ("https://app.example", "empty", "invalid_request"), ("https://app.example", nil, "invalid_request"),
        ] as [(String?, String?, String?)])
    func origins(origin: String?, purpose: String?, expected: String?) throws {
        let sub = try #require(try ada()["id"] as? String)
        for path in ["issue", "disconnect"] {
            if path == "disconnect" { _ = try post(["account_id": sub]) }
            // A form can't name the origin.
            let answer = try post(
                ["account_id": sub, "account_hint": sub, "origin": BrowserDialogTests.origin], at: path, origin: origin,
                purpose: purpose)
            #expect(error(answer) == expected)
            #expect((answer.json["token"] == nil) == (expected != nil || path == "disconnect"))
        }
    }

    @Test("accounts aren't listed for a page's script")
    func scripts() throws {
        let answer = try get("\(BrowserDialogTests.host)/gsi/fedcm/accounts", ["Origin": BrowserDialogTests.origin])
        #expect(answer.status == 400)
        #expect(answer.diagnosis.contains("navigator.credentials.get"))
        #expect(answer.header("Access-Control-Allow-Origin") == nil)
    }

    @Test("unknown clients and people are refused in the words that a browser reads")
    func refusals() throws {
        let sub = try #require(try ada()["id"] as? String)
        let nobody = try post(["account_id": "1"])
        #expect(error(nobody) == "access_denied")
        #expect(nobody.header("Access-Control-Allow-Credentials") == "true")
        #expect(error(try post(["client_id": "buton", "account_id": sub])) == "invalid_client")
        #expect(error(try post(["client_id": "inside", "account_id": sub])) == "access_denied")
        #expect(error(try post(["account_hint": sub], at: "disconnect")) == "invalid_hint")
        let metadata = "\(BrowserDialogTests.host)/gsi/fedcm/clientmetadata?client_id="
        #expect(try get(metadata + "buttons").status == 200)
        #expect(error(try get(metadata + "buton")) == "invalid_client")
    }

    @Test("an ordered outcome decides, whomever the browser names, and the script is told before")
    func outcomes() throws {
        func isOrdered(_ client: String = "buttons") throws -> Bool? {
            let status = try get(
                "\(BrowserDialogTests.host)/gsi/status?client_id=\(client)", ["Origin": BrowserDialogTests.origin])
            return status.json["isOrdered"] as? Bool
        }
        let sub = try #require(try ada()["id"] as? String)
        #expect(try isOrdered() == false)
        #expect(try isOrdered("auto") == true)
        try fixture.order(["provider": "google", "outcome": "approve", "account": "grace"])
        #expect(try isOrdered() == true)
        #expect(try claims(try post(["account_id": sub]))["email"] as? String == "grace@example.com")
        #expect(try isOrdered() == false)
        try fixture.order(["provider": "google", "outcome": "cancel"])
        #expect(error(try post(["account_id": sub])) == "access_denied")
        try fixture.order(["provider": "google", "outcome": "error", "error": "temporarily_unavailable"])
        #expect(error(try post(["account_id": sub])) == "temporarily_unavailable")
    }

    @Test("a fault at the ID assertion is worded as a browser reads it")
    func faults() throws {
        let order: [String: Any] = [
            "match": ["host": "accounts.google.com", "path": "/gsi/fedcm/issue"],
            "effect": ["error": "server_error"],
        ]
        let ordered = try fixture.client.post("\(FirebaseFixture.control)/faults", json: order)
        #expect(ordered.status == 201)
        let answer = try post(["account_id": "1"])
        #expect(error(answer) == "server_error")
        #expect(answer.header("Access-Control-Allow-Credentials") == "true")
    }

    @Test("a page that is disconnected has to ask for consent again")
    func disconnection() throws {
        let sub = try #require(try ada()["id"] as? String)
        _ = try post(["account_id": sub])
        let answer = try post(["account_hint": "ada@example.com"], at: "disconnect")
        #expect(answer.json["account_id"] as? String == sub)
        #expect((try ada()["approved_clients"] as? [String])?.isEmpty == true)
    }

    @Test("login_hint skips the choice of an account in pop-ups of the script, and not in One Tap")
    func hints() throws {
        let query = ["client_id": "buttons", "origin": BrowserDialogTests.origin, "login_hint": "ada@example.com"]
        let button = try get("\(BrowserDialogTests.host)/gsi/select?\(TestClient.encode(query))", [:])
        #expect(button.text.contains("value=\"continue\""))
        let oneTap = try get("\(BrowserDialogTests.host)/gsi/iframe?\(TestClient.encode(query))", [:])
        #expect(!oneTap.text.contains("value=\"continue\""))
        let relay = [
            "client_id": "buttons", "response_type": "code", "scope": "openid", "login_hint": "ada@example.com",
            "redirect_uri": "storagerelay://https/app.example?id=auth1",
        ]
        func popup(_ more: [String: String]) throws -> Answer {
            let query = TestClient.encode(relay.merging(more) { $1 })
            return try get("\(BrowserDialogTests.host)/o/oauth2/v2/auth?\(query)", [:])
        }
        #expect(try popup([:]).text.contains("value=\"continue\""))
        #expect(try !popup(["prompt": "select_account"]).text.contains("value=\"continue\""))
        #expect(try !popup(["login_hint": "nobody@example.com"]).text.contains("value=\"continue\""))
    }
}
