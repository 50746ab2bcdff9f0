import EmulatorCore
import Foundation
import SMTPServer
import TestSupport
import Testing

@testable import Mail

@Suite struct MailQueueTests {
    @Test("what is put into an inbox is handed on, with a trace and otherwise unchanged") func handingOn() throws {
        let fixture = try QueueFixture()
        let id = fixture.deliver("Grüße")
        try fixture.wait { fixture.state(id) == .sent }
        let mail = try #require(fixture.receiver.mails.first)
        #expect(mail.envelope.sender == "app@example.test" && mail.envelope.recipients == ["ada@example.test"])
        let row = try #require(fixture.world.read { $0.find(InboxMessage.self, id) })
        let text = String(decoding: mail.content, as: UTF8.self)
        #expect(text.hasPrefix("Received: by localhost (Understudy) with SMTP id m1."))
        #expect(text.hasSuffix("\r\n" + String(decoding: row.raw, as: UTF8.self)))
        #expect(
            fixture.queue.status
                == ForwardingStatus(
                    to: "\(fixture.address)", queued: 0, oldest: nil, lastError: nil, forwarded: 1, failed: 0))
    }

    @Test("text messages, and mails that a relay refused, stay") func others() throws {
        let fixture = try QueueFixture()
        let text = SentMessage(.text, from: Mailbox("App"), to: Mailbox("+15555550123"), text: "123456", request: nil)
        var refused = SentMessage(.mail, from: Mailbox("a@b.test"), to: Mailbox("x@relay.test"), text: "", request: nil)
        refused.relay = SentMessage.Relay(
            title: "The relay", address: "x@relay.test", forwardedTo: nil, refusal: "550", reason: "no")
        for message in [text, refused] {
            let row = fixture.world.deliver(message)
            #expect(fixture.queue.handedOn(row.id, in: fixture.world) == nil)
        }
        var forwarded = refused
        forwarded.relay = SentMessage.Relay(
            title: "The relay", address: "x@relay.test", forwardedTo: "eve@example.test", refusal: nil, reason: nil)
        fixture.world.deliver(forwarded)
        try fixture.wait { fixture.queue.status.forwarded == 1 }
        #expect(fixture.receiver.mails.map(\.envelope.recipients) == [["eve@example.test"]])
    }

    @Test("behind a relay, the person gets it as the relay writes it") func relayed() throws {
        let fixture = try QueueFixture()
        let raw = Array("From: App <app@example.test>\r\nSubject: x\r\n\r\ny\r\n".utf8)
        let forwarded = ForwardedMail(
            to: "eve@example.test", from: "app_at_example@relay.test",
            fields: [InboxMessage.HeaderField(name: "From", value: "App <app_at_example@relay.test>")])
        let relay = SentMessage.Relay(title: "The relay", address: "x@relay.test", forwarded: forwarded)
        let row = fixture.world.deliver(
            SentMessage(
                received: ReceivedContent(raw), from: "app@example.test", to: ["x@relay.test"], relay: relay,
                request: nil))
        try fixture.wait { fixture.state(row.id) == .sent }
        let mail = try #require(fixture.receiver.mails.first)
        #expect(mail.envelope.sender == "app_at_example@relay.test")
        #expect(mail.envelope.recipients == ["eve@example.test"])
        let asForwarded = try #require(row.forwarded)
        #expect(asForwarded != raw && mail.content.suffix(asForwarded.count) == asForwarded[...])
    }

    @Test("a server that is down at first gets all of it, in order, over one connection") func down() throws {
        let fixture = try QueueFixture(isServing: false)
        let ids = (1...20).map { fixture.deliver("\($0)") }
        try fixture.wait { fixture.queue.status.lastError != nil }
        let waiting = try #require(fixture.queue.handedOn(ids[7], in: fixture.world))
        #expect(
            waiting.state == .queued && waiting.error?.contains("can't connect to \(fixture.address)") == true)
        #expect(fixture.queue.status.queued == 20 && fixture.queue.status.oldest != nil)
        try fixture.serve()
        try fixture.wait { fixture.queue.status.forwarded == 20 }
        let subjects = fixture.receiver.mails.compactMap { ReadMail($0.content).header("Subject") }
        #expect(subjects == (1...20).map { "\($0)" })
        #expect(fixture.log.all.filter { $0.hasPrefix("warning mail can't be handed on: can't connect") }.count == 1)
    }

    @Test("4xx is tried again, and others don't wait for it", arguments: ["MAIL app@example.test", "DATA", "END"])
    func temporary(at command: String) throws {
        let count = Counter()
        let receiver = TestMailServer { asked, _ in
            asked == command && count.next() <= 3 ? .reply(SMTPReply(451, "4.3.0", "try again")) : .goOn
        }
        let fixture = try QueueFixture(receiver: receiver)
        let ids = ["first", "second"].map { fixture.deliver($0) }
        try fixture.wait { ids.allSatisfy { fixture.state($0) == .sent } }
        #expect(count.value == 5 && fixture.queue.status.lastError == "451 4.3.0 try again")
    }

    @Test("5xx is given up at once, and told") func permanent() throws {
        let count = Counter()
        let receiver = TestMailServer { asked, _ in
            guard asked == "END", count.next() == 1 else { return .goOn }
            return .reply(SMTPReply(554, "5.7.1", "spam"))
        }
        let fixture = try QueueFixture(receiver: receiver)
        let ids = ["bad", "good"].map { fixture.deliver($0) }
        try fixture.wait { fixture.state(ids[1]) == .sent }
        #expect(fixture.queue.handedOn(ids[0], in: fixture.world) == HandedOn(.failed, error: "554 5.7.1 spam"))
        let status = fixture.queue.status
        #expect(status.failed == 1 && status.forwarded == 1 && status.lastError == "554 5.7.1 spam")
        #expect(fixture.log.all.contains { $0.contains("mail m1 to ada@example.test isn't handed on") })
    }

    @Test(
        "a connection that ends is opened again", arguments: ["MAIL app@example.test", "RCPT ada@example.test", "END"])
    func cut(at command: String) throws {
        let count = Counter()
        let receiver = TestMailServer { asked, _ in
            asked == command && count.next() % 2 == 0 ? .disconnect : .goOn
        }
        let fixture = try QueueFixture(receiver: receiver)
        let ids = (1...5).map { fixture.deliver("\($0)") }
        try fixture.wait { ids.allSatisfy { fixture.state($0) == .sent } }
        #expect(fixture.receiver.mails.count == 5 && fixture.queue.status.failed == 0)
    }

    @Test("a mail that ends every connection doesn't keep others from being sent") func poison() throws {
        let receiver = TestMailServer { asked, _ in asked == "RCPT poison@example.test" ? .disconnect : .goOn }
        let fixture = try QueueFixture(receiver: receiver)
        let bad = fixture.deliver(to: "poison@example.test")
        let good = (1...3).map { fixture.deliver("\($0)") }
        try fixture.wait { good.allSatisfy { fixture.state($0) == .sent } }
        #expect(fixture.state(bad) == .queued && fixture.queue.status.queued == 1)
    }

    @Test(
        "what isn't taken within its lifetime is given up",
        arguments: [MailDecision.reply(SMTPReply(450, nil, "no")), .disconnect, nil] as [MailDecision?])
    func lifetime(answer: MailDecision?) throws {
        let receiver = TestMailServer { asked, _ in asked == "END" ? answer ?? .goOn : .goOn }
        let fixture = try QueueFixture(isServing: answer != nil, receiver: receiver) {
            $0.lifetime = .milliseconds(200)
        }
        let began = ContinuousClock.now
        let id = fixture.deliver()
        try fixture.wait { fixture.state(id) == .failed }
        #expect(ContinuousClock.now - began >= .milliseconds(200))
        #expect(fixture.queue.status.queued == 0 && fixture.queue.status.failed == 1)
    }

    @Test("the queue is bounded, and says what it doesn't take") func bounds() throws {
        let fixture = try QueueFixture(isServing: false) { $0.limit = (messages: 3, bytes: 1 << 20) }
        let ids = (1...4).map { fixture.deliver("\($0)") }
        #expect(ids.map { fixture.state($0) } == [.queued, .queued, .queued, .failed])
        #expect(
            fixture.log.all.contains { $0.hasPrefix("warning mail m4 isn't handed on") && $0.contains("queue is full") }
        )
        let large = try QueueFixture(isServing: false) { $0.limit = (messages: 100, bytes: 10_000) }
        #expect(large.state(large.deliver(String(repeating: "x", count: 20_000))) == .failed)
        #expect(large.state(large.deliver()) == .queued)
    }

    @Test("a reset lets go what waits, of that world alone") func reset() throws {
        let fixture = try QueueFixture(isServing: false)
        let other = try #require(fixture.worlds.world("other"))
        let id = fixture.deliver("old")
        fixture.deliver("other's", in: other)
        #expect(fixture.queue.status.queued == 2)
        fixture.world.reset()
        // What is being sent at this moment goes when the attempt has ended.
        try fixture.wait { fixture.queue.status.queued == 1 }
        // The same ID is given out again.
        #expect(fixture.state(id) == nil && fixture.deliver("new") == id && fixture.state(id) == .queued)
        #expect(fixture.worlds.drop("other"))
        try fixture.wait { fixture.queue.status.queued == 1 }
        try fixture.serve()
        try fixture.wait { fixture.state(id) == .sent }
        #expect(fixture.receiver.mails.compactMap { ReadMail($0.content).header("Subject") } == ["new"])
    }

    @Test("some recipients refused: the others get it once") func recipients() throws {
        let count = Counter()
        let receiver = TestMailServer { asked, _ in
            switch asked {
            case "RCPT no@example.test": .reply(SMTPReply(550, "5.1.1", "unknown"))
            case "RCPT later@example.test" where count.next() == 1: .reply(SMTPReply(450, "4.2.1", "later"))
            default: .goOn
            }
        }
        let fixture = try QueueFixture(receiver: receiver)
        let raw = Array("From: a@example.test\r\nSubject: x\r\n\r\ny\r\n".utf8)
        let row = fixture.world.deliver(
            SentMessage(
                received: ReceivedContent(raw), from: "a@example.test",
                to: ["no@example.test", "yes@example.test", "later@example.test"], request: nil))
        try fixture.wait { fixture.state(row.id) == .failed }
        #expect(fixture.receiver.mails.map(\.envelope.recipients) == [["yes@example.test"], ["later@example.test"]])
        let error = fixture.queue.handedOn(row.id, in: fixture.world)?.error
        #expect(error == "no@example.test: 550 5.1.1 unknown")
        #expect(fixture.receiver.mails.first.map { $0.content.suffix(raw.count) == raw[...] } == true)
    }

    @Test("when it stops, what waits is tried once more, and what is lost is told") func stopping() throws {
        let slow = try QueueFixture {
            $0.idle = .milliseconds(1)
            $0.farewell = .seconds(patienceSeconds)
        }
        for number in 1...50 { slow.deliver("\(number)") }
        slow.queue.stop()
        #expect(slow.receiver.mails.count == 50)
        let id = slow.deliver("late")
        #expect(slow.queue.handedOn(id, in: slow.world) == HandedOn(.failed, error: "the daemon stops"))

        let lost = try QueueFixture(isServing: false)
        for number in 1...3 { lost.deliver("\(number)") }
        lost.queue.stop()
        #expect(
            lost.log.all.contains {
                $0.hasPrefix("warning 3 mails were never handed on to \(lost.address): can't connect")
            })
    }

    @Test("a server that hangs doesn't hold up the end") func hanging() throws {
        let (isAsked, goesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let receiver = TestMailServer { asked, _ in
            if asked == "END" {
                isAsked.signal()
                goesOn.wait()
            }
            return .goOn
        }
        let fixture = try QueueFixture(receiver: receiver)
        defer { goesOn.signal() }
        fixture.deliver()
        isAsked.wait()
        // Returns while the server still hangs.
        fixture.queue.stop()
        #expect(fixture.log.all.contains { $0.hasPrefix("warning 1 mail was never handed on") })
    }

    @Test("what this daemon has handed on is recognized") func loops() throws {
        let trace = MailTrace()
        let mail = Array("Subject: x\r\n\r\nbody\r\n".utf8)
        #expect(!trace.isLoop(mail))
        let once = trace.line("m1", .first) + mail
        let other = Array("Received: from a by b;\r\n\tMon\r\nX: y\r\n".utf8) + once
        #expect(trace.isLoop(once) && trace.isLoop(other) && !MailTrace().isLoop(once))
        // In the body it is a quotation.
        #expect(!trace.isLoop(mail + once))
        let circles = Array(String(repeating: "received: by x\r\n", count: 101).utf8) + mail
        #expect(trace.isLoop(circles) && !trace.isLoop(Array(circles.dropFirst(16))))
    }
}
