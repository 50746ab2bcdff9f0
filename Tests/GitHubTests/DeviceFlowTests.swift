import Foundation
import TestSupport
import Testing

@Suite("GitHub: the device flow")
struct DeviceFlowTests {
    let fixture: GitHubFixture

    init() throws {
        fixture = try GitHubFixture()
        // GitHub measures how often a device polls.
        try fixture.freeze()
    }

    private func start(
        _ fixture: GitHubFixture, client: String = GitHubFixture.asking, scope: String = "gist"
    ) throws -> Answer {
        try fixture.client.post(
            "\(GitHubFixture.web)/login/device/code", form: ["client_id": client, "scope": scope],
            headers: ["Accept": "application/json"])
    }

    private func poll(_ fixture: GitHubFixture, _ code: String?, client: String = GitHubFixture.asking) throws -> Answer
    {
        try fixture.exchange([
            "client_id": client, "client_secret": nil, "grant_type": GitHubFixture.deviceGrant, "device_code": code,
        ])
    }

    @Test("the answer, in all three forms and without verification_uri_complete")
    func start() throws {
        let answer = try start(fixture)
        #expect(answer.status == 200)
        #expect(
            answer.text.wholeMatch(
                of:
                    /\{"device_code":"[0-9a-f]{40}","user_code":"[0-9A-F]{4}-[0-9A-F]{4}","verification_uri":"http:\/\/localhost:\d+\/github.com\/login\/device","expires_in":900,"interval":5\}/
            ) != nil, "\(answer.text)")
        let path = "\(GitHubFixture.web)/login/device/code"
        let form = try fixture.client.post(path, form: ["client_id": GitHubFixture.asking])
        #expect(form.text.hasPrefix("device_code=") && form.text.contains("&expires_in=900&interval=5&user_code="))
        let xml = try fixture.client.post(
            path, form: ["client_id": GitHubFixture.asking], headers: ["Accept": "application/xml"])
        #expect(xml.text.contains("<interval>5</interval>"))
        let hosted = try fixture.client.request(
            "POST", "/login/device/code?client_id=\(GitHubFixture.asking)", headers: ["Host": "github.com"])
        #expect(hosted.form["verification_uri"] == "https://github.com/login/device")
    }

    @Test("a device that somebody approved who is removed stays without a token, and the browser is signed out")
    func removedPerson() throws {
        let begun = try start(fixture)
        let browser = TestBrowser(fixture)
        try browser.signIn(as: "grace")
        let page = try browser.get("\(GitHubFixture.web)/login/device")
        let consent = try browser.submit(page, ["user_code": begun["user_code"] ?? ""])
        #expect(try browser.submit(consent, ["authorize": "1"]).status == 200)
        let account = "\(FirebaseFixture.control)/accounts/grace"
        let grace = try fixture.client.get(account).json
        #expect(try fixture.client.request("DELETE", account).status == 204)
        // Somebody else with the ID is somebody else.
        #expect(try fixture.client.post("\(FirebaseFixture.control)/accounts", json: grace).status == 201)
        #expect(try browser.get("\(GitHubFixture.web)/login/device").text.contains("Sign in to GitHub"))
        try fixture.advance("6s")
        #expect(try poll(fixture, begun["device_code"])["error"] == "access_denied")
    }

    @Test("a person enters the code; the device gets its token once")
    func approve() throws {
        let begun = try start(fixture, scope: "gist read:org")
        let waiting = try poll(fixture, begun["device_code"])
        #expect(waiting.status == 200)
        #expect(waiting["error"] == "authorization_pending")
        #expect(waiting["error_description"] == "The authorization request is still pending.")
        #expect(waiting.diagnosis.isEmpty)
        #expect(
            waiting.note.contains("the user hasn't entered the user code")
                && !waiting.note.contains(begun["user_code"] ?? "?"))

        let browser = TestBrowser(fixture)
        #expect(try browser.get("\(GitHubFixture.web)/login/device").text.contains("Sign in to GitHub"))
        try browser.signIn(as: "grace")
        let page = try browser.get("\(GitHubFixture.web)/login/device")
        let wrong = try browser.submit(page, ["user_code": "ZZZZ-ZZZZ"])
        #expect(wrong.status == 422)
        #expect(wrong.text.contains("no device is waiting for this user code"))
        // The hyphen and the case may be left out.
        let typed = (begun["user_code"] ?? "").replacingOccurrences(of: "-", with: "").lowercased()
        let consent = try browser.submit(page, ["user_code": typed])
        #expect(consent.text.contains("Authorize Example?"))
        #expect(consent.text.contains("read:org"))
        let done = try browser.submit(consent, ["authorize": "1"], scopes: ["gist"])
        #expect(done.status == 200)

        try fixture.advance("6s")
        let answer = try poll(fixture, begun["device_code"])
        #expect(answer["access_token"]?.hasPrefix("gho_") ?? false)
        #expect(answer["scope"] == "gist")
        #expect(try fixture.get("/user", token: answer["access_token"])["login"] == "grace")
        try fixture.advance("6s")
        let again = try poll(fixture, begun["device_code"])
        #expect(again["error"] == "incorrect_device_code")
        #expect(again.diagnosis.contains("already exchanged for a token"))
        #expect(try browser.submit(page, ["user_code": typed]).status == 422)
    }

    @Test("a poll without grant_type is told that it is missing", arguments: [nil, GitHubFixture.secret])
    func noGrantType(secret: String?) throws {
        let code = try start(fixture)["device_code"]
        let answer = try fixture.exchange([
            "client_id": GitHubFixture.asking, "client_secret": secret, "device_code": code,
        ])
        let words = "grant_type is missing: with a device_code, send grant_type=\(GitHubFixture.deviceGrant)"
        #expect(answer.diagnosis == words, "\(answer)")
    }

    @Test("polling too fast costs five seconds each time, by the world's clock")
    func slowDown() throws {
        let code = try start(fixture)["device_code"]
        #expect(try poll(fixture, code)["error"] == "authorization_pending")
        let hurried = try poll(fixture, code)
        #expect(hurried["error"] == "slow_down")
        #expect(hurried["error_description"] == "Too many requests have been made in the same timeframe.")
        #expect(hurried.json["interval"] as? Int == 10)
        #expect(hurried["error_uri"] == "https://docs.github.com")
        try fixture.advance("6s")
        #expect(try poll(fixture, code).json["interval"] as? Int == 15)
        try fixture.advance("15s")
        #expect(try poll(fixture, code)["error"] == "authorization_pending")
    }

    @Test("strict polling counts every millisecond, tolerant polling forgives one second")
    func strictness() throws {
        for (mode, wait, wanted) in [
            ("tolerant", "4500ms", "authorization_pending"), ("strict", "4500ms", "slow_down"),
            ("strict", "5s", "authorization_pending"),
        ] {
            let fixture = try GitHubFixture(
                seed: #"{"github":{"devicePolling":"\#(mode)"},"clock":{"set":"2030-01-01T00:00:00Z","freeze":true}}"#)
            let code = try start(fixture)["device_code"]
            _ = try poll(fixture, code)
            try fixture.advance(wait)
            #expect(try poll(fixture, code)["error"] == wanted, "\(mode) \(wait)")
        }
    }

    @Test("a cancel, an expired code, a wrong code, another app's code, an app without the flow")
    func refusals() throws {
        let browser = TestBrowser(fixture)
        try browser.signIn(as: "ada")
        let denied = try start(fixture)
        let page = try browser.get("\(GitHubFixture.web)/login/device")
        let consent = try browser.submit(page, ["user_code": denied["user_code"] ?? ""])
        _ = try browser.submit(consent, ["authorize": "0"])
        #expect(try poll(fixture, denied["device_code"])["error"] == "access_denied")

        let late = try start(fixture)
        let others = try start(fixture)
        #expect(
            try poll(fixture, others["device_code"], client: GitHubFixture.automatic)["error"]
                == "incorrect_device_code")
        #expect(try poll(fixture, "x")["error_description"] == "The device_code provided is not valid.")
        #expect(try poll(fixture, nil)["error"] == "incorrect_device_code")
        try fixture.advance("16m")
        let expired = try poll(fixture, late["device_code"])
        #expect(expired["error"] == "expired_token")
        #expect(expired.diagnosis.contains("expired 60 s ago"))
        #expect(try browser.submit(page, ["user_code": late["user_code"] ?? ""]).status == 422)

        let disabled = try start(fixture, client: GitHubFixture.suspended)
        #expect(disabled.status == 400)
        #expect(disabled["error"] == "device_flow_disabled")
        #expect(disabled["error_description"] == "Device Flow must be explicitly enabled for this App")
        #expect(disabled["error_uri"] == "https://docs.github.com")
        let unknown = try start(fixture, client: "nothing")
        #expect(unknown.status == 404)
        #expect(unknown.text == #"{"error":"Not Found"}"#)
        let wrong = try fixture.exchange([
            "client_id": GitHubFixture.asking, "grant_type": "urn:ietf:params:oauth:grant-type:device",
        ])
        #expect(wrong["error"] == "unsupported_grant_type")
    }

    @Test("outcomes and automatic apps answer without a page; an unverified person can't")
    func withoutPages() throws {
        let automatic = try start(fixture, client: GitHubFixture.automatic)
        let answer = try poll(fixture, automatic["device_code"], client: GitHubFixture.automatic)
        #expect(answer["access_token"] != nil)
        try fixture.order(["outcome": "cancel", "client": GitHubFixture.asking])
        #expect(try poll(fixture, start(fixture)["device_code"])["error"] == "access_denied")
        try fixture.order(["outcome": "approve", "account": "grace", "scopes": ["gist"]])
        let ordered = try poll(fixture, start(fixture, scope: "repo gist")["device_code"])
        #expect(ordered["scope"] == "gist")
        try fixture.order(["outcome": "approve", "account": "linus"])
        #expect(try poll(fixture, start(fixture)["device_code"])["error"] == "unverified_user_email")
        try fixture.order(["outcome": "error", "error": "unverified_user_email"])
        #expect(try poll(fixture, start(fixture)["device_code"])["error"] == "unverified_user_email")
    }

    @Test("a GitHub App's device tokens refresh without a secret; its errors can have status 400")
    func gitHubApp() throws {
        try fixture.order(["outcome": "approve", "account": "ada"])
        let begun = try start(fixture, client: GitHubFixture.gitHubApp)
        let tokens = try poll(fixture, begun["device_code"], client: GitHubFixture.gitHubApp)
        #expect(tokens["access_token"]?.hasPrefix("ghu_") ?? false)
        let refreshed = try fixture.exchange([
            "client_id": GitHubFixture.gitHubApp, "client_secret": nil, "grant_type": "refresh_token",
            "refresh_token": tokens["refresh_token"],
        ])
        #expect(refreshed["access_token"]?.hasPrefix("ghu_") ?? false)
        let strict = try GitHubFixture(seed: #"{"github":{"deviceErrorStatus":"400"}}"#)
        let pending = try poll(strict, start(strict)["device_code"])
        #expect(pending.status == 400)
        #expect(pending["error"] == "authorization_pending")
    }

    @Test("fifty codes an hour for each app")
    func fiftyCodes() throws {
        let browser = TestBrowser(fixture)
        try browser.signIn(as: "ada")
        let page = try browser.get("\(GitHubFixture.web)/login/device")
        let code = try start(fixture)["user_code"] ?? ""
        for _ in 0..<50 { #expect(try browser.submit(page, ["user_code": code]).status == 200) }
        #expect(try browser.submit(page, ["user_code": code]).status == 429)
        try fixture.advance("61m")
        #expect(try browser.submit(page, ["user_code": start(fixture)["user_code"] ?? ""]).status == 200)
    }
}
