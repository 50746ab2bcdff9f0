import Foundation
import Testing
import TestSupport
import UnderstudyClient

@Suite("Mail, by the client")
struct ClientMailTests {
    let fixture: ClientFixture
    var world: World { fixture.world }

    init() throws { fixture = try ClientFixture() }

    @Test("is found by whom it is to, whom it is from and what it says")
    func found() async throws {
        let sent = try await world.sendMail(
            from: "app@example.com", to: ["ada@example.com", "max@example.org"], cc: ["grace@example.com"],
            replyTo: "help@example.com", subject: "Welcome", text: "Your code is 123456.",
            html: "<p>Your code is 123456.</p>")
        #expect(sent.smtp.code == 250)
        #expect(sent.refused == nil)
        let all = try await world.mail()
        #expect(all.map(\.id) == sent.messages.map(\.id))
        let mail = try #require(
            try await world.mail(to: "ada@*", from: "app@example.com", subject: "welc", text: "code").first)
        #expect(mail.kind == .mail)
        #expect(mail.subject == "Welcome")
        #expect(mail.codes == ["123456"])
        #expect(mail.html?.contains("<p>") == true)
        #expect(mail.envelope.from == "app@example.com")
        #expect(mail.cc == ["grace@example.com"])
        #expect(mail.description.contains("Welcome"))
        #expect(try await world.message(mail.id).text == mail.text)
        #expect(try await world.mail(kind: .text).isEmpty)
        #expect(try await world.mail(after: mail.id).isEmpty)
        #expect(String(decoding: try await world.rawMail(mail.id), as: UTF8.self).contains("Subject: Welcome"))
    }

    @Test("is waited for, and what came instead is told")
    func waiting() async throws {
        async let mail = world.mail(to: "max@example.org", wait: .seconds(30))
        try await world.sendMail(from: "app@example.com", to: ["max@example.org"], subject: "One")
        #expect(try await mail.map(\.subject) == ["One"])
        let error = await #expect(throws: UnderstudyError.self) {
            try await world.mail(to: "ada@example.com", wait: .milliseconds(10))
        }
        #expect(error?.code == "noMail")
        #expect(error?.message.contains("to \"ada@example.com\"") == true)
        #expect(error?.message.contains("max@example.org: One") == true)
    }

    @Test("is answered by the person who got it")
    func answered() async throws {
        try await world.order(.approve(account: "ada", shareEmail: false))
        let hidden = try #require(try await world.apple.authorize(client: ClientFixture.app).email)
        let sent = try await world.sendMail(from: "support@example.com", to: [hidden], subject: "Hello", text: "Hi")
        let mail = try #require(sent.messages.first)
        #expect(mail.relay?.forwardedTo == "ada@example.com")
        let forwarded = try await world.rawMail(mail.id, forwarded: true)
        #expect(String(decoding: forwarded, as: UTF8.self).contains("privaterelay.appleid.com"))
        let answer = try await world.reply(toMail: mail.id, text: "Fine")
        #expect(answer.messages.first?.relay?.forwardedTo == "support@example.com")
        let refused = await #expect(throws: UnderstudyError.self) { try await world.reply(toMail: "m99", text: "x") }
        #expect(refused?.code == "noSuchMessage")
    }

    @Test("that the relay refuses says so")
    func refused() async throws {
        let sent = try await world.sendMail(
            from: "app@elsewhere.example", to: ["abcdefghij@privaterelay.appleid.com"], text: "x")
        #expect(sent.smtp.code == 550)
        #expect(sent.refused?.first?.reason.isEmpty == false)
        #expect(sent.refused?.first?.smtp.text.contains("abcdefghij@privaterelay.appleid.com") == true)
    }

    @Test("is deleted, one or all")
    func deleted() async throws {
        for number in 1...3 {
            try await world.sendMail(from: "a@example.com", to: ["b@example.com"], subject: "\(number)")
        }
        try await world.deleteMail(try #require(try await world.mail().first).id)
        #expect(try await world.mail().map(\.subject) == ["2", "3"])
        try await world.deleteMail()
        #expect(try await world.mail().isEmpty)
    }

    @Test("comes by SMTP at a port of the world's own", .oneProcess("a world's port is one replica's"))
    func smtp() async throws {
        var options = ClientFixture.options
        options.smtpPort = 0
        let fixture = try ClientFixture(options: options)
        let server = try await fixture.world.smtp()
        #expect(server.host == "127.0.0.1")
        let wire = try Wire(port: server.port)
        for line in ["EHLO test", "MAIL FROM:<a@example.com>", "RCPT TO:<b@example.com>", "DATA"] {
            wire.send("\(line)\r\n")
        }
        let attachment =
            "Content-Type: text/plain; name=a.txt\r\nContent-Disposition: attachment; filename=a.txt\r\n\r\nhello\r\n"
        wire.send(
            "Subject: Files\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nsee\r\n--b\r\n"
                + "\(attachment)--b--\r\n.\r\n")
        let mail = try #require(try await fixture.world.mail(subject: "Files", wait: .seconds(30)).first)
        #expect(mail.attachments?.map(\.name) == ["a.txt"])
        #expect(mail.request != nil)
        let file = try await fixture.world.attachment(1, ofMail: mail.id)
        #expect(String(decoding: file, as: UTF8.self).hasPrefix("hello"))
        let none = await #expect(throws: UnderstudyError.self) { try await world.smtp() }
        #expect(none?.code == "noSMTP")
    }
}
