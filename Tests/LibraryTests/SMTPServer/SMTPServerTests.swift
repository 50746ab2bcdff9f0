import Foundation
import Synchronization
import TestSupport
import Testing

@testable import SMTPServer

/// Records all mail, and decides as the test wants.
final class Receiver: MailReceiver, Sendable {
    let messages = Mutex<[IncomingMessage]>([])
    let lines = Mutex<[String]>([])
    let ends = Mutex<[ConversationEnd]>([])
    let refusals = Mutex<[String]>([])
    let labels = Mutex<[String?]>([])
    let decide: @Sendable (String) -> MailDecision

    /// Makes a receiver. `decide` gets a command's name, or `message` at the end of the data.
    init(_ decide: @escaping @Sendable (String) -> MailDecision = { _ in .goOn }) { self.decide = decide }

    func open(_ label: String?) -> any MailConversation {
        labels.withLock { $0.append(label) }
        return Conversation(self)
    }

    private final class Conversation: MailConversation {
        private let receiver: Receiver

        init(_ receiver: Receiver) { self.receiver = receiver }

        func decide(_ question: MailQuestion, _ session: SMTPSession) -> MailDecision {
            switch question {
            case .connect: receiver.decide("connect")
            case .hello: receiver.decide("hello")
            case .startTLS: receiver.decide("startTLS")
            case .auth(let user): receiver.decide("auth \(user)")
            case .mail(let path): receiver.decide("mail \(path.address)")
            case .rcpt(let path): receiver.decide("rcpt \(path.address)")
            case .data: receiver.decide("data")
            }
        }

        func receive(_ message: IncomingMessage, _ session: SMTPSession) -> MailDecision {
            receiver.messages.withLock { $0.append(message) }
            return receiver.decide("message")
        }

        func recordLine(_ line: ConversationLine) {
            receiver.lines.withLock { lines in
                switch line {
                case .client(let text): lines.append("C: \(text)")
                case .server(let reply): lines.append("S: \(reply.code)")
                }
            }
        }

        func didRefuse(_ verb: String, _ reply: SMTPReply, _ session: SMTPSession) {
            receiver.refusals.withLock { $0.append("\(verb) \(reply.code)") }
        }

        func end(_ session: SMTPSession, _ reason: ConversationEnd) { receiver.ends.withLock { $0.append(reason) } }
    }
}

@Suite("SMTP over sockets", .timeLimit(.minutes(30)))
struct SMTPServerTests {
    private func serve(
        _ receiver: Receiver = Receiver(), _ change: (inout SMTPServer.Options) -> Void = { _ in }
    ) throws -> SMTPServer {
        var options = SMTPServer.Options()
        change(&options)
        return try SMTPServer(options, receiver: receiver)
    }

