import Foundation
import TestSupport
import Testing

@Suite("Facebook: permissions")
struct PermissionTests {
    let fixture: FacebookFixture
    private let scope = ["scope": "email,user_friends"] as [String: String?]

    init() throws { fixture = try FacebookFixture() }

    /// Returns the scopes that debug_token lists for a token, or `nil` if the token isn't valid.
    private func permissions(_ token: String) throws -> [String]? {
        let data = try fixture.inspected(token)
        return data?["is_valid"] as? Bool == true ? data?["scopes"] as? [String] : nil
    }

    private func delete(_ path: String, _ token: String) throws {
        let answer = try fixture.graph("/\(path)", ["access_token": token], method: "DELETE")
        #expect(answer.json["success"] as? Bool == true, "\(answer)")
    }

    /// Returns whether each permission is granted or declined, as the permissions edge lists them.
    private func listed(
        _ token: String, _ path: String = "/v22.0/me", _ filter: [String: String] = [:]
    ) throws -> [String: String] {
        let answer = try fixture.graph("\(path)/permissions", filter.merging(["access_token": token]) { $1 })
        let data = answer.json["data"] as? [[String: String]] ?? []
        return Dictionary(data.map { ($0["permission"] ?? "", $0["status"] ?? "") }) { $1 }
    }

    // https://developers.facebook.com/docs/graph-api/reference/user/permissions
    @Test("the edge lists what was granted and declined, for the token's person and for an app's people")
    func list() throws {
        let token = try fixture.token(scope, scopes: ["email"])
        let expected = ["public_profile": "granted", "email": "granted", "user_friends": "declined"]
        #expect(try listed(token) == expected)
        #expect(try listed(token, "/\(FacebookFixture.ada)") == expected)
        #expect(try listed(FacebookFixture.appToken, "/\(FacebookFixture.ada)") == expected)
        #expect(try listed(token, "/me", ["status": "declined"]) == ["user_friends": "declined"])
        #expect(try listed(token, "/me", ["permission": "email"]) == ["email": "granted"])
        #expect(try fixture.graph("/me/permissions").graphCode == "2500")
        #expect(try fixture.graph("/999/permissions", ["access_token": FacebookFixture.appToken]).graphCode == "100/33")
    }

    // https://developers.facebook.com/docs/facebook-login/permissions/overview: "permissions granted on one platform are effectively
    // granted on all the platforms your app supports".
    @Test("one permission goes from all tokens of the app")
    func one() throws {
        let (first, second) = (try fixture.token(scope), try fixture.token(["scope": nil]))
        let underWay = try fixture.code(scope)
        #expect(try permissions(second) == ["public_profile", "email", "user_friends"])
        try delete("me/permissions/email", first)
        let rest = ["public_profile", "user_friends"]
        #expect(try permissions(first) == rest)
        #expect(try permissions(second) == rest)
        #expect(try permissions(fixture.redeem(["code": underWay])["access_token"] ?? "") == rest)
        #expect(try listed(second)["email"] == "declined")
        #expect(try fixture.graph("/me", ["access_token": second, "fields": "email"]).json.keys.sorted() == ["id"])
        try delete("me/permissions/public_profile", first)
        #expect(try permissions(first) == rest)
    }

    // https://developers.facebook.com/docs/facebook-login/guides/permissions/request-revoke: who has declined isn't asked again, unless
    // auth_type is rerequest.
    @Test("what was declined is asked for again with auth_type=rerequest alone")
    func rerequest() throws {
        let token = try fixture.token(scope, scopes: ["user_friends"])
        #expect(try permissions(token) == ["public_profile", "user_friends"])
        try fixture.approve()
        let again = FacebookFixture.fields(try fixture.dialog(["return_scopes": "true"]))
        #expect(again["granted_scopes"] == "public_profile,user_friends")
        #expect(again["denied_scopes"] == "email")
        let consent = try fixture.client.post(
            "/www.facebook.com/dialog/oauth",
            form: fixture.dialog().inputs.merging(["account": "ada"]) { $1 })
        #expect(!consent.text.contains("e-mail address"))
        try fixture.approve()
        let asked = try fixture.dialog(["return_scopes": "true", "auth_type": "rerequest"])
        #expect(FacebookFixture.fields(asked)["granted_scopes"] == "public_profile,user_friends,email")
        #expect(try listed(token)["email"] == "granted")
    }

