import Testing

@testable import SMTPClient

@Suite struct ReplyTests {
    private func read(_ text: String, step: Int = 1_000) throws(SMTPFailure) -> (ServerReply?, rest: String) {
        var reader = ServerReply.Reader()
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            var chunk = rest.prefix(step)
            rest = rest.dropFirst(step)
            if let reply = try reader.take(&chunk) { return (reply, String(decoding: chunk + rest, as: UTF8.self)) }
        }
        return (nil, "")
    }

    @Test(
        "replies are read line by line, however they come",
        arguments: [
            ("250 ok\r\n", 250, ["ok"], ""), ("250\r\n", 250, [""], ""),
            ("250-a\r\n250 b\r\nnext", 250, ["a", "b"], "next"),
            ("354-\n354 go\n", 354, ["", "go"], ""), ("550 5.1.1 näh\r\n", 550, ["5.1.1 näh"], ""),
        ])
    func reading(text: String, code: Int, lines: [String], rest: String) throws {
        for step in [1, 2, 3, 1_000] {
            let (reply, left) = try read(text, step: step)
            #expect(reply == ServerReply(code: code, lines: lines) && left == rest)
        }
    }

    @Test(
        "what isn't a reply is refused",
        arguments: [
            "HTTP/1.1 400 Bad Request\r\n", "\r\n", "25 ok\r\n", "100 ok\r\n", "999 ok\r\n", "250_ok\r\n",
            "250-a\r\n251 b\r\n",
            String(repeating: "x", count: 3_000), String(repeating: "250-a\r\n", count: 200),
        ])
    func notReplies(text: String) { #expect(throws: SMTPFailure.self) { try read(text) } }

    @Test("what is shown of a reply is one short line") func shown() {
        let reply = ServerReply(code: 550, lines: ["5.1.1 a\u{1B}[31m\tb", String(repeating: "x", count: 1_000)])
        #expect(reply.text.hasPrefix("550 5.1.1 a?[31m?b xxx") && reply.text.count == 300)
    }

    @Test(
        "an address has a host and a port, and may have a login",
        arguments: [
            ("localhost:25", "localhost:25", nil, nil), ("[::1]:1026", "[::1]:1026", nil, nil),
            ("me:se:cr@et@mail.test:587", "mail.test:587", "me", "se:cr@et"), ("me:@a:1", "a:1", "me", ""),
        ] as [(String, String, String?, String?)])
    func addresses(text: String, shown: String, user: String?, password: String?) throws {
        let address = try #require(MailServerAddress(text))
        #expect(address.description == shown && address.login?.user == user && address.login?.password == password)
    }

    @Test(
        "what isn't an address is refused",
        arguments: [
            "", "localhost", "localhost:", ":25", "a:0", "a:65536", "a b:25", "me@a:25", ":p@a:25", "smtp://a:25",
            "a/b:1",
        ])
    func notAddresses(text: String) { #expect(MailServerAddress(text) == nil) }

    @Test(
        "lines end with CR LF, and dots at their begin are doubled",
        arguments: [
            ("", ".\r\n"), ("a", "a\r\n.\r\n"), ("a\r\n", "a\r\n.\r\n"), ("a\nb\rc\r\n", "a\r\nb\r\nc\r\n.\r\n"),
            (".\r\n..\r\n", "..\r\n...\r\n.\r\n"), ("\n.\nx", "\r\n..\r\nx\r\n.\r\n"), ("a\r", "a\r\n.\r\n"),
            ("a\r\r\n", "a\r\n\r\n.\r\n"), (" .\r\n", " .\r\n.\r\n"),
        ])
    func form(content: String, sent: String) throws {
        for cut in 0...content.utf8.count {
            var form = MessageForm()
            var output: [UInt8] = []
            let bytes = Array(content.utf8)
            try form.add(Array(bytes[..<cut])) { output += $0 }
            try form.add(Array(bytes[cut...])) { output += $0 }
            output += form.end()
            #expect(String(decoding: output, as: UTF8.self) == sent)
        }
    }
}
