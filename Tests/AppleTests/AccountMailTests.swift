import TestSupport
import Testing

@Suite("Apple: mails about an account")
struct AccountMailTests {
    private func mails(_ fixture: AppleFixture) throws -> [[String: Any]] {
        try fixture.client.get("\(AppleFixture.control)/mail").json["messages"] as? [[String: Any]] ?? []
    }

    @Test("the first use of an app is told where the seed asks for it, once")
    func first() throws {
        let fixture = try AppleFixture(seed: #"{"apple":{"accountMails":true}}"#)
        let hidden = try fixture.native(["account": "grace"])["email"] ?? ""
        _ = try fixture.native(["account": "grace"])
        let mail = try #require(try mails(fixture).first)
        #expect(try mails(fixture).count == 1)
        #expect(mail["to"] as? String == "grace@example.com")
        #expect((mail["from"] as? String)?.contains("appleid@id.apple.com") == true)
        #expect((mail["subject"] as? String)?.contains(AppleFixture.app) == true)
        #expect((mail["text"] as? String)?.contains(hidden) == true)
        _ = try fixture.code()
        #expect(try mails(fixture).count == 2)
        let quiet = try AppleFixture()
        _ = try quiet.native(["account": "grace"])
        #expect(try mails(quiet).isEmpty)
    }
}
