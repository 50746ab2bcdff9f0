import Foundation
import TestSupport
import Testing

@testable import Google

/// Google's script for web pages, as far as no browser has to run it; `Tests/Browser/test_google_script.py` does.
@Suite("Google: Identity Services")
struct BrowserScriptTests {
    static let origin = "https://app.example"
    let fixture: FirebaseFixture

    init() throws {
        fixture = try FirebaseFixture(
            seed: """
                {"google": {"clients": [
                    {"clientID": "buttons", "redirectURIs": ["https://app.example/login"],
                     "javaScriptOrigins": ["https://app.example", "http://localhost:*"]},
                    {"clientID": "phone", "type": "ios"}]}}
                """)
    }

    private func get(_ path: String, _ query: [String: String], origin: String? = nil) throws -> Answer {
        try fixture.client.get(
            "/accounts.google.com\(path)?\(TestClient.encode(query))",
            headers: ["Accept": "text/html"].merging(origin.map { ["Origin": $0] } ?? [:]) { $1 })
    }

    @Test("the script is called with Google's addresses in the way in which it was asked for")
    func script() throws {
        let answer = try get("/gsi/client", [:], origin: BrowserScriptTests.origin)
        #expect(answer.text.hasPrefix("\(Scripts.gsi)("))
        #expect(answer.text.hasSuffix("/oauth2.googleapis.com\");\n"))
        #expect(answer.header("Access-Control-Allow-Origin") == BrowserScriptTests.origin)
    }

    @Test(
        "no page of another origin gets an answer",
        arguments: [
            ("https://app.example", 200), ("http://localhost:5173", 200), ("https://evil.example", 400),
            ("https://app.example.evil.example", 400), ("https://app.example:444", 400), ("http://app.example", 400),
            ("https://app.example/", 400), ("null", 400), ("http://localhost:5173.evil.example", 400), ("", 400),
        ])
    func origins(origin: String, status: Int) throws {
        for path in ["/gsi/select", "/gsi/iframe"] {
            let answer = try get(path, ["client_id": "buttons", "origin": origin])
            #expect(answer.status == status, "\(path)")
            if status == 400, !origin.isEmpty {
                #expect(answer.text.contains("Error 400: origin_mismatch"))
                #expect(answer.diagnosis.contains("javaScriptOrigins") || answer.diagnosis.contains("an origin is"))
            }
        }
        let relay = origin.replacingOccurrences(of: "://", with: "/")
        let popup = try get(
            "/o/oauth2/v2/auth",
            [
                "client_id": "buttons", "response_type": "code", "scope": "openid",
                "redirect_uri": "storagerelay://\(relay)?id=auth1",
            ])
        #expect(popup.status == status)
        let asked = try get("/gsi/status", ["client_id": "buttons"], origin: origin)
        #expect(asked.status == (status == 200 ? 200 : 403))
    }

    @Test("a client that isn't there, or isn't of the web, has no origins")
    func clients() throws {
        let unknown = try get("/gsi/select", ["client_id": "nobody", "origin": BrowserScriptTests.origin])
        #expect(unknown.status == 401)
        let phone = try get("/gsi/select", ["client_id": "phone", "origin": BrowserScriptTests.origin])
        #expect(phone.status == 400)
        #expect(phone.diagnosis.contains("use one of type web"))
        let elsewhere = try get(
            "/gsi/select",
            [
                "client_id": "buttons", "origin": BrowserScriptTests.origin, "ux_mode": "redirect",
                "login_uri": "https://elsewhere.com/login",
            ])
        #expect(elsewhere.text.contains("redirect_uri_mismatch"))
        let relay = try get(
            "/gsi/select",
            [
                "client_id": "buttons", "origin": BrowserScriptTests.origin, "ux_mode": "redirect",
                "login_uri": "storagerelay://https/app.example?id=auth1",
            ])
        #expect(relay.text.contains("redirect_uri_mismatch"))
    }

    @Test(
        "the code of a pop-up is redeemed with postmessage, or with the origin of the page that opened it",
        arguments: [
            ("postmessage", 200), (BrowserScriptTests.origin, 200), ("http://localhost:3000", 400),
            ("https://app.example/login", 400), ("storagerelay://https/app.example?id=auth1", 400),
        ])
    func popupOrigin(sent: String, status: Int) throws {
        try fixture.order(["provider": "google", "outcome": "approve", "account": "ada"])
        let popup = try get(
            "/o/oauth2/v2/auth",
            [
                "client_id": "buttons", "response_type": "code", "scope": "openid",
                "redirect_uri": "storagerelay://https/app.example?id=auth1",
            ])
        let code = try #require(popup.text.firstMatch(of: #/code&quot;:&quot;(.+?)&quot;/#)?.1, "\(popup)")
        let answer = try fixture.client.post(
            "/oauth2.googleapis.com/token",
            form: [
                "client_id": "buttons", "client_secret": GoogleFixture.secret, "redirect_uri": sent,
                "grant_type": "authorization_code", "code": String(code),
            ])
        #expect(answer.status == status, "\(answer)")
        if status == 400 { #expect(answer["error"] == "redirect_uri_mismatch") }
    }

    @Test("One Tap's frame may stand in pages of the origin that asks, and in no other")
    func frame() throws {
        let answer = try get("/gsi/iframe", ["client_id": "buttons", "origin": BrowserScriptTests.origin])
        #expect(answer.header("Content-Security-Policy") == "frame-ancestors \(BrowserScriptTests.origin)")
        #expect(answer.header("X-Frame-Options") == nil)
        let popup = try get("/gsi/select", ["client_id": "buttons", "origin": BrowserScriptTests.origin])
        #expect(popup.header("X-Frame-Options") == "deny")
    }

    @Test("messages go to the page's origin, never to every origin")
    func targets() throws {
        for name in ["gsi", "onetap"] {
            let file = try Repository.read("Sources/Google/Assets/\(name).js")
            #expect(!file.contains("'*'") && !file.contains("\"*\""), "\(name)")
        }
        #expect("\(Scripts.onetap)\n" == (try Repository.read("Sources/Google/Assets/onetap.js")))
    }

    @Test(
        "a seed's origins have a scheme, a host and perhaps a port",
        arguments: [
            ("https://app.example", true), ("http://localhost:*", true), ("http://web:3000", true),
            ("https://app.example/", false), ("https://app.example/path", false), ("app.example", false),
            ("https://*.example", false), ("https://App.example", false), ("ftp://app.example", false),
            ("http://localhost:*/callback", false), ("https://app.example:*", false),
        ])
    func seeds(origin: String, isTaken: Bool) {
        let seed = #"{"google": {"clients": [{"clientID": "c", "javaScriptOrigins": ["\#(origin)"]}]}}"#
        #expect(((try? FirebaseFixture(seed: seed)) != nil) == isTaken)
    }
}
