import Foundation
import TestSupport
import Testing

// https://developers.google.com/identity/protocols/oauth2/limited-input-device
@Suite("Google: the device flow")
struct DeviceFlowTests {
    let fixture: GoogleFixture
    private static let grantType = "urn:ietf:params:oauth:grant-type:device_code"

    init() throws {
        fixture = try GoogleFixture()
        // Google measures how often a device polls.
        try fixture.world.freeze()
    }

    private func begin(
        _ changes: [String: String?] = [:], at path: String = "/oauth2.googleapis.com/device/code"
    ) throws -> Answer {
        var form = ["client_id": GoogleFixture.device, "scope": "email profile"]
        for (name, value) in changes { form[name] = value }
        return try fixture.client.post(path, form: form)
    }

    private func poll(_ code: String?, _ changes: [String: String?] = [:]) throws -> Answer {
        let form: [String: String?] = [
            "client_id": GoogleFixture.device, "redirect_uri": nil, "grant_type": DeviceFlowTests.grantType,
            "device_code": code,
        ]
        return try fixture.token(form.merging(changes) { $1 })
    }

    private func expect(_ answer: Answer, _ status: Int, _ error: String, _ description: String?) {
        #expect(answer.status == status, "\(answer)")
        #expect(answer["error"] == error)
        #expect(answer["error_description"] == description)
        #expect(answer.diagnosis.isEmpty == (error == "authorization_pending"))
    }

    @Test(
        "a code in Google's dialect, also at the older address",
        arguments: ["/oauth2.googleapis.com/device/code", "/accounts.google.com/o/oauth2/device/code"])
    func begin(path: String) throws {
        let answer = try begin(at: path)
        #expect(answer.status == 200, "\(answer)")
        #expect(answer.json["expires_in"] as? Int == 1800)
        #expect(answer.json["interval"] as? Int == 5)
        #expect(answer["user_code"]?.wholeMatch(of: /[A-Z]{4}-[A-Z]{4}/) != nil)
        #expect(answer["verification_url"] == "http://localhost:\(fixture.client.port)/www.google.com/device")
        #expect(answer.json["verification_uri"] == nil)
        let real = try fixture.client.request(
            "POST", "/device/code?client_id=\(GoogleFixture.device)&scope=email",
            headers: ["Host": "oauth2.googleapis.com"])
        #expect(real["verification_url"] == "https://www.google.com/device")
    }

    @Test("a person enters the code; the device gets its tokens once")
    func approve() throws {
        let begun = try begin()
        expect(try poll(begun["device_code"]), 428, "authorization_pending", "Precondition Required")
        // https://developers.google.com/identity/protocols/oauth2/limited-input-device#polling-too-frequently
        expect(try poll(begun["device_code"]), 403, "slow_down", "Forbidden")
        #expect(
            try fixture.client.get("/google.com/device").location
                == "http://localhost:\(fixture.client.port)/www.google.com/device")
        let path = "/www.google.com/device"
        #expect(try fixture.client.get(path).text.contains("The code that it shows"))
        let wrong = try fixture.client.post(path, form: ["user_code": "ZZZZ-ZZZZ", "action": "enter"])
        #expect(wrong.status == 400 && wrong.text.contains("no device with this user code waits"))
        let code = (begun["user_code"] ?? "").replacingOccurrences(of: "-", with: "").lowercased()
        let people = try fixture.client.post(path, form: ["user_code": code, "action": "enter"])
        #expect(people.text.contains("to continue to Living room"), "\(people)")
        let consent = try fixture.client.post(path, form: people.inputs.merging(["account": "grace"]) { $1 })
        #expect(consent.text.contains("the primary address"))
        let done = try fixture.client.post(path, form: consent.inputs.merging(["action": "continue"]) { $1 })
        #expect(done.text.contains("Go back to the device"), "\(done)")

