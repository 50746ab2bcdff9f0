import Foundation
import TestSupport
import Testing

/// Tests of the accounts that may use an app in testing, and an app of an organization.
@Suite("Google: apps in testing, and those of an organization")
struct PublishingStatusTests {
    let world: FirebaseFixture
    private static let testing = "testing.apps.googleusercontent.com"
    private static let organization = "staff.apps.googleusercontent.com"
    private static let signIn = "openid email profile"
    private static let path = "/accounts.google.com/o/oauth2/v2/auth"

    init() throws {
        world = try FirebaseFixture(
            seed: """
                {"google": {"clients": [
                  {"clientID": "\(PublishingStatusTests.testing)", "name": "Notes", "publishingStatus": "testing",
                   "testUsers": ["ada"], "redirectURIs": ["\(GoogleFixture.callback)"]},
                  {"clientID": "\(PublishingStatusTests.organization)", "organization": "Example.com",
                   "redirectURIs": ["\(GoogleFixture.callback)"]}
                ]}}
                """)
        try world.freeze()
    }

    private func request(_ client: String, _ scope: String, _ more: [String: String] = [:]) -> [String: String] {
        [
            "client_id": client, "redirect_uri": GoogleFixture.callback, "response_type": "code", "scope": scope,
            "access_type": "offline",
        ].merging(more) { $1 }
    }

    private func approve(
        _ account: String, _ client: String = testing, _ scope: String = GoogleFixture.drive,
        _ more: [String: String] = [:]
    ) throws -> Answer {
        try world.order(["provider": "google", "outcome": "approve", "account": account])
        return try world.client.get(
            "\(PublishingStatusTests.path)?\(TestClient.encode(request(client, scope, more)))")
    }

    private func token(_ fields: [String: String?]) throws -> Answer {
        let form: [String: String?] = [
            "client_id": PublishingStatusTests.testing, "client_secret": GoogleFixture.secret,
            "redirect_uri": GoogleFixture.callback, "grant_type": "authorization_code",
        ]
        return try world.client.post(
            "/oauth2.googleapis.com/token", form: form.merging(fields) { $1 }.compactMapValues { $0 })
    }

    private func tokens(_ scope: String = GoogleFixture.drive, _ more: [String: String] = [:]) throws -> Answer {
        try token(["code": approve("ada", PublishingStatusTests.testing, scope, more).redirect["code"]])
    }

    private func refresh(_ token: String?) throws -> Answer {
        try self.token(["grant_type": "refresh_token", "refresh_token": token])
    }

