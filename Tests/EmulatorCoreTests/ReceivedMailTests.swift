import Foundation
import TestSupport
import Testing
import Time
import Understudy

@testable import EmulatorCore

@Suite("mails that came from outside, in the inbox")
struct ReceivedMailTests {
    private static let raw = Array(
        """
        From: "Example, Inc." <noreply@example.com>\r
        To: Ada Lovelace <ada@example.com>, grace@example.com\r
        Cc: =?utf-8?q?J=C3=B6rg?= <joerg@example.com>\r
        Reply-To: help@example.com\r
        subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r
         folded\r
        Content-Type: multipart/mixed; boundary=b\r
        \r
        --b\r
        \r
        Your code is 123456, at http://localhost/x\r
        --b\r
        Content-Type: image/png; name="a.png"\r
        Content-Transfer-Encoding: base64\r
        Content-ID: <logo@example.com>\r
        \r
        AAEC/w==\r
        --b--\r

        """.utf8)

    private func message(
        _ raw: [UInt8] = raw, to recipients: [String] = ["ada@example.com", "grace@example.com", "x@example.com"],
        relay: SentMessage.Relay? = nil
    ) -> SentMessage {
        SentMessage(
            received: ReceivedContent(raw), from: "bounces@example.com", to: recipients, relay: relay, request: "r7")
    }

    private func row(_ message: SentMessage) throws -> InboxMessage {
        InboxMessage(number: 3, time: try #require(Instant("2030-01-01T00:00:00Z")), message: message)
    }

    private static func world() -> World {
        WorldRegistry(seed: Providers.seedFormat.nothing, generator: .ofTests).main
    }

    @Test("a mail that was shown is kept read, until it is another one or the inbox is emptied")
    func keptRead() throws {
        let world = ReceivedMailTests.world()
        let row = try row(message())
        let shown = row.content(in: world).text
        let kept = world.budget.readMails.bytes
        #expect(kept > ReceivedMailTests.raw.count)
        #expect(row.content(in: world).text == shown && world.budget.readMails.bytes == kept)
        // If another daemon has reset the world, its numbers are used again.
        let content = ReceivedContent(Array("Subject: another\r\n\r\nanother\r\n".utf8))
        let other = try self.row(SentMessage(received: content, from: "a@b.c", to: ["d@e.f"], request: nil))
        #expect(other.content(in: world).text == "another\n")
        try world.deleteMessages()
        #expect(world.budget.readMails.bytes == 0)
    }

    @Test("what is kept of mails that were read is bounded")
    func boundedReading() {
        let mails = ReadMails(limit: 100_000)
        let raw = Array("Subject: x\r\n\r\n\(String(repeating: "a", count: 5_000))".utf8)
        for number in 1...50 {
            #expect(mails.mail(raw, inbox: 1, message: number).text?.utf8.count == 5_000)
            #expect(mails.bytes <= 100_000)
        }
        let before = mails.bytes
        let long = Array("\r\n\(String(repeating: "a", count: 100_000))".utf8)
        #expect(mails.mail(long, inbox: 1, message: 51).text?.utf8.count == 100_000 && mails.bytes == before)
    }

    @Test("what it is, who it is to, and what is in it")
    func summary() throws {
        let message = message()
        #expect(message.from == Mailbox("noreply@example.com", name: "Example, Inc."))
        #expect(message.to == Mailbox("ada@example.com", name: "Ada Lovelace"))
        #expect(message.cc == [Mailbox("joerg@example.com", name: "Jörg")])
        #expect(message.replyTo == Mailbox("help@example.com"))
        #expect(message.envelope.from == "bounces@example.com" && message.envelope.to.count == 3)
        #expect(message.subject == "Grüße folded")
        #expect(message.links == ["http://localhost/x"] && message.codes == ["123456"])
        #expect(
            message.attachments == [
                ReadMail.Attachment(name: "a.png", type: "image/png", size: 4, contentID: "logo@example.com")
            ])
        let row = try row(message)
        #expect(row.raw == ReceivedMailTests.raw)
        let world = ReceivedMailTests.world()
        #expect(row.content(in: world).text == "Your code is 123456, at http://localhost/x")
        #expect(row.content(in: world).headers.map(\.name).prefix(2) == ["From", "To"])
        #expect(row.attachment(1, in: world)?.bytes == [0, 1, 2, 255])
        #expect(row.attachment(0, in: world) == nil && row.attachment(2, in: world) == nil)
        #expect(row.forwarded == nil)
    }

    @Test("a row is the same after it was stored as JSON, bytes that are no text included")
    func stored() throws {
        let relay = SentMessage.Relay(
            title: "Apple's relay", address: "a@relay.example",
            forwarded: ForwardedMail(
                to: "ada@example.com", from: "x@relay.example", fields: [.init(name: "From", value: "x@relay.example")])
        )
        let row = try row(message(ReceivedMailTests.raw + [0, 0xFF, 0xFE, 0x80], relay: relay))
        let again = try JSONDecoder().decode(InboxMessage.self, from: JSONEncoder().encode(row))
        #expect(again.message == row.message && again.raw == row.raw && again.time == row.time)
    }

