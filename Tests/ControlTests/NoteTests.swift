import Foundation
import TestSupport
import Testing

/// A surprise in an answer that refuses nothing is a note, and is nowhere counted as a refusal.
@Suite("Notes") struct NoteTests {
    private static let api = "/_understudy/v1"

    struct Surprise: Sendable, CustomStringConvertible {
        let description: String
        let status: Int
        let note: String
        let ask: @Sendable (TestClient) throws -> Answer
    }

    private static let firebase = "/identitytoolkit.googleapis.com/v1/accounts"

    static let surprises = [
        // https://developer.apple.com/documentation/signinwithapple/configuring-your-webpage-for-sign-in-with-apple: the form post
        // comes from Apple's site.
        Surprise(description: "Apple's form post comes from another site", status: 303, note: "SameSite=Lax") {
            client in
            let query = [
                "client_id": "com.example.web.local", "redirect_uri": "http://localhost:3000/callback",
                "response_type": "code", "response_mode": "form_post", "scope": "name email", "state": "abc",
            ]
            return try client.get(
                "/appleid.apple.com/auth/authorize?\(TestClient.encode(query))", headers: ["Accept": "text/html"])
        },
        // https://developer.apple.com/forums/thread/707610
        Surprise(description: "Apple revokes an unknown token", status: 200, note: "nothing was revoked") { client in
            try client.post(
                "/appleid.apple.com/auth/revoke",
                form: [
                    "client_id": AppleFixture.service, "client_secret": AppleFixture.secret(), "token": "unknown",
                ])
        },
        // https://cloud.google.com/identity-platform/docs/admin/email-enumeration-protection
        Surprise(
            description: "Firebase sends no mail to an address that nobody has", status: 200,
            note: "nobody has this address"
        ) { client in
            try client.post(
                "\(firebase):sendOobCode?key=demo-api-key",
                json: ["requestType": "PASSWORD_RESET", "email": "nobody@example.com"])
        },
        // https://developers.facebook.com/docs/facebook-login/guides/access-tokens/debugging: is_valid is false.
        Surprise(description: "Facebook describes a token that doesn't work", status: 200, note: "token") { client in
            try client.get(
                "/graph.facebook.com/debug_token?input_token=x&access_token=1234567890%7Cfacebook-secret-for-tests")
        },
        // https://datatracker.ietf.org/doc/html/rfc7009#section-2.2
        Surprise(description: "an issuer revokes an unknown token", status: 200, note: "nothing was revoked") {
            client in
            try client.post(
                "/login.corp.example/revoke",
                form: ["client_id": OpenIDFixture.web, "client_secret": OpenIDFixture.secret, "token": "unknown-token"])
        },
        Surprise(description: "an ordered delay", status: 200, note: "ordered fault fault-1") { client in
            _ = try client.post(
                "\(api)/faults", json: ["match": ["path": "/auth/keys"], "effect": ["delay": "1ms"]])
            return try client.get("/appleid.apple.com/auth/keys")
        },
    ]

    @Test("what refuses nothing has a note, and counts as no refusal", arguments: surprises)
    func counted(_ surprise: Surprise) throws {
        let server = try TestServer.world()
        let client = TestClient(port: server.port)
        let answer = try surprise.ask(client)
        #expect(answer.status == surprise.status, "\(answer)")
        #expect(answer.note.contains(surprise.note), "\(answer)")
        #expect(answer.diagnosis.isEmpty)
        let refused = try client.get("\(NoteTests.api)/requests?refused=true").json["requests"] as? [Any]
        #expect(refused?.isEmpty == true)
        let came = try client.get("\(NoteTests.api)/requests").json["requests"] as? [[String: Any]]
        #expect(came?.last?["note"] as? String == answer.note)
        #expect(came?.last?["diagnosis"] == nil)
    }

    // The error authorization_pending isn't a failure: https://datatracker.ietf.org/doc/html/rfc8628#section-3.5
    @Test("a device that asks before the person has decided isn't refused")
    func pending() throws {
        let server = try TestServer.world()
        let client = TestClient(port: server.port)
        let begun = try client.post(
            "/github.com/login/device/code", form: ["client_id": GitHubFixture.asking],
            headers: ["Accept": "application/json"])
        let poll = try client.post(
            "/github.com/login/oauth/access_token",
            form: [
                "client_id": GitHubFixture.asking, "device_code": begun["device_code"] ?? "",
                "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
            ], headers: ["Accept": "application/json"])
        #expect(poll["error"] == "authorization_pending")
        #expect(poll.note.contains("poll again"))
        #expect(poll.diagnosis.isEmpty)
    }

    @Test("the page to which a redirect of our own leads belongs to the redirect's sign-in, however short its state is")
    func flow() throws {
        let server = try TestServer.world()
        let client = TestClient(port: server.port)
        let first = NoteTests.surprises[0]
        var ids: [String] = []
        // Opening the same link twice makes two sign-ins.
        for _ in 0..<2 {
            let moved = try first.ask(client)
            let target = moved.location.drop { $0 != "?" }
            let page = try client.get(
                "/auth/authorize\(target)",
                headers: ["Accept": "text/html", "Host": "appleid.apple.com.\(client.host):\(client.port)"])
            #expect(page.status == 200)
            ids += [moved, page].compactMap { $0.header("Understudy-Request") }
        }
        let came = try client.get("\(NoteTests.api)/requests").json["requests"] as? [[String: Any]] ?? []
        let flows = ids.map { id in came.first { $0["id"] as? String == id }?["flow"] as? String }
        #expect(flows == [ids[0], ids[0], ids[2], ids[2]])
    }
}