    @Test("test users alone may grant an app in testing more than to sign in")
    func testUsers() throws {
        #expect(try approve("ada").redirect["code"] != nil)
        let refused = try approve("grace")
        // https://github.com/koush/scrypted/issues/1282
        #expect(refused.status == 403 && refused.location.isEmpty, "\(refused)")
        #expect(refused.shows("Error 403: access_denied"))
        #expect(
            refused.shows(
                "Notes has not completed the Google verification process. The app is currently being tested, and can only be accessed "
                    + "by developer-approved testers. If you think you should have access, contact the developer."))
        #expect(refused.diagnosis.contains("testUsers"))
        // https://github.com/MomenSherif/react-oauth/issues/126
        let signedIn = try approve("grace", PublishingStatusTests.testing, PublishingStatusTests.signIn)
        #expect(signedIn.redirect["code"] != nil)
    }

    @Test("the page refuses before it asks for consent")
    func page() throws {
        let form = request(PublishingStatusTests.testing, GoogleFixture.drive)
        let people = try world.client.get("\(PublishingStatusTests.path)?\(TestClient.encode(form))")
        let refused = try world.client.post(
            PublishingStatusTests.path, form: people.inputs.merging(["account": "grace"]) { $1 })
        #expect(refused.status == 403 && refused.shows("Error 403: access_denied"), "\(refused)")
        let consent = try world.client.post(
            PublishingStatusTests.path, form: people.inputs.merging(["account": "ada"]) { $1 })
        #expect(consent.status == 200 && consent.text.contains(GoogleFixture.drive))
    }

    // https://developers.google.com/identity/protocols/oauth2#expiration, https://support.google.com/cloud/answer/15549945
    @Test("what is granted to an app in testing ends after seven days, and the next consent is a first one")
    func sevenDays() throws {
        let first = try tokens()
        #expect(first.json["refresh_token_expires_in"] as? Int == 604_799, "\(first)")
        // This isn't the first consent, so it brings no second refresh token.
        let second = try tokens()
        #expect(second["refresh_token"] == nil && second.json["refresh_token_expires_in"] == nil, "\(second)")
        try world.advance("6d")
        let late = try refresh(first["refresh_token"])
        #expect(late.status == 200)
        #expect(late.json["refresh_token_expires_in"] as? Int == 604_799 - 6 * 86_400, "\(late)")
        #expect(late["refresh_token"] == nil)
        try world.advance("1d")
        let ended = try refresh(first["refresh_token"])
        #expect(ended.status == 400 && ended["error"] == "invalid_grant", "\(ended)")
        #expect(ended["error_description"] == "Token has been expired or revoked.")
        #expect(ended.diagnosis.contains("seven days"), "\(ended.diagnosis)")
        #expect(try refresh(first["refresh_token"])["error_description"] == "Token has been expired or revoked.")
        #expect(try tokens()["refresh_token"] != nil)
    }

    @Test("the inspector says when a grant ends")
    func inspected() throws {
        func page() throws -> String {
            try world.client.get("/_understudy/people/ada", headers: ["Accept": "text/html"]).text
        }
        _ = try tokens(PublishingStatusTests.signIn)
        #expect(try !page().contains(">Ends<"))
        _ = try tokens()
        #expect(try page().contains(">Ends<"))
    }

    @Test("a refresh token that has ended can't be revoked, and the consent that ended is asked for again")
    func afterTheEnd() throws {
        let token = try tokens()["refresh_token"] ?? ""
        try world.advance("7d")
        let revoked = try world.client.post("/oauth2.googleapis.com/revoke", form: ["token": token])
        #expect(revoked.status == 400 && revoked["error"] == "invalid_token", "\(revoked)")
        let form = request(PublishingStatusTests.testing, GoogleFixture.drive)
        let people = try world.client.get("\(PublishingStatusTests.path)?\(TestClient.encode(form))")
        let consent = try world.client.post(
            PublishingStatusTests.path, form: people.inputs.merging(["account": "ada"]) { $1 })
        #expect(consent.status == 200 && consent.text.contains(GoogleFixture.drive), "\(consent)")
    }

    @Test("what has ended by itself can't be ended by order", arguments: ["revocations", "security-events"])
    func ordersAfterTheEnd(call: String) throws {
        let token = try tokens()["refresh_token"] ?? ""
        try world.advance("7d")
        var order = ["client": PublishingStatusTests.testing]
        if call == "revocations" {
            order["account"] = "ada"
        } else {
            order.merge(["type": "token-revoked", "refreshToken": token]) { $1 }
        }
        let answer = try world.client.post("\(GoogleFixture.control)/google/\(call)", json: order)
        #expect(answer.status == (call == "revocations" ? 409 : 404), "\(answer)")
    }

    @Test("another consent begins the seven days anew, and sign-in alone has no end")
    func renewed() throws {
        _ = try tokens()
        try world.advance("6d")
        let again = try tokens(GoogleFixture.drive, ["prompt": "consent"])
        #expect(again.json["refresh_token_expires_in"] as? Int == 604_799)
        try world.advance("6d")
        #expect(try refresh(again["refresh_token"]).status == 200)
        // "unless the only OAuth scopes requested are a subset of name, email address, and user profile"
        let world = try PublishingStatusTests()
        let signedIn = try world.tokens(PublishingStatusTests.signIn)
        #expect(signedIn["refresh_token"] != nil && signedIn.json["refresh_token_expires_in"] == nil, "\(signedIn)")
        try world.world.advance("30d")
        let refreshed = try world.refresh(signedIn["refresh_token"])
        #expect(refreshed.status == 200 && refreshed.json["refresh_token_expires_in"] == nil)
    }

    @Test("an organization's own app is for its people alone, whatever they are asked for")
    func organization() throws {
        let client = PublishingStatusTests.organization
        #expect(try approve("grace", client, PublishingStatusTests.signIn).redirect["code"] != nil)
        let refused = try approve("ada", client, PublishingStatusTests.signIn)
        #expect(refused.status == 403 && refused.location.isEmpty)
        #expect(refused.shows("Error 403: org_internal"), "\(refused)")
        // https://github.com/googlesamples/google-services/issues/404
        #expect(refused.shows("This client is restricted to users within its organization."))
    }

    @Test("a test user must be one of the seed's accounts")
    func seed() throws {
        let body = #"{"google":{"clients":[{"clientID":"x","publishingStatus":"testing","testUsers":["nobody"]}]}}"#
        let answer = try world.client.request(
            "POST", "\(GoogleFixture.control)/seed", headers: ["Content-Type": "application/json"],
            body: Array(body.utf8))
        #expect(answer.status == 400 && answer.text.contains("testUsers[0]"), "\(answer)")
    }
}