    // https://developers.facebook.com/docs/facebook-login/guides/permissions/request-revoke: people may decline what they are asked for, the
    // public profile apart.
    @Test("the page lets a person decline, and asks no more for what was granted")
    func page() throws {
        func consent() throws -> Answer {
            try fixture.client.post(
                "/www.facebook.com/dialog/oauth",
                form: fixture.dialog(scope).inputs.merging(["account": "ada"]) { $1 })
        }
        let boxes = try consent()
        for name in ["email", "user_friends"] {
            #expect(boxes.text.contains("value=\"\(name)\" checked"), "\(boxes.text)")
        }
        #expect(!boxes.text.contains("value=\"public_profile\""))
        let form = boxes.inputs.merging(["choice": "user_friends", "action": "continue"]) { $1 }
        let code = FacebookFixture.fields(try fixture.client.post("/www.facebook.com/dialog/oauth", form: form))["code"]
        let token = try #require(try fixture.redeem(["code": code])["access_token"])
        #expect(try listed(token) == ["public_profile": "granted", "email": "declined", "user_friends": "granted"])
        #expect(!(try consent()).text.contains("checkbox"))
    }

    // "Users of your app will ignore these permissions if present", the page "Invalid Scopes" says to developers.
    @Test("names that aren't permissions are ignored")
    func unknown() throws {
        let token = try fixture.token(["scope": "openid email profile,publish_everything"])
        try fixture.approve()
        let answer = try fixture.dialog(["scope": "email,profile"])
        #expect(answer.header("Understudy-Note")?.contains("\"profile\"") ?? false)
        #expect(try permissions(token) == ["public_profile", "openid", "email"])
    }

    // The page's title begins with them: https://github.com/pablobarbera/Rfacebook/issues/102, and
    // https://github.com/nukeviet/nukeviet/issues/3013 has it, too.
    @Test("developers of the app are shown a page instead")
    func shownToDevelopers() throws {
        let fixture = try FacebookFixture(app: #""developers":["grace"]"#)
        try fixture.approve("grace")
        let answer = try fixture.dialog(["scope": "email,profile,user_about_me"])
        #expect(answer.status == 400)
        #expect(answer.text.contains("Invalid Scopes: profile, user_about_me"))
        #expect(answer.diagnosis.contains("developers"))
        let page = try fixture.dialog(["scope": "email,profile"])
        let chosen = try fixture.client.post(
            "/www.facebook.com/dialog/oauth", form: page.inputs.merging(["account": "grace"]) { $1 })
        #expect(chosen.text.contains("Invalid Scopes: profile"))
        _ = try fixture.token(["scope": "email"], account: "grace")
        _ = try fixture.token(["scope": "email,profile"])
    }

    // https://developers.facebook.com/docs/development/build-and-test/app-modes; the page as in
    // https://github.com/thebergamo/react-native-fbsdk-next/issues/303, the SDK's cancel as in
    // https://github.com/facebook/facebook-ios-sdk/issues/2365.
    @Test("an app in development is for those with a role in it")
    func development() throws {
        let fixture = try FacebookFixture(app: #""mode":"development","developers":["grace"]"#)
        try fixture.approve()
        let refused = try fixture.dialog()
        #expect(refused.status == 400)
        #expect(refused.text.contains("App not active"))
        #expect(refused.diagnosis.contains("in development mode"))
        #expect(refused.location.isEmpty)
        let people = try fixture.dialog()
        let chosen = try fixture.client.post(
            "/www.facebook.com/dialog/oauth", form: people.inputs.merging(["account": "ada"]) { $1 })
        #expect(chosen.text.contains("App not active"))
        #expect(try fixture.world.facebook().status == 409)
        let native = try fixture.world.facebook("ada", ["tracking": "limited"])
        #expect((native.json["error"] as? [String: Any])?["code"] as? String == "canceled", "\(native)")
        #expect(try fixture.world.facebook("grace").status == 200)
        _ = try fixture.token(account: "grace")
    }

    // https://developers.facebook.com/docs/facebook-login/guides/permissions/request-revoke#revokelogin
    @Test(
        "without a name all tokens of the app end, by the person's token or the app's, as they do with the account",
        arguments: [true, false])
    func all(byApp: Bool) throws {
        let (first, second) = (try fixture.token(), try fixture.token())
        try delete(
            byApp ? "\(FacebookFixture.ada)/permissions" : "me/permissions", byApp ? FacebookFixture.appToken : first)
        #expect(try permissions(first) == nil)
        #expect(try permissions(second) == nil)
        let gone = try fixture.graph("/me", ["access_token": second])
        #expect(gone.graphCode == "190/458")
        #expect(gone.message == "Error validating access token: The user has not authorized application 1234567890.")
        let error = try fixture.inspected(second)?["error"] as? [String: Any]
        #expect(error?["subcode"] as? Int == 458)
        let later = try fixture.token()
        #expect(try fixture.client.request("DELETE", "\(FirebaseFixture.control)/accounts/ada").status < 300)
        #expect(try permissions(later) == nil)
    }

    @Test("the JavaScript SDK deletes with a POST")
    func posted() throws {
        let token = try fixture.token()
        let answer = try fixture.client.post(
            "/graph.facebook.com/v22.0/me/permissions", form: ["access_token": token, "method": "delete"])
        #expect(answer.json["success"] as? Bool == true)
        #expect(try permissions(token) == nil)
    }
}
