import Foundation
import TestSupport
import Testing

@Suite("Mail by SMTP to a hidden address", .timeLimit(.minutes(30)))
struct RelayedMailTests {
    private let fixture: MailFixture

    init() throws { fixture = try MailFixture() }

    /// Signs Grace in with a hidden address, which is returned.
    private func hide(world: String = "") throws -> String {
        let answer = try fixture.client.post(
            "\(world)\(MailFixture.api)/apple/authorizations",
            json: ["client": "com.example.app", "account": "grace", "scopes": ["email"]])
        let address = AppleFixture.claims(answer["identityToken"] ?? "")["email"] as? String ?? ""
        try #require(address.hasSuffix("@privaterelay.appleid.com"), "\(answer.text)")
        return address
    }

    private static let content = "From: App <anyone@example.com>\r\nSubject: Hi\r\n\r\nText\r\n"

    @Test("a sender that isn't registered is refused at the recipient, and told why in the recording") func refused()
        throws
    {
        let address = try hide()
        let reply = try fixture.wire().mail(from: "x@example.org", to: [address], RelayedMailTests.content)
        #expect(reply == "550 5.1.1 <x@example.org>: unauthorized sender")
        let recorded = try fixture.requests("host=privaterelay.appleid.com")
        #expect(recorded.first?["path"] as? String == "/RCPT" && recorded.first?["status"] as? Int == 550)
        #expect(recorded.first?["diagnosis"] != nil)
        #expect(try fixture.mails().isEmpty)
    }

    @Test("one that is registered is forwarded, beside others") func forwarded() throws {
        let address = try hide()
        let reply = try fixture.wire().mail(
            from: "anyone@example.com", to: [address, "max@example.org", "eva@example.org"], RelayedMailTests.content)
        #expect(reply == "250 2.0.0 ok: queued as m1, m2")
        let mails = try fixture.mails()
        let relay = mails.first?["relay"] as? [String: Any]
        #expect(relay?["forwardedTo"] as? String == "grace@example.com", "\(mails)")
        #expect(
            (mails.last?["envelope"] as? [String: Any])?["to"] as? [String] == ["max@example.org", "eva@example.org"])
        let exchange = try fixture.requests("host=privaterelay.appleid.com").first
        #expect((exchange?["mail"] as? [String: Any])?["messages"] as? [String] == ["m1", "m2"])
    }

    @Test("what the relay refuses at the end, when others have taken it, is in the inbox, refused") func besideOthers()
        throws
    {
        let address = try hide()
        let content = "From: App <other@unknown.example>\r\nSubject: Hi\r\n\r\nText\r\n"
        let wire = try fixture.wire()
        let alone = wire.mail(from: "anyone@example.com", to: [address], content)
        #expect(alone?.hasPrefix("55") == true, "\(alone ?? "")")
        let beside = try fixture.wire().mail(from: "anyone@example.com", to: [address, "max@example.org"], content)
        #expect(beside?.hasPrefix("250") == true, "\(beside ?? "")")
        let mails = try fixture.mails()
        #expect(mails.count == 3, "\(mails)")
        let refusals = mails.map { ($0["relay"] as? [String: Any])?["refusal"] as? String }
        #expect(refusals.map { $0?.hasPrefix("550 5.1.1 <other@unknown.example>") } == [true, true, nil], "\(mails)")
    }

    @Test("an address that another world knows is taken for now, and judged in the world that the mail names")
    func otherWorld() throws {
        let address = try hide(world: "/~w1")
        let named = try fixture.wire().mail(
            from: "anyone@example.com", to: [address], "X-Understudy-World: w1\r\n\(RelayedMailTests.content)")
        #expect(named?.hasPrefix("250") == true, "\(named ?? "")")
        #expect(try fixture.mails(world: "w1").count == 1)
        let unnamed = try fixture.wire().mail(from: "anyone@example.com", to: [address], RelayedMailTests.content)
        #expect(unnamed == "550 5.1.1 <\(address)>: user not found")
        #expect(try fixture.requests("status=550").first?["path"] as? String == "/MESSAGE")
        let nobody = try fixture.wire().mail(
            from: "anyone@example.com", to: ["nobody@privaterelay.appleid.com"], RelayedMailTests.content)
        #expect(nobody?.hasPrefix("550 5.1.1") == true)
        #expect(try fixture.requests("status=550").last?["path"] as? String == "/RCPT")
    }
}
