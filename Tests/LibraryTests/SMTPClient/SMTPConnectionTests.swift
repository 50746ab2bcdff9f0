import SMTPServer
import TestSupport
import Testing

@testable import SMTPClient

@Suite struct SMTPConnectionTests {
    private func open(_ server: SMTPServer, login: String = "") throws(SMTPFailure) -> SMTPConnection {
        guard let address = MailServerAddress("\(login)127.0.0.1:\(server.port)") else {
            throw .impossible("no address")
        }
        return try SMTPConnection.open(to: address)
    }

    private func mail(_ content: String = "Subject: Hi\r\n\r\nHello\r\n", to recipients: [String] = ["b@c.test"])
        -> OutgoingMail
    {
        OutgoingMail(from: "a@b.test", to: recipients, content: Array(content.utf8))
    }

    @Test(
        "a message arrives as it is",
        arguments: [
            "Subject: x\r\n\r\n.\r\n..\r\n.a\r\n", "", "\r\n", "Subject: äöü\r\n\r\n\u{0}\u{7F}ÿ\r\n",
            "a: b\r\n\r\n" + String(repeating: "0123456789.\r\n", count: 50_000),
        ])
    func bytes(content: String) throws {
        let receiver = TestMailServer()
        let server = try receiver.serve()
        defer { server.stop() }
        let connection = try open(server)
        #expect(try connection.send(mail(content)).isEmpty)
        #expect(try connection.send(mail("second\r\n")).isEmpty)
        connection.quit()
        let mails = receiver.mails
        #expect(mails.map { $0.content } == [Array(content.utf8), Array("second\r\n".utf8)])
        #expect(mails.first?.envelope.sender == "a@b.test" && mails.first?.client.name == "[127.0.0.1]")
        #expect(mails.first?.client.isSecure == false)
    }

    @Test("TLS is used where it is offered, and the login goes by it") func secure() throws {
        let receiver = TestMailServer()
        let certificate = try SelfSigned.make()
        let server = try receiver.serve(certificate: certificate)
        defer { server.stop() }
        let connection = try open(server, login: "me:se:cret@")
        #expect(connection.isSecure)
        _ = try connection.send(mail())
        let client = try #require(receiver.mails.first).client
        #expect(client.isSecure && client.user == "me" && client.password == "se:cret")
    }

    @Test("some recipients may be refused") func recipients() throws {
        let receiver = TestMailServer { command, _ in
            switch command {
            case "RCPT no@c.test": .reply(SMTPReply(550, "5.1.1", "no such user"))
            case "RCPT later@c.test": .reply(SMTPReply(450, "4.2.1", "not now"))
            default: .goOn
            }
        }
        let server = try receiver.serve()
        defer { server.stop() }
        let connection = try open(server)
        let refused = try connection.send(mail(to: ["no@c.test", "yes@c.test", "later@c.test"]))
        #expect(refused.map(\.reply.text) == ["550 5.1.1 no such user", "450 4.2.1 not now"])
        #expect(receiver.mails.first?.envelope.recipients == ["yes@c.test"])
        // Without any recipient, no message is sent, and the connection stays open.
        #expect(try connection.send(mail(to: ["no@c.test"])).count == 1)
        #expect(try connection.send(mail()).isEmpty && receiver.mails.count == 2)
    }

    @Test("refusals at each command", arguments: ["MAIL a@b.test", "DATA", "END"], [450, 550])
    func refusals(at command: String, code: Int) throws {
        let receiver = TestMailServer { asked, _ in asked == command ? .reply(SMTPReply(code, nil, "no")) : .goOn }
        let server = try receiver.serve()
        defer { server.stop() }
        let connection = try open(server)
        for _ in 1...2 {
            #expect(throws: SMTPFailure.refused(ServerReply(code: code, lines: ["no"]))) { try connection.send(mail()) }
        }
    }

    @Test(
        "a connection that ends is told from a refusal", arguments: ["MAIL a@b.test", "RCPT b@c.test", "DATA", "END"])
    func cut(at command: String) throws {
        let receiver = TestMailServer { asked, _ in asked == command ? .disconnect : .goOn }
        let server = try receiver.serve()
        defer { server.stop() }
        let connection = try open(server)
        do {
            _ = try connection.send(mail())
            Issue.record("nothing was thrown")
        } catch SMTPFailure.connection(_, let mayHaveArrived) {
            #expect(mayHaveArrived == (command == "END"))
        }
    }

    @Test("421 ends the connection, whatever it answers") func closing() throws {
        let receiver = TestMailServer { asked, _ in
            asked == "RCPT b@c.test" ? .reply(SMTPReply(421, "4.3.2", "bye")) : .goOn
        }
        let server = try receiver.serve()
        defer { server.stop() }
        let connection = try open(server)
        #expect(throws: SMTPFailure.connection("127.0.0.1:\(server.port) answers 421 4.3.2 bye")) {
            try connection.send(mail())
        }
    }

    @Test("what the server can't take isn't begun") func impossible() throws {
        let receiver = TestMailServer()
        let server = try receiver.serve()
        defer { server.stop() }
        let connection = try open(server)
        let large = OutgoingMail(
            from: "", to: ["b@c.test"], content: [UInt8](repeating: 0x61, count: SMTPSession.messageLimit + 1))
        for mail in [large, mail(to: ["a\r\nRSET@b.test"]), mail(to: [])] {
            #expect {
                try connection.send(mail)
            } throws: { error in
                if case .impossible = error as? SMTPFailure { true } else { false }
            }
        }
    }

    @Test("international addresses are written as they are") func international() throws {
        let receiver = TestMailServer()
        let server = try receiver.serve()
        defer { server.stop() }
        let connection = try open(server)
        let mails = [
            OutgoingMail(from: "jörg@müller.test", to: ["b@c.test"], content: []),
            OutgoingMail(from: "a@b.test", to: ["b@c.test"], content: Array("Subject: Grüße\r\n\r\n".utf8)),
            OutgoingMail(from: "a@b.test", to: ["b@c.test"], content: Array("Subject: x\r\n\r\nGrüße".utf8)),
        ]
        for mail in mails { _ = try connection.send(mail) }
        #expect(receiver.mails.map(\.envelope.isUTF8) == [true, true, false])
        #expect(receiver.mails.first?.envelope.sender == "jörg@müller.test")
    }

    @Test("nobody there, and somebody who speaks another protocol") func others() throws {
        let receiver = TestMailServer()
        let server = try receiver.serve()
        let port = server.port
        server.stop()
        let fixture = try AppleFixture()
        for port in [Int(port), fixture.server.port] {
            var patience = SMTPConnection.Patience()
            patience.command = .milliseconds(300)
            let address = try #require(MailServerAddress("127.0.0.1:\(port)"))
            #expect(throws: SMTPFailure.self) { try SMTPConnection.open(to: address, patience: patience) }
        }
    }
}
