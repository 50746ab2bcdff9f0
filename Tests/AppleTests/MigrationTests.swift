import TestSupport
import Testing

@Suite("Apple: moving users to another team")
struct MigrationTests {
    let fixture: AppleFixture

    init() throws { fixture = try AppleFixture() }

    private func bearer(_ clientID: String, _ secret: String) throws -> String {
        let answer = try fixture.client.post(
            "\(AppleFixture.prefix)/auth/token",
            form: [
                "grant_type": "client_credentials", "scope": "user.migration", "client_id": clientID,
                "client_secret": secret,
            ])
        #expect(answer["token_type"] == "Bearer")
        #expect(answer.json["expires_in"] as? Int == 3600)
        #expect(answer["refresh_token"] == nil)
        return answer["access_token"] ?? ""
    }

    private func exchange(_ clientID: String, _ secret: String, _ parameters: [String: String], bearer: String? = nil)
        throws -> Answer
    {
        let token = try bearer ?? self.bearer(clientID, secret)
        let form = parameters.merging(["client_id": clientID, "client_secret": secret]) { $1 }
        return try fixture.client.post(
            "\(AppleFixture.prefix)/auth/usermigrationinfo", form: form, headers: ["Authorization": "Bearer \(token)"])
    }

    @Test("sender and recipient exchange identifiers, and ID tokens carry transfer_sub for sixty days")
    func transfer() throws {
        _ = try fixture.client.post(
            "\(AppleFixture.control)/clock", json: ["set": "2026-01-15T00:00:00Z", "freeze": true])
        let now: Int64 = 1_768_435_200
        let secret = try AppleFixture.secret(for: AppleFixture.app, now: now)
        let user = try fixture.native(["account": "grace"])["user"] ?? ""
        let sent = try exchange(AppleFixture.app, secret, ["sub": user, "target": "F6G7H8J9K0"])
        let transfer = sent["transfer_sub"] ?? ""
        #expect(transfer.wholeMatch(of: /\d{6}\.[0-9a-f]{32}\.\d{4}/) != nil)
        #expect(transfer != user)
        let other = "com.example.acquired"
        let otherSecret = try AppleFixture.secret(for: other, team: "F6G7H8J9K0", keyID: "ZYX987WVUT", now: now)
        let received = try exchange(other, otherSecret, ["transfer_sub": transfer])
        let claims = AppleFixture.claims(
            try fixture.native(["client": other, "account": "grace"])["identityToken"] ?? "")
        #expect(received["sub"] == claims["sub"] as? String)
        #expect(received["email"] == claims["email"] as? String)
        #expect(received.json["is_private_email"] as? Bool == true)
        #expect(claims["transfer_sub"] as? String == transfer)
        let state = "\(AppleFixture.control)/apple/credential-state?client=\(other)&user=\(user)"
        #expect(try fixture.client.get(state)["state"] == "transferred")
        try fixture.advance("60d")
        let later = AppleFixture.claims(
            try fixture.native(["client": other, "account": "grace"])["identityToken"] ?? "")
        #expect(later["transfer_sub"] == nil)
        let late = try exchange(
            other, try AppleFixture.secret(for: other, team: "F6G7H8J9K0", keyID: "ZYX987WVUT", now: now + 60 * 86400),
            ["transfer_sub": transfer])
        #expect(late.diagnosis.contains("sixty days"))
    }

    @Test("a recipient learns no address that the sender was shown openly")
    func sharedAddress() throws {
        _ = try fixture.client.post(
            "\(AppleFixture.control)/clock", json: ["set": "2026-01-15T00:00:00Z", "freeze": true])
        let now: Int64 = 1_768_435_200
        let user = try fixture.native()["user"] ?? ""
        let sent = try exchange(
            AppleFixture.app, try AppleFixture.secret(for: AppleFixture.app, now: now),
            ["sub": user, "target": "F6G7H8J9K0"])
        let secret = try AppleFixture.secret(
            for: "com.example.acquired", team: "F6G7H8J9K0", keyID: "ZYX987WVUT", now: now)
        let received = try exchange("com.example.acquired", secret, ["transfer_sub": sent["transfer_sub"] ?? ""])
        #expect(received.json.keys.sorted() == ["sub"])
    }

    @Test("what is wrong is invalid_request")
    func refusals() throws {
        let secret = try AppleFixture.secret(for: AppleFixture.app)
        let user = try fixture.native()["user"] ?? ""
        for (parameters, reason) in [
            ([:], "send sub and target"), (["sub": user], "send sub and target"),
            (["sub": user, "target": "NOSUCHTEAM"], "isn't another seeded team"),
            (["sub": user, "target": "A1B2C3D4E5"], "isn't another seeded team"),
            (["sub": "x", "target": "F6G7H8J9K0"], "has no current consent"),
            (["transfer_sub": "x"], "came from no other team"),
        ] {
            let answer = try exchange(AppleFixture.app, secret, parameters)
            #expect(answer["error"] == "invalid_request")
            #expect(answer.diagnosis.contains(reason), "\(answer.diagnosis)")
        }
        let parameters = ["sub": user, "target": "F6G7H8J9K0"]
        for bearer in ["nope", ""] {
            #expect(try exchange(AppleFixture.app, secret, parameters, bearer: bearer)["error"] == "invalid_request")
        }
        #expect(try exchange(AppleFixture.app, "x", parameters, bearer: "nope")["error"] == "invalid_client")
    }
}
