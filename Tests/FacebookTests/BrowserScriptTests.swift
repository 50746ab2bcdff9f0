import Foundation
import JOSE
import JSON
import TestSupport
import Testing

@testable import Facebook

/// Facebook's SDK for JavaScript, as far as no browser has to run it; `Tests/Browser/test_facebook_script.py` does.
@Suite("Facebook: the SDK for JavaScript")
struct BrowserScriptTests {
    private static let origin = "https://app.example"
    let fixture: FacebookFixture

    init() throws {
        fixture = try FacebookFixture(
            seed: """
                {"facebook": {"apps": [
                    {"appID": "77", "appSecret": "s", "javaScriptOrigins": ["https://app.example"]}, {"appID": "78"}]}}
                """)
    }

    private func relay(_ origin: String) -> String {
        let encoded = origin.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        return "https://staticxx.facebook.com/x/connect/xd_arbiter/?version=46&origin=\(encoded)"
    }

    private func ask(_ path: String, _ form: [String: String], origin: String) throws -> Answer {
        try fixture.client.post("/www.facebook.com\(path)", form: form, headers: ["Origin": origin])
    }

    @Test("the script is called with Facebook's addresses, in every locale and by its old name")
    func script() throws {
        for path in ["/en_US/sdk.js", "/de_DE/all.js", "/fr_FR/sdk/debug.js"] {
            let answer = try fixture.client.get("/connect.facebook.net\(path)")
            #expect(answer.text.hasPrefix("\(Scripts.sdk)("))
            #expect(answer.text.hasSuffix("/graph.facebook.com\");\n"))
        }
        #expect(try fixture.client.get("/connect.facebook.net/en_US/other.js").status == 404)
    }

    @Test(
        "a dialog of the SDK answers pages of the app's origins only",
        arguments: [
            ("77", "https://app.example", 200, ""), ("77", "https://evil.example", 400, "JSSDK Unknown Host Domain"),
            ("77", "", 400, "JSSDK Unknown Host Domain"), ("77", "null", 400, "JSSDK Unknown Host Domain"),
            ("77", "https://app.example.evil.example", 400, "JSSDK Unknown Host Domain"),
            ("78", "https://app.example", 400, "JSSDK Option is Not Toggled"),
        ])
    func dialog(app: String, origin: String, status: Int, title: String) throws {
        let answer = try fixture.dialog(["client_id": app, "redirect_uri": relay(origin), "response_type": "token"])
        #expect(answer.status == status)
        #expect(title.isEmpty || answer.text.contains(title))
        #expect(title.isEmpty || answer.diagnosis.contains("javaScriptOrigins"))
    }

    @Test("who is signed in follows from a signed request that the app's secret has signed")
    func status() throws {
        func status(_ signedRequest: String, origin: String = BrowserScriptTests.origin) throws -> Answer {
            try ask("/x/oauth/status", ["client_id": "77", "signed_request": signedRequest], origin: origin)
        }
        func signed(_ person: String, at time: Int64 = Int64(Date().timeIntervalSince1970)) -> String {
            SignedRequest(JSONObject([("user_id", .string(person)), ("issued_at", .integer(time))]), secret: "s").text
        }
        let old = signed(FacebookFixture.ada, at: Int64(Date().timeIntervalSince1970) - 90 * 86_400)
        let signed = signed(FacebookFixture.ada)
        #expect(try status(signed)["status"] == "not_authorized")
        try fixture.approve()
        _ = try fixture.dialog([
            "client_id": "77", "redirect_uri": relay(BrowserScriptTests.origin),
            "response_type": "token,signed_request",
        ])
        let connected = try status(signed)
        #expect(connected["status"] == "connected")
        let token = try #require(connected["access_token"])
        #expect(try fixture.graph("/me", ["access_token": token])["id"] == FacebookFixture.ada)
        for forged in [
            "", ".", "a.b", old,
            SignedRequest(JSONObject([("user_id", .string(FacebookFixture.ada))]), secret: "other").text,
            SignedRequest(JSONObject([("user", "x")]), secret: "s").text, "\(signed).", String(signed.dropLast()),
        ] {
            #expect(try status(forged)["status"] == "unknown", "\(forged)")
        }
        #expect(try status(signed, origin: "https://evil.example").status == 403)
        _ = try ask("/x/oauth/logout", ["client_id": "77", "access_token": token], origin: BrowserScriptTests.origin)
        #expect(try fixture.graph("/me", ["access_token": token]).status == 400)
    }

    @Test("somebody whom an app in development doesn't admit gets no token")
    func development() throws {
        let change: [String: Any] = ["facebook": ["apps": [["appID": "77", "mode": "development"]]]]
        try fixture.approve()
        let page = try fixture.dialog([
            "client_id": "77", "redirect_uri": relay(BrowserScriptTests.origin),
            "response_type": "token,signed_request",
        ])
        #expect(page.status == 200)
        #expect(try fixture.client.post("/_understudy/v1/seed", json: change).status == 200)
        func tokens() throws -> Int {
            let tables = try fixture.client.get("/_understudy/v1/snapshot").json["tables"] as? [String: [Any]]
            return tables?["facebook.token"]?.count ?? 0
        }
        let before = try tokens()
        let time = Int64(Date().timeIntervalSince1970)
        let request = JSONObject([("user_id", .string(FacebookFixture.ada)), ("issued_at", .integer(time))])
        let answer = try ask(
            "/x/oauth/status", ["client_id": "77", "signed_request": SignedRequest(request, secret: "s").text],
            origin: BrowserScriptTests.origin)
        #expect(answer["status"] == "not_authorized")
        #expect(before > 0)
        #expect(try tokens() == before)
    }

    @Test("a code of the SDK is redeemed with an empty redirect URI, and others aren't")
    func code() throws {
        try fixture.approve()
        let page = try fixture.dialog([
            "client_id": "77", "redirect_uri": relay(BrowserScriptTests.origin), "response_type": "code",
        ])
        let mark = try #require(page.text.range(of: "&quot;code&quot;:&quot;"))
        let code = String(page.text[mark.upperBound...].prefix { $0 != "&" })
        func redeem(_ uri: String) throws -> Answer {
            try fixture.graph(
                "/oauth/access_token",
                ["client_id": "77", "client_secret": "s", "code": code, "redirect_uri": uri])
        }
        #expect(try redeem("https://app.example/").status == 400)
        #expect(try redeem("").status == 200)
        #expect(try redeem("").status == 400)
        let ordinary = try fixture.code()
        let refused = try fixture.graph(
            "/oauth/access_token",
            [
                "client_id": FacebookFixture.id, "client_secret": FacebookFixture.secret, "code": ordinary,
                "redirect_uri": "",
            ])
        #expect(refused.text.contains("Missing redirect_uri parameter."))
    }

    @Test("messages go to the page's origin, never to every origin")
    func targets() throws {
        let file = try Repository.read("Sources/Facebook/Assets/sdk.js")
        #expect("\(Scripts.sdk)\n" == file)
        #expect(!file.contains("postMessage"))
    }
}
