import Foundation
import TestSupport
import Testing

@Suite("Faults of mail", .timeLimit(.minutes(30)))
struct MailFaultTests {
    private static let relay = "*@privaterelay.appleid.com"

    @Test(
        "a reply is ordered at each step",
        arguments: [
            ("CONNECT", 0), ("EHLO", 1), ("AUTH", 2), ("MAIL", 3), ("RCPT", 4), ("DATA", 5), ("MESSAGE", 6),
        ])
    func replies(step: String, place: Int) throws {
        let fixture = try MailFixture()
        let made = try fixture.fault([
            "match": ["smtp": step], "effect": ["reply": ["code": 450, "status": "4.2.1", "text": "not now"]],
        ])
        #expect(made.status == 201, "\(made.text)")
        let wire = try fixture.wire()
        var replies = [wire.greeting]
        for line in [
            "EHLO a", "AUTH PLAIN AGRlZmF1bHQAeA==", "MAIL FROM:<a@b.test>", "RCPT TO:<c@d.test>", "DATA", "x\r\n.",
        ] where replies.count <= place { replies.append(wire.say(line) ?? "closed") }
        #expect(replies[place] == "450 4.2.1 not now", "\(replies)")
        #expect(replies.dropLast().allSatisfy { !$0.hasPrefix("4") })
        let recorded = try fixture.requests("status=450")
        #expect(recorded.first?["path"] as? String == "/\(step)" && recorded.count == 1)
        #expect((recorded.first?["fault"] as? String)?.contains("not now") == true)
        #expect(try fixture.list("faults", "faults").isEmpty)
        #expect(try fixture.mails().isEmpty)
    }

