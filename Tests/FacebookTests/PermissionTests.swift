import Foundation
import TestSupport
import Testing

@Suite("Facebook: permissions that are taken away")
struct PermissionTests {
    let fixture: FirebaseFixture
    private let id = "1234567890"
    private let secret = "facebook-secret-for-tests"
    private let callback = "http://localhost:3000/callback"

    init() throws { fixture = try FirebaseFixture() }

    private func code() throws -> String {
        try fixture.order(["provider": "facebook", "outcome": "approve", "account": "ada"])
        let form = ["client_id": id, "redirect_uri": callback, "scope": "email,user_friends"]
        let answer = try fixture.client.get("/www.facebook.com/dialog/oauth?\(TestClient.encode(form))")
        let query = answer.location.drop { $0 != "?" }.dropFirst().prefix { $0 != "#" }
        return try #require(Answer.fields(String(query))["code"])
    }

    private func redeem(_ code: String) throws -> Answer {
        let form = ["client_id": id, "client_secret": secret, "redirect_uri": callback, "code": code]
        return try fixture.client.post("/graph.facebook.com/oauth/access_token", form: form)
    }

    private func token() throws -> String { try #require(try redeem(code())["access_token"]) }

    /// What debug_token says that the token allows; `nil` when it isn't valid.
    private func permissions(_ token: String) throws -> [String]? {
        let form = ["input_token": token, "access_token": "\(id)|\(secret)"]
        let data = try fixture.client.post("/graph.facebook.com/debug_token", form: form).json["data"] as? [String: Any]
        return data?["is_valid"] as? Bool == true ? data?["scopes"] as? [String] : nil
    }

    private func delete(_ path: String, _ token: String) throws {
        let answer = try fixture.client.request("DELETE", "/graph.facebook.com/me/\(path)?access_token=\(token)")
        #expect(answer.json["success"] as? Bool == true)
    }

    @Test("one permission goes from all tokens of the app, and codes that are under way stop")
    func one() throws {
        let (first, second) = (try token(), try token())
        let underWay = try code()
        #expect(try permissions(second) == ["public_profile", "email", "user_friends"])
        try delete("permissions/email", first)
        #expect(try permissions(first) == ["public_profile", "user_friends"])
        #expect(try permissions(second) == ["public_profile", "user_friends"])
        #expect(try redeem(underWay).message == "Invalid verification code format.")
        #expect(try permissions(token()) == ["public_profile", "email", "user_friends"])
    }

    @Test("without a name all tokens of the app end, as they do with the account")
    func all() throws {
        let (first, second) = (try token(), try token())
        try delete("permissions", first)
        #expect(try permissions(first) == nil)
        #expect(try permissions(second) == nil)
        let later = try token()
        #expect(try fixture.client.request("DELETE", "\(FirebaseFixture.control)/accounts/ada").status < 300)
        #expect(try permissions(later) == nil)
    }
}
