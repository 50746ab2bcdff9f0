import Foundation
import TestSupport
import Testing

@Suite("Apple: /auth/revoke")
struct RevokeTests {
    let fixture: AppleFixture

    init() throws { fixture = try AppleFixture() }

    private func revoke(_ parameters: [String: String?]) throws -> Answer {
        var form: [String: String] = ["client_id": AppleFixture.service, "client_secret": try AppleFixture.secret()]
        for (name, value) in parameters { form[name] = value }
        return try fixture.client.post("\(AppleFixture.prefix)/auth/revoke", form: form)
    }

    @Test(
        "it ends the whole grant: every token stops, and the next sign-in is a first one",
        arguments: ["refresh_token", "access_token"])
    func wholeGrant(kind: String) throws {
        let parameters = ["response_mode": "form_post", "scope": "name email"]
        let first = try fixture.token(["code": try fixture.authorize(parameters).inputs["code"]])
        let second = try fixture.token(["code": try fixture.authorize(parameters).inputs["code"]])
        let pending = try fixture.authorize(parameters).inputs["code"]
        let native = try fixture.native()
        #expect(native["email"] == nil)
        let answer = try revoke(["token": first[kind], "token_type_hint": kind])
        #expect(answer.status == 200)
        #expect(answer.body.isEmpty)
        #expect(answer.diagnosis.isEmpty)
        #expect(
            try fixture.token(["grant_type": "refresh_token", "refresh_token": second["refresh_token"]])["error"]
                == "invalid_grant")
        #expect(
            try fixture.token(["code": pending])["error_description"] == "The code has expired or has been revoked.")
        let state =
            "\(AppleFixture.control)/apple/credential-state?client=\(AppleFixture.app)&user=\(native["user"] ?? "")"
        #expect(try fixture.client.get(state)["state"] == "revoked")
        #expect(try fixture.authorize(parameters).inputs["user"] != nil)
        #expect(try fixture.client.get(state)["state"] == "authorized")
    }

    @Test(
        "a token that is unknown, revoked or another client's is 200, with a note",
        arguments: ["nope", "eyJhbGciOiJub25lIn0.e30.", ""])
    func unknown(token: String) throws {
        if token.isEmpty {
            #expect(try revoke(["token": token])["error"] == "invalid_request")
            #expect(try revoke([:])["error"] == "invalid_request")
            return
        }
        let answer = try revoke(["token": token])
        #expect(answer.status == 200)
        #expect(answer.body.isEmpty)
        #expect(answer.note.contains("nothing was revoked"))
    }

    @Test("a code isn't revoked, and another client can't revoke")
    func others() throws {
        let code = try fixture.code()
        #expect(try revoke(["token": code]).note.contains("received an authorization code"))
        let token = try fixture.token(["code": code])["refresh_token"]
        let stranger = "com.example.web.local"
        _ = try revoke(["token": token, "client_id": stranger, "client_secret": AppleFixture.secret(for: stranger)])
        #expect(try fixture.token(["grant_type": "refresh_token", "refresh_token": token]).status == 200)
        #expect(try revoke(["token": token, "client_secret": "x"])["error"] == "invalid_client")
        #expect(try revoke(["token": token, "client_id": nil])["error"] == "invalid_client")
        #expect(try revoke(["token": token]).diagnosis.isEmpty)
        #expect(try !revoke(["token": token]).note.isEmpty)
    }

    @Test("an access token that has expired revokes nothing")
    func expired() throws {
        let token = try fixture.token(["code": fixture.code()])
        try fixture.advance("30m")
        let other = try fixture.token(["code": fixture.code()])
        try fixture.advance("31m")
        let answer = try revoke([
            "token": token["access_token"],
            "client_secret": AppleFixture.secret(now: Int64(Date().timeIntervalSince1970) + 3600),
        ])
        #expect(!answer.note.isEmpty)
        #expect(other.status == 200)
    }
}