    @Test("a fault holds for its recipients only, and requests don't use it up") func matching() throws {
        let fixture = try MailFixture()
        _ = try fixture.fault([
            "match": ["smtp": "RCPT", "from": "*@Example.com", "to": MailFaultTests.relay], "after": 1, "times": 2,
            "effect": ["reply": ["code": 550]],
        ])
        _ = try fixture.client.get("/appleid.apple.com/auth/keys")
        let wire = try fixture.wire()
        #expect(
            wire.codes(
                "EHLO a", "MAIL FROM:<a@example.com>", "RCPT TO:<x@b.test>", "RCPT TO:<x@b.test>", "RSET",
                "MAIL FROM:<a@other.com>", "RSET", "MAIL FROM:<a@EXAMPLE.com>") == [
                    250, 250, 250, 250, 250, 250, 250, 250,
                ])
        let seen = try fixture.list("faults", "faults").first
        #expect(seen?["seen"] as? Int == 0 && seen?["done"] as? Int == 0)
    }

    @Test("the connection is closed, at once or later") func disconnect() throws {
        let fixture = try MailFixture()
        _ = try fixture.fault(["match": ["smtp": "MAIL"], "effect": ["disconnect": true, "delay": "200ms"]])
        _ = try fixture.fault(["match": ["smtp": "MESSAGE"], "effect": ["disconnect": true]])
        let wire = try fixture.wire()
        let began = ContinuousClock.now
        #expect(wire.codes("EHLO a", "MAIL FROM:<a@b.test>") == [250, 0])
        #expect(ContinuousClock.now - began >= .milliseconds(200))
        #expect(try fixture.wire().mail(to: ["c@d.test"]) == nil)
        let recorded = try fixture.requests("method=SMTP&wait=1m&count=2")
        #expect(recorded.map { $0["path"] as? String } == ["/MAIL", "/MESSAGE"])
        #expect(
            recorded.allSatisfy { ($0["response"] as? [String: Any])?["disconnected"] as? String == "beforeHeaders" })
    }

    @Test("a delay alone changes nothing else") func delay() throws {
        let fixture = try MailFixture()
        _ = try fixture.fault(["match": ["smtp": "MESSAGE"], "effect": ["delay": "300ms"]])
        let began = ContinuousClock.now
        #expect(try fixture.wire().mail(to: ["c@d.test"]) == "250 2.0.0 ok: queued as m1")
        #expect(ContinuousClock.now - began >= .milliseconds(300))
        #expect((try fixture.requests("method=SMTP").first?["fault"] as? String)?.contains("300ms") == true)
    }

    @Test("a mail is taken and lost") func lost() throws {
        let fixture = try MailFixture()
        _ = try fixture.fault(["match": ["smtp": "MESSAGE", "to": "c@*"], "effect": ["lose": true]])
        #expect(try fixture.wire().mail(to: ["c@d.test"])?.hasPrefix("250 2.0.0") == true)
        #expect(try fixture.mails().isEmpty)
        #expect(MailFixture.conversation(try fixture.requests("method=SMTP").first).contains("taken and lost"))
    }

    @Test(
        "what can't be carried out is refused with its place",
        arguments: [
            (#"{"match":{"smtp":"RCPT"},"effect":{"lose":true}}"#, "$.effect.lose"),
            (#"{"match":{"smtp":"DATA"},"effect":{"status":500}}"#, "$.effect.status"),
            (#"{"match":{"smtp":"DATA"},"effect":{"disconnect":"midBody"}}"#, "$.effect.disconnect"),
            (#"{"match":{"smtp":"EHLO","to":"a@b"},"effect":{"delay":"1s"}}"#, "$.match.to"),
            (#"{"match":{"smtp":"EHLO","from":"a@b"},"effect":{"delay":"1s"}}"#, "$.match.from"),
            (#"{"match":{"smtp":"MAIL","to":"a@b"},"effect":{"delay":"1s"}}"#, "$.match.to"),
            (#"{"match":{"smtp":"MAIL","path":"/*"},"effect":{"delay":"1s"}}"#, "$.match.path"),
            (#"{"match":{"from":"a@b"},"effect":{"delay":"1s"}}"#, "$.match.from"),
            (#"{"match":{"host":"appleid.apple.com"},"effect":{"reply":{"code":450}}}"#, "$.effect.reply"),
            (#"{"match":{"smtp":"MAIL"},"effect":{"reply":{"code":250}}}"#, "$.effect.reply.code"),
            (#"{"match":{"smtp":"MAIL"},"effect":{"reply":{"code":450,"text":"a\r\nb"}}}"#, "$.effect.reply.text"),
            (#"{"match":{"smtp":"MAIL"},"effect":{"reply":{"code":450,"status":"x"}}}"#, "$.effect.reply.status"),
            (#"{"match":{"smtp":"MESSAGE"},"effect":{"lose":true,"reply":{"code":450}}}"#, "$.effect"),
            (#"{"match":{"smtp":"HELO"},"effect":{"delay":"1s"}}"#, "$.match.smtp"),
            (#"{"match":{"smtp":"MAIL"},"effect":{}}"#, "$.effect"),
        ])
    func misfits(order: String, path: String) throws {
        let fixture = try MailFixture()
        let json = try #require(try JSONSerialization.jsonObject(with: Data(order.utf8)) as? [String: Any])
        let answer = try fixture.fault(json)
        #expect(answer.status == 400 && answer.text.contains("\"path\":\"\(path)"), "\(answer.text)")
    }

    @Test("a seed orders them, too, and the catalogue lists what can be ordered") func seeded() throws {
        let fixture = try MailFixture(
            seed: #"{"faults":[{"match":{"smtp":"EHLO"},"effect":{"reply":{"code":421}}}]}"#)
        let wire = try fixture.wire()
        #expect(wire.codes("EHLO a", "NOOP") == [421, 0])
        let endpoints = try fixture.list("endpoints", "endpoints").filter { $0["smtp"] != nil }
        #expect(endpoints.count == 8)
        #expect(endpoints.last?["fits"] as? String == "reply, delay, disconnect, lose")
    }
}
