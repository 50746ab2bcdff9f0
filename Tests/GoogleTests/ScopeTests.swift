import Foundation
import TestSupport
import Testing

@Suite("Google: scopes")
struct ScopeTests {
    let fixture: GoogleFixture

    init() throws { fixture = try GoogleFixture() }

    private func scopes(_ answer: Answer) -> Set<String> {
        Set((answer["scope"] ?? "").split(separator: " ").map(String.init))
    }

    @Test(
        "with the scopes of userinfo comes openid, and an ID token",
        arguments: ["email", GoogleFixture.email, "\(GoogleFixture.profile) \(GoogleFixture.drive)"])
    func openID(scope: String) throws {
        // https://github.com/requests/requests-oauthlib/issues/387
        let tokens = try fixture.tokens(["scope": scope])
        #expect(scopes(tokens).contains("openid"), "\(tokens)")
        #expect(tokens.claims["sub"] != nil)
        let drive = try fixture.tokens(["scope": GoogleFixture.drive])
        #expect(drive["scope"] == GoogleFixture.drive)
        #expect(drive["id_token"] == nil)
    }

    @Test("the callback says short names beside the long ones, where they were asked for")
    func callback() throws {
        // A callback in public logs: scope=email profile https://…/userinfo.profile https://…/userinfo.email openid
        let short = try fixture.approve(["scope": "email profile"]).redirect["scope"]
        #expect(short == "email profile \(GoogleFixture.email) \(GoogleFixture.profile) openid")
        let long = try fixture.approve(["scope": "openid \(GoogleFixture.email)"]).redirect["scope"]
        #expect(long == "openid \(GoogleFixture.email)")
    }

    // https://developers.google.com/identity/protocols/oauth2/web-server#incrementalAuth
    @Test("incremental authorization: the new token covers what was granted before, if that is asked for")
    func incremental() throws {
        _ = try fixture.tokens()
        let alone = try fixture.tokens(["scope": GoogleFixture.drive])
        #expect(alone["scope"] == GoogleFixture.drive)
        let fields: [String: String?] = [
            "scope": GoogleFixture.drive, "include_granted_scopes": "true", "access_type": "offline",
            "prompt": "consent",
        ]
        let callback = try fixture.approve(fields)
        let all: Set = [GoogleFixture.drive, GoogleFixture.email, GoogleFixture.profile, "openid"]
        #expect(Set((callback.redirect["scope"] ?? "").split(separator: " ").map(String.init)) == all)
        let tokens = try fixture.token(["code": callback.redirect["code"]])
        #expect(scopes(tokens) == all)
        #expect(tokens.claims["email"] as? String == "ada@example.com")
        let info = try fixture.client.get(
            "/oauth2.googleapis.com/tokeninfo?access_token=\(tokens["access_token"] ?? "")")
        #expect(scopes(info) == all)
        let refreshed = try fixture.token([
            "grant_type": "refresh_token", "refresh_token": tokens["refresh_token"],
        ])
        #expect(scopes(refreshed) == all)
        // Scopes that were granted to another client aren't included.
        let other = try fixture.tokens(fields.merging(["client_id": GoogleFixture.other]) { $1 })
        #expect(scopes(other) == [GoogleFixture.drive])
    }

    // https://developers.google.com/identity/protocols/oauth2/resources/granular-permissions
    @Test("people leave scopes of APIs out, not those of sign-in; without any, access is denied")
    func granular() throws {
        let calendar = "https://www.googleapis.com/auth/calendar.readonly"
        let scope = "openid email \(GoogleFixture.drive) \(calendar)"
        let tokens = try fixture.tokens(["scope": scope], granting: [calendar])
        #expect(scopes(tokens) == ["openid", GoogleFixture.email, calendar])
        let denied = try fixture.approve(["scope": GoogleFixture.drive], granting: [calendar])
        #expect(denied.redirect["error"] == "access_denied")
        #expect(denied.diagnosis.contains("none of the scopes"))
    }

    @Test("a refresh may narrow its scopes, and not widen them")
    func refresh() throws {
        let tokens = try fixture.tokens(["scope": "email \(GoogleFixture.drive)", "access_type": "offline"])
        func refresh(_ scope: String) throws -> Answer {
            try fixture.token([
                "grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "scope": scope,
            ])
        }
        let narrow = try refresh(GoogleFixture.drive)
        #expect(narrow["scope"] == GoogleFixture.drive)
        #expect(narrow["id_token"] == nil)
        // https://github.com/kelproject/pykube/issues/86
        let wide = try refresh("\(GoogleFixture.drive) profile")
        #expect(wide.status == 400)
        #expect(wide["error"] == "invalid_scope")
        #expect(wide["error_description"] == "Bad Request")
        // https://github.com/googleapis/google-auth-library-python/issues/999
        let letters = try refresh("a b")
        #expect(letters["error_description"] == "Some requested scopes were invalid. {invalid=[a, b]}")
        #expect(letters["error_uri"] == "https://developers.google.com/identity/protocols/oauth2")
    }

    @Test("the consent page lets people leave scopes of APIs out, and the callback says that the person consented")
    func consent() throws {
        let path = "/accounts.google.com/o/oauth2/v2/auth"
        let calendar = "https://www.googleapis.com/auth/calendar.readonly"
        let people = try fixture.client.get(fixture.authorizeURL(["scope": "email \(GoogleFixture.drive) \(calendar)"]))
        let consent = try fixture.client.post(path, form: people.inputs.merging(["account": "ada"]) { $1 })
        #expect(consent.text.contains("<li>the primary address</li>"))
        for scope in [GoogleFixture.drive, calendar] {
            #expect(consent.text.contains(#"name="choice" value="\#(scope)" checked"#), "\(consent)")
        }
        let kept = ["action": "continue", "choice": GoogleFixture.drive]
        let done = try fixture.client.post(path, form: consent.inputs.merging(kept) { $1 })
        #expect(done.redirect["prompt"] == "consent")
        let tokens = try fixture.token(["code": done.redirect["code"]])
        #expect(scopes(tokens) == [GoogleFixture.email, GoogleFixture.drive, "openid"])
        // Scopes that the person left out are asked for again. If the request doesn't name them, there is nothing to
        // ask.
        let again = try fixture.client.post(path, form: people.inputs.merging(["account": "ada"]) { $1 })
        #expect(again.text.contains(calendar))
        let less = try fixture.client.get(fixture.authorizeURL(["scope": "email \(GoogleFixture.drive)"]))
        let known = try fixture.client.post(path, form: less.inputs.merging(["account": "ada"]) { $1 })
        #expect(known.redirect["prompt"] == "none")
    }

    @Test("whoever leaves everything out denies access")
    func nothingLeft() throws {
        let path = "/accounts.google.com/o/oauth2/v2/auth"
        let people = try fixture.client.get(fixture.authorizeURL(["scope": GoogleFixture.drive]))
        let consent = try fixture.client.post(path, form: people.inputs.merging(["account": "ada"]) { $1 })
        let done = try fixture.client.post(path, form: consent.inputs.merging(["action": "continue"]) { $1 })
        #expect(done.redirect["error"] == "access_denied", "\(done)")
    }
}
