import Foundation
import TestSupport
import Testing

@Suite("Facebook: what a call of the Graph API may look like")
struct GraphRequestTests {
    let fixture: FacebookFixture

    init() throws { fixture = try FacebookFixture() }

    private static let boundary = "----------------------------9051914041544843365972754266"

    /// As `curl -F` sends fields.
    private static func parts(_ fields: [String: String]) -> String {
        fields.map { "--\(boundary)\r\nContent-Disposition: form-data; name=\"\($0)\"\r\n\r\n\($1)\r\n" }.joined()
            + "--\(boundary)--\r\n"
    }

    private static func json(_ fields: [String: String]) throws -> String {
        String(decoding: try JSONSerialization.data(withJSONObject: fields), as: UTF8.self)
    }

    private func post(_ path: String, _ type: String, _ body: String) throws -> Answer {
        try fixture.client.request(
            "POST", "/graph.facebook.com\(path)", headers: ["Content-Type": type], body: Array(body.utf8))
    }

    // Meta's documentation posts with curl -F, such as https://developers.facebook.com/docs/graph-api/guides/upload; JSON is what
    // https://github.com/freizl/hoauth2/issues/55 sent to Facebook's token endpoint.
    @Test(
        "parameters of a body are read whatever its form",
        arguments: [
            "application/x-www-form-urlencoded", "multipart/form-data; boundary=\(boundary)", "application/json",
        ])
    func bodies(type: String) throws {
        func body(_ fields: [String: String]) throws -> String {
            if type.hasPrefix("multipart") { return GraphRequestTests.parts(fields) }
            return type.hasSuffix("json") ? try GraphRequestTests.json(fields) : TestClient.encode(fields)
        }
        let redeemed = try post(
            "/v22.0/oauth/access_token", type,
            body([
                "client_id": FacebookFixture.id, "client_secret": FacebookFixture.secret,
                "redirect_uri": FacebookFixture.callback, "code": fixture.code(),
            ]))
        let token = try #require(redeemed["access_token"], "\(redeemed)")
        let inspected = try post(
            "/debug_token", type, body(["input_token": token, "access_token": FacebookFixture.appToken]))
        #expect((inspected.json["data"] as? [String: Any])?["is_valid"] as? Bool == true, "\(inspected)")
        let deleted = try post("/me/permissions", type, body(["access_token": token, "method": "delete"]))
        #expect(deleted.json["success"] as? Bool == true)
    }

    @Test(
        "a body that can't be read is one without parameters",
        arguments: [
            ("multipart/form-data", "--x\r\n"), ("multipart/form-data; boundary=x", "--x\r\nContent-Dis"),
            ("multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data\r\n\r\ny\r\n--x--"),
            (
                "multipart/form-data; boundary=x",
                "--x\r\nContent-Disposition: form-data; name=client_id; filename=a\r\n\r\n1234567890\r\n--x--"
            ), ("application/json", "[1]"), ("application/json", "{"), ("application/json", #"{"client_id":["1"]}"#),
        ])
    func unreadable(type: String, body: String) throws {
        let answer = try post("/oauth/access_token", type, body)
        #expect(answer.status == 400)
        #expect(answer.message == "Missing client_id parameter.")
    }

    // Meta's samples end with a slash (https://developers.facebook.com/docs/graph-api/reference/user), and public code asks for /me/?….
    @Test("a slash at the end changes nothing", arguments: ["", "/v22.0"])
    func slashes(version: String) throws {
        let token = try fixture.token()
        for path in [
            "/me/", "/\(FacebookFixture.ada)/", "/app/", "/me/permissions/", "/me/picture/", "/\(FacebookFixture.id)/",
        ] {
            let (with, without) = (
                try fixture.graph(version + path, ["access_token": token]),
                try fixture.graph(version + String(path.dropLast()), ["access_token": token])
            )
            #expect(with.status == without.status)
            #expect(with.status < 400, "\(with)")
            #expect(with.text == without.text)
        }
        #expect(try fixture.graph("\(version)/me//", ["access_token": token]).status == 400)
    }

    @Test("an order for a call is for one with a slash, too, and the list of endpoints doesn't have it twice")
    func orderedWithSlash() throws {
        _ = try fixture.client.post(
            "\(FirebaseFixture.control)/faults",
            json: ["match": ["host": "graph.facebook.com", "path": "/me"], "effect": ["error": "190/460"], "times": 2])
        for path in ["/me/", "/v22.0/me/"] { #expect(try fixture.graph(path).graphCode == "190/460") }
        let endpoints = try fixture.client.get("\(FirebaseFixture.control)/endpoints")
        #expect(endpoints.text.contains(#""/me/permissions""#))
        #expect(!endpoints.text.contains(#""/me/""#))
    }

    // https://github.com/mobolic/facebook-sdk (get_version), https://github.com/restfb/restfb (DebugHeaderInfo)
    @Test("an answer says of which version it is")
    func versions() throws {
        #expect(try fixture.graph("/v22.0/me").header("facebook-api-version") == "v22.0")
        let token = try fixture.token()
        #expect(try fixture.graph("/v19.0/me/", ["access_token": token]).header("facebook-api-version") == "v19.0")
        #expect(try fixture.graph("/me", ["access_token": token]).header("facebook-api-version") == nil)
    }
}