    @Test("a message comes in byte for byte, several in one conversation") func messages() throws {
        let receiver = Receiver()
        let server = try serve(receiver)
        defer { server.stop() }
        let wire = try MailWire(port: Int(server.port))
        #expect(wire.greeting.hasPrefix("220 localhost ESMTP"))
        let content = "Subject: a\r\n\r\n..\r\nÄ\u{0} lone\rreturn lone\nfeed\r\n"
        #expect(wire.mail(from: "", to: ["b@c.test", "d@e.test"], content)?.hasPrefix("250 2.0.0") == true)
        #expect(
            wire.codes("MAIL FROM:<x@y.test>", "RCPT TO:<b@c.test>", "DATA", "second\r\n.", "QUIT") == [
                250, 250, 354, 250, 221,
            ])
        #expect(wire.reply() == nil)
        let messages = receiver.messages.withLock { $0 }
        #expect(messages.count == 2)
        #expect(
            messages.first?.envelope.recipients == ["b@c.test", "d@e.test"] && messages.first?.envelope.sender == "")
        #expect(
            messages.first.map { String(decoding: $0.content, as: UTF8.self) }
                == content.replacingOccurrences(
                    of: "\r\n..\r\n", with: "\r\n.\r\n"))
        #expect(eventually { receiver.ends.withLock { $0 } == [.quit] })
    }

    @Test("commands that come together are answered in order, also behind a message") func pipelining() throws {
        let server = try serve()
        defer { server.stop() }
        let wire = try MailWire(port: Int(server.port))
        wire.send(
            "EHLO a\r\nMAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\ntext\r\n.\r\nNOOP\r\nBLA\r\nQUIT\r\n")
        wire.finishSending()
        var codes: [String] = []
        while let reply = wire.reply() { codes.append(String(reply.prefix(3))) }
        #expect(codes == ["250", "250", "250", "354", "250", "250", "500", "221"])
    }

    @Test("what isn't CR LF, dot, CR LF ends no message") func smuggling() throws {
        let receiver = Receiver()
        let server = try serve(receiver)
        defer { server.stop() }
        let wire = try MailWire(port: Int(server.port))
        let smuggled = "\n.\nMAIL FROM:<evil@b.test>\n\r.\r\n\n.\r\n"
        #expect(wire.mail(to: ["c@d.test"], "a\r\n\(smuggled)b\r\n")?.hasPrefix("250") == true)
        let messages = receiver.messages.withLock { $0 }
        #expect(messages.map(\.envelope.sender) == ["app@example.com"])
        #expect(messages.first.map { String(decoding: $0.content, as: UTF8.self) } == "a\r\n\(smuggled)b\r\n")
    }

    @Test("a receiver refuses, answers late, closes the connection") func decisions() throws {
        let receiver = Receiver { asked in
            switch asked {
            case "rcpt no@b.test": .reply(SMTPReply(550, "5.1.1", "nobody"))
            case "mail cut@b.test": MailDecision(.disconnect)
            case "message": MailDecision(.reply(SMTPReply(250, "2.0.0", "late")), after: .milliseconds(300))
            case "auth bye": .reply(SMTPReply(421, "4.0.0", "bye"))
            default: .goOn
            }
        }
        let server = try serve(receiver)
        defer { server.stop() }
        let wire = try MailWire(port: Int(server.port))
        #expect(
            wire.codes("EHLO a", "MAIL FROM:<a@b.test>", "RCPT TO:<no@b.test>", "RCPT TO:<yes@b.test>") == [
                250, 250, 550, 250,
            ])
        let began = ContinuousClock.now
        #expect(wire.codes("DATA", "x\r\n.") == [354, 250])
        #expect(ContinuousClock.now - began >= .milliseconds(300))
        #expect(receiver.messages.withLock { $0.map(\.envelope.recipients) } == [["yes@b.test"]])
        #expect(wire.codes("MAIL FROM:<cut@b.test>") == [0])
        let other = try MailWire(port: Int(server.port))
        #expect(other.codes("EHLO a", "AUTH PLAIN AGJ5ZQB4", "NOOP") == [250, 421, 0])
        #expect(eventually { receiver.ends.withLock { $0 } == [.closedByServer, .closedByServer] })
    }

    @Test("a server that greets with a refusal takes QUIT only") func unwelcome() throws {
        let server = try serve(Receiver { $0 == "connect" ? .reply(SMTPReply(554, "5.3.2", "no mail here")) : .goOn })
        defer { server.stop() }
        let wire = try MailWire(port: Int(server.port))
        #expect(wire.greeting == "554 5.3.2 no mail here")
        #expect(wire.codes("EHLO a", "QUIT", "NOOP") == [503, 221, 0])
    }

    @Test("passwords are in no line that the receiver notes") func masked() throws {
        let receiver = Receiver()
        let server = try serve(receiver)
        defer { server.stop() }
        for lines in [
            ["AUTH PLAIN AGFkYQBzZWNyZXQ="], ["AUTH PLAIN", "AGFkYQBzZWNyZXQ="], ["AUTH LOGIN", "YWRh", "c2VjcmV0"],
            ["AUTH LOGIN YWRh", "c2VjcmV0"], ["AUTH PLAIN c2VjcmV0 x"], ["auth c2VjcmV0 x y"],
        ] {
            let wire = try MailWire(port: Int(server.port))
            wire.say("EHLO a")
            for line in lines { wire.say(line) }
        }
        let noted = receiver.lines.withLock { $0.joined(separator: "\n") }
        #expect(noted.contains("C: AUTH PLAIN") && noted.contains("********") && noted.contains("S: 235"))
        #expect(!noted.contains("c2VjcmV0") && !noted.contains("AGFkYQBzZWNyZXQ") && !noted.contains("secret"))
    }

    @Test("a line that is too long, or isn't UTF-8, is refused and read to its end") func badLines() throws {
        let receiver = Receiver()
        let server = try serve(receiver)
        defer { server.stop() }
        let wire = try MailWire(port: Int(server.port))
        #expect(wire.codes("EHLO " + String(repeating: "x", count: 20_000), "NOOP", "EHLO a") == [500, 250, 250])
        #expect(receiver.refusals.withLock { $0 } == ["COMMAND 500"])
        for _ in 0..<18 { #expect(wire.codes("BLA") == [500]) }
        #expect(wire.codes("BLA", "NOOP") == [421, 0])
    }

    @Test("beyond the limit, connections are refused, and others go on") func limit() throws {
        let server = try serve { $0.limit = 2 }
        defer { server.stop() }
        let wires = [try MailWire(port: Int(server.port)), try MailWire(port: Int(server.port))]
        let third = try MailWire(port: Int(server.port))
        #expect(third.greeting == "421 4.3.2 too many connections" && third.reply() == nil)
        #expect(wires.allSatisfy { $0.codes("NOOP") == [250] })
        #expect(wires[0].codes("QUIT") == [221])
        #expect(eventually { server.connections == 1 })
        #expect(try MailWire(port: Int(server.port)).greeting.hasPrefix("220"))
    }

    @Test("a client that leaves while its answer is delayed gives its place back") func leaving() throws {
        let receiver = Receiver { $0 == "hello" ? MailDecision(.usual, after: .seconds(3_600)) : .goOn }
        let server = try serve(receiver)
        defer { server.stop() }
        var wires: [MailWire] = []
        for _ in 0..<3 {
            let wire = try MailWire(port: Int(server.port))
            wire.send("EHLO a\r\n")
            wires.append(wire)
        }
        #expect(eventually { receiver.lines.withLock { $0.filter { $0 == "C: EHLO a" }.count } == 3 })
        #expect(server.connections == 3)
        wires = []
        #expect(eventually { server.connections == 0 })
        #expect(receiver.ends.withLock { $0 } == [.closedByClient, .closedByClient, .closedByClient])
    }

    @Test("messages that come in at once have limited room together") func room() throws {
        let receiver = Receiver()
        let server = try serve(receiver) { $0.octetLimit = 256 << 10 }
        defer { server.stop() }
        let wire = try MailWire(port: Int(server.port))
        let large = String(repeating: String(repeating: "x", count: 70) + "\r\n", count: 5_000)
        #expect(wire.mail(to: ["a@b.test"], large)?.hasPrefix("452 4.3.1") == true)
        #expect(receiver.messages.withLock { $0.isEmpty } && receiver.refusals.withLock { $0 } == ["MESSAGE 452"])
        // Its share of the limit has been returned.
        for _ in 0..<5 {
            #expect(wire.mail(to: ["a@b.test"], String(large.prefix(70_000)) + "\r\n")?.hasPrefix("250") == true)
        }
        let tooLarge = String(repeating: String(repeating: "x", count: 998) + "\r\n", count: 10_500)
        #expect(wire.mail(to: ["a@b.test"], tooLarge)?.hasPrefix("552 5.3.4") == true)
        #expect(wire.codes("NOOP") == [250])
    }

    @Test("a silent client is told and sent away") func silence() throws {
        let receiver = Receiver()
        let server = try serve(receiver) { $0.silence = 1 }
        defer { server.stop() }
        let wire = try MailWire(port: Int(server.port))
        #expect(wire.reply()?.hasPrefix("421 4.4.2") == true && wire.reply() == nil)
        #expect(eventually { receiver.ends.withLock { $0 } == [.silence] })
    }

    @Test("stopping ends all conversations, whatever clients do") func stop() throws {
        let receiver = Receiver { $0 == "mail slow@b.test" ? MailDecision(.usual, after: .seconds(86_400)) : .goOn }
        let server = try serve(receiver)
        let port = Int(server.port)
        let idle = try MailWire(port: port)
        let inData = try MailWire(port: port)
        #expect(inData.codes("EHLO a", "MAIL FROM:<a@b.test>", "RCPT TO:<a@b.test>", "DATA") == [250, 250, 250, 354])
        inData.send("half a message")
        let slow = try MailWire(port: port)
        slow.say("EHLO a")
        slow.send("MAIL FROM:<slow@b.test>\r\n")
        // This client never reads its replies.
        let deaf = try MailWire(port: port)
        for _ in 0..<200 where server.connections == 4 { deaf.send(String(repeating: "HELP\r\n", count: 100)) }
        server.stop()
        #expect(idle.reply() == "421 4.3.2 the server stops" && idle.reply() == nil)
        #expect(eventually { server.connections == 0 })
        #expect(throws: (any Error).self) { try Wire(port: port) }
        withExtendedLifetime((inData, slow, deaf)) {}
    }

    @Test("a further port labels its conversations, until it is closed") func ports() throws {
        let receiver = Receiver()
        let server = try serve(receiver)
        defer { server.stop() }
        let port = try server.listen(on: 0, label: "w1")
        let wire = try MailWire(port: Int(port.port))
        #expect(wire.codes("NOOP") == [250])
        port.close()
        #expect(throws: (any Error).self) { try Wire(port: Int(port.port)) }
        #expect(wire.codes("NOOP") == [250])
        #expect(try MailWire(port: Int(server.port)).codes("NOOP") == [250])
        #expect(receiver.labels.withLock { $0 } == ["w1", nil])
    }
}
