import Testing

@testable import SMTPServer

/// Tests the session without a connection.
@Suite struct SessionTests {
    /// Returns the codes of the answers to lines, one after the other.
    private func codes(_ lines: [String], offersTLS: Bool = false) -> [Int] {
        var session = SMTPSession(host: "mail.test", offersTLS: offersTLS)
        return lines.map { line in
            session.receive(Array(line.utf8), decide: { _, _ in .goOn }).step.reply?.code ?? 0
        }
    }

    @Test(
        "commands are taken in the order of the standard",
        arguments: [
            (["MAIL FROM:<a@b.test>"], [503]), (["EHLO me", "RCPT TO:<a@b.test>"], [250, 503]),
            (["EHLO me", "MAIL FROM:<>", "DATA"], [250, 250, 554]),
            (["HELO me", "mail from: <a@b.test>", "rcpt to:<c@d.test>", "data"], [250, 250, 250, 354]),
            (["EHLO me", "MAIL FROM:<a@b.test>", "MAIL FROM:<a@b.test>"], [250, 250, 503]),
            (["EHLO me", "MAIL FROM:<a@b.test>", "RSET", "RCPT TO:<a@b.test>"], [250, 250, 250, 503]),
            (
                ["EHLO", "EHLO me", "FOO", "EXPN x", "VRFY x", "NOOP x", "HELP", "RSET x", "QUIT"],
                [501, 250, 500, 502, 252, 250, 214, 501, 221]
            ),
            (["EHLO me", "MAIL FROM:<a@b.test> SIZE=10485761"], [250, 552]),
            (["EHLO me", "MAIL FROM:<a@b.test> SIZE=99999999999999999999"], [250, 501]),
            (["EHLO me", "MAIL FROM:<a@b.test> BODY=8BITMIME SMTPUTF8 SIZE=12"], [250, 250]),
            (["EHLO me", "MAIL FROM:<a@b.test> X=1"], [250, 555]), (["EHLO me", "MAIL FROM:a@b.test"], [250, 501]),
            (["EHLO me", "MAIL FROM:<ä@b.test>", "MAIL FROM:<ä@b.test> SMTPUTF8"], [250, 553, 250]),
            (["EHLO me", "MAIL FROM:<a@b.test>", "RCPT TO:<ä@b.test>"], [250, 250, 553]),
            (["EHLO me", "MAIL FROM:<a@b.test> SMTPUTF8", "RCPT TO:<jörg@müller.test>"], [250, 250, 250]),
            (["EHLO me", "AUTH PLAIN AGFkYQBzZWNyZXQ=", "AUTH LOGIN"], [250, 235, 503]),
            (["EHLO me", "AUTH LOGIN", "YWRh", "c2VjcmV0"], [250, 334, 334, 235]),
            (["EHLO me", "AUTH LOGIN", "*", "AUTH CRAM-MD5", "AUTH PLAIN %%%"], [250, 334, 501, 504, 501]),
            (["HELO me", "AUTH PLAIN"], [250, 503]), (["EHLO me", "STARTTLS"], [250, 502]),
        ])
    func order(lines: [String], expected: [Int]) { #expect(codes(lines) == expected) }

    @Test(
        "whoever doesn't begin with a command, or speaks another protocol, is sent away",
        arguments: [
            [], ["EHLO me"], ["EHLO me", "MAIL FROM:<a@b.test>"],
        ])
    func otherProtocols(before: [String]) {
        for line in [
            "POST / HTTP/1.1", "get / HTTP/1.1", "OPTIONS * HTTP/1.1", "PRI * HTTP/2.0", "Host: 127.0.0.1", "host:",
        ] {
            var session = SMTPSession(host: "mail.test", offersTLS: false)
            let turns = (before + [line]).map { session.receive(Array($0.utf8), decide: { _, _ in .goOn }) }
            guard case .close(let reply) = turns.last?.step else {
                Issue.record("\(line) goes on")
                continue
            }
            #expect(reply?.code == 421 && turns.last?.refused == "COMMAND")
        }
    }

    @Test(
        "a first line that is no command ends the conversation",
        arguments: ["BREW /", "\u{16}\u{3}\u{1}", "X-A: b", ""])
    func firstLines(line: String) {
        var session = SMTPSession(host: "mail.test", offersTLS: false)
        guard case .close = session.receive(Array(line.utf8), decide: { _, _ in .goOn }).step else {
            Issue.record("it goes on")
            return
        }
        session = SMTPSession(host: "mail.test", offersTLS: false)
        guard case .close = session.receive([0xFF, 0xFE], decide: { _, _ in .goOn }).step else {
            Issue.record("bytes go on")
            return
        }
    }

    @Test("a hundred recipients, and no more") func recipients() {
        let lines = ["EHLO me", "MAIL FROM:<a@b.test>"] + (0...100).map { "RCPT TO:<r\($0)@b.test>" }
        let codes = codes(lines)
        #expect(codes.dropLast().allSatisfy { $0 == 250 } && codes.last == 452)
    }

    @Test("nothing said before TLS counts after it") func afterTLS() {
        var session = SMTPSession(host: "mail.test", offersTLS: true)
        for line in ["EHLO me", "AUTH PLAIN AGFkYQBzZWNyZXQ=", "MAIL FROM:<a@b.test>"] {
            _ = session.receive(Array(line.utf8), decide: { _, _ in .goOn })
        }
        guard case .startTLS = session.receive(Array("STARTTLS".utf8), decide: { _, _ in .goOn }).step else {
            Issue.record("no TLS")
            return
        }
        session.didStartTLS()
        #expect(session.client.user == nil && session.envelope.sender.isEmpty && session.client.isSecure)
    }

    @Test(
        "paths are read as the standard writes them",
        arguments: [
            ("<a@b.test>", "a@b.test"), (" <a@b.test>", "a@b.test"), ("<@x.test,@y.test:a@b.test>", "a@b.test"),
            ("<\"a b>\"@b.test>", "\"a b>\"@b.test"), ("<>", ""), ("<postmaster>", "postmaster"),
            ("<a@[127.0.0.1]>", "a@[127.0.0.1]"),
        ])
    func paths(text: String, address: String) throws {
        #expect(try MailPath(parsing: text[...]).address == address)
    }

    @Test(
        "and others are refused",
        arguments: [
            "", "a@b", "<a@b", "<a b@c>", "<a>", "<@b>", "<a@>", "<a\u{1}@b>", "<a@b c>",
            "<\(String(repeating: "l", count: 65))@b>", "<a@\(String(repeating: "d", count: 256))>",
        ])
    func badPaths(text: String) { #expect(throws: MailPath.Failure.self) { try MailPath(parsing: text[...]) } }

    @Test(
        "data ends at a dot on a line of its own, and nowhere else",
        arguments: [
            ("a\r\n.\r\nQUIT", "a\r\n", "QUIT"), (".\r\n", "", ""), ("..a\r\n.\r\n", ".a\r\n", ""),
            ("a\n.\nb\r\n.\r\n", "a\n.\nb\r\n", ""), ("a\r.\r\nb\r\n.\r\n", "a\r.\r\nb\r\n", ""),
            (".\rx\r\n.\r\n", "\rx\r\n", ""), ("a\r\n.\rb\r\n.\r\n", "a\r\n\rb\r\n", ""),
        ])
    func data(sent: String, content: String, rest: String) {
        // The result must not depend on how the data is split.
        for size in 1...4 {
            var data = MessageData(limit: 1_000)
            var place = 0
            let bytes = Array(sent.utf8)
            while !data.isComplete, place < bytes.count {
                place += data.consume(bytes[place..<min(place + size, bytes.count)])
            }
            #expect(data.isComplete && String(decoding: data.bytes, as: UTF8.self) == content)
            #expect(String(decoding: bytes[place...], as: UTF8.self) == rest)
        }
    }

    @Test("a message beyond the limit is read to its end and not kept") func tooLong() {
        var data = MessageData(limit: 10)
        _ = data.consume(Array("0123456789abcdef\r\n.\r\n".utf8)[...])
        #expect(data.isComplete && data.isTooLong && data.bytes.count == 10)
    }
}