        try fixture.world.advance("11s")
        let tokens = try poll(begun["device_code"])
        #expect(tokens.status == 200, "\(tokens)")
        #expect(tokens["refresh_token"]?.hasPrefix("1//") ?? false)
        #expect(tokens["scope"] == "\(GoogleFixture.email) \(GoogleFixture.profile) openid")
        #expect(tokens.claims["email"] as? String == "grace@example.com")
        #expect(tokens.claims["aud"] as? String == GoogleFixture.device)
        try fixture.world.advance("11s")
        #expect(try poll(begun["device_code"])["error"] == "invalid_grant")
        let refreshed = try fixture.token([
            "client_id": GoogleFixture.device, "grant_type": "refresh_token",
            "refresh_token": tokens["refresh_token"],
        ])
        #expect(refreshed.status == 200, "\(refreshed)")
    }

    @Test("orders answer without a page: approved, in part, and cancelled")
    func orders() throws {
        try fixture.world.order([
            "provider": "google", "outcome": "approve", "account": "ada", "client": GoogleFixture.device,
            "scopes": ["email"],
        ])
        let scope = "email \(GoogleFixture.drive)"
        let tokens = try poll(try begin(["scope": scope])["device_code"])
        #expect(tokens["scope"] == "\(GoogleFixture.email) openid", "\(tokens)")
        try fixture.world.order(["provider": "google", "outcome": "cancel"])
        expect(try poll(try begin()["device_code"]), 403, "access_denied", "Forbidden")
    }

    @Test("a person cancels; a code that nobody entered in time expires")
    func ends() throws {
        let begun = try begin()
        let path = "/www.google.com/device"
        let people = try fixture.client.post(path, form: ["user_code": begun["user_code"] ?? "", "action": "enter"])
        _ = try fixture.client.post(path, form: people.inputs.merging(["action": "cancel"]) { $1 })
        expect(try poll(begun["device_code"]), 403, "access_denied", "Forbidden")
        let late = try begin()
        try fixture.world.advance("31m")
        expect(try poll(late["device_code"]), 400, "expired_token", nil)
    }

    @Test("what the endpoint for codes refuses")
    func refusals() throws {
        // https://github.com/anxdpanic/plugin.video.youtube/issues/325
        expect(
            try begin(["client_id": GoogleFixture.web]), 401, "invalid_client",
            "Only clients of type 'TVs and Limited Input devices' can use the OAuth 2.0 flow for TV and Limited-Input Device "
                + "Applications. Please create and use an appropriate client.")
        expect(try begin(["client_id": "x"]), 401, "invalid_client", "The OAuth client was not found.")
        expect(try begin(["client_id": nil]), 400, "invalid_request", "Missing required parameter: client_id")
        expect(try begin(["scope": nil]), 400, "invalid_request", "Missing required parameter: scope")
        // https://github.com/hickford/git-credential-oauth/issues/38
        let gerrit = "https://www.googleapis.com/auth/gerritcodereview"
        expect(
            try begin(["scope": "email \(gerrit)"]), 400, "invalid_scope", "Invalid device flow scope: \(gerrit)")
    }

    @Test("what polls are refused for")
    func polls() throws {
        let code = try begin()["device_code"]
        expect(try poll(code, ["client_secret": nil]), 400, "invalid_request", "client_secret is missing.")
        expect(try poll(code, ["client_id": GoogleFixture.web]), 401, "invalid_client", "Invalid client type.")
        expect(try poll(nil), 400, "invalid_request", "Missing required parameter: device_code")
        #expect(try poll("x")["error"] == "invalid_grant")
        // The grant type from before RFC 8628: https://github.com/pipacs/o2/pull/130
        let old: [String: String?] = [
            "grant_type": "http://oauth.net/grant_type/device/1.0", "code": code, "device_code": nil,
        ]
        expect(try poll(nil, old), 428, "authorization_pending", "Precondition Required")
    }

    @Test("too many requests for codes can be ordered, in Google's own form")
    func rateLimit() throws {
        let order: [String: Any] = [
            "match": ["host": "oauth2.googleapis.com", "path": "/device/code"],
            "effect": ["error": "rate_limit_exceeded"], "times": 1,
        ]
        #expect(try fixture.client.post("\(GoogleFixture.control)/faults", json: order).status == 201)
        let answer = try begin()
        #expect(answer.status == 403)
        #expect(answer["error_code"] == "rate_limit_exceeded")
        #expect(answer.json["error"] == nil)
    }
}