    @Test("every recipient finds it, and who got it from the relay, too")
    func recipients() throws {
        let seed = try Seed([SeedSource(name: "seed", text: "{}", directory: ".")], format: Providers.seedFormat)
        let world = WorldRegistry(seed: seed, generator: .ofTests).main
        try world.deliver(message())
        for address in ["ADA@example.com", "grace@example.com", "x@example.com"] {
            #expect(world.read { $0.messages(to: address) }.count == 1)
        }
        #expect(world.read { $0.messages(to: "joerg@example.com") }.isEmpty)
        #expect(!world.isUntouched)
    }

    @Test("a mail that says nothing of itself", arguments: ["", "\r\n", "\r\nHello", "x\r\n\r\n"])
    func bare(raw: String) throws {
        let message = message(Array(raw.utf8), to: ["ada@example.com"])
        #expect(message.from == Mailbox("bounces@example.com") && message.to == Mailbox("ada@example.com"))
        #expect(message.subject == nil && message.cc.isEmpty && message.replyTo == nil)
        #expect(try row(message).raw == Array(raw.utf8))
    }

    @Test("what is kept beside the mail is small, whatever stands in it")
    func small() {
        let long = String(repeating: "x", count: 200_000)
        let copies = (0..<900).map { "a\($0)@example.com" }.joined(separator: ", ")
        let raw = Array("From: \(long) <a@b.c>\r\nSubject: \(long)\r\nCc: \(copies)\r\nTo: \(long)\r\n\r\n".utf8)
        let message = message(raw)
        #expect(message.size > raw.count && message.size < raw.count + 16_000)
        #expect(message.cc.count == 100)
    }

    @Test("the forwarded mail has the relay's fields in place of the sender's, and the same content")
    func forwarded() throws {
        let fields: [InboxMessage.HeaderField] = [
            .init(name: "From", value: "Jörg, Inc. <x_at_y@relay.example>"), .init(name: "Reply-To", value: ""),
            .init(name: "X-New", value: "new"),
        ]
        let relay = SentMessage.Relay(
            title: "Apple's relay", address: "a@relay.example",
            forwarded: ForwardedMail(to: "ada@example.com", from: "x_at_y@relay.example", fields: fields))
        let row = try row(message(relay: relay))
        let forwarded = try #require(row.forwarded)
        let mail = ReadMail(forwarded)
        #expect(mail.from == [Mailbox("x_at_y@relay.example", name: "Jörg, Inc.")])
        #expect(mail.headers.first?.name == "From" && mail.headers.last?.name == "X-New")
        #expect(mail.header("Reply-To") == nil && mail.header("Subject") == "Grüße folded")
        let end = Array("\r\n\r\n".utf8)
        func body(_ bytes: [UInt8]) -> [UInt8] {
            let text = String(decoding: bytes, as: UTF8.self).utf8
            let place = Array(text).indices.first { Array(text)[$0...].starts(with: end) } ?? 0
            return Array(bytes[place...])
        }
        #expect(body(forwarded) == body(ReceivedMailTests.raw))
        #expect(row.raw == ReceivedMailTests.raw)
    }

    @Test(
        "fields are replaced where they stood, folded ones whole, and a mail without a header gets one",
        arguments: [
            ("A: 1\r\nB: 2\r\n 3\r\nC: 4\r\n\r\nB: x\r\n", "A: 1\r\nB: new\r\nC: 4\r\n\r\nB: x\r\n"),
            ("b : 1\r\nA: 2\r\nB: 3\r\n\r\n", "B: new\r\nA: 2\r\n\r\n"), ("A: 1\r\n\r\nx", "A: 1\r\nB: new\r\n\r\nx"),
            ("A: 1\r\n", "A: 1\r\nB: new\r\n"), ("\r\nx", "B: new\r\n\r\nx"), ("", "B: new\r\n"),
            ("A: 1", "A: 1\r\nB: new\r\n"), ("A: 1\n\nx", "A: 1\nB: new\r\n\nx"),
        ])
    func replaced(raw: String, result: String) {
        let bytes = HeaderRewriting.replace(Array(raw.utf8), with: [.init(name: "B", value: "new")])
        #expect(String(decoding: bytes, as: UTF8.self) == result)
    }

    @Test("relays say what they answered, or that nobody was told")
    func relays() {
        let refused = SentMessage.Relay(
            title: "R", address: "a@b.c",
            refused: MailRefusal(550, "5.1.1", "unauthorized sender", Diagnosis("register")))
        #expect(refused.refusal == "550 5.1.1 unauthorized sender" && refused.reason == "register")
        let lost = SentMessage.Relay(title: "R", address: "a@b.c", lost: Diagnosis("gone"))
        #expect(lost.refusal == nil && lost.forwardedTo == nil && lost.reason == "gone")
        #expect(message(relay: lost).isUndelivered && message(relay: refused).isUndelivered && !message().isUndelivered)
    }
}
