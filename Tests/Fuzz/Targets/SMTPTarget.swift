import SMTPServer

extension FuzzTarget {
    /// Sends the input to an SMTP session: command lines, and a message after each accepted DATA.
    static let smtp = FuzzTarget("smtp") { bytes in
        var session = SMTPSession(host: "mail.test", offersTLS: true)
        var rest = bytes[...]
        _ = session.greeting { _, _ in .goOn }
        while let end = rest.firstIndex(of: 0x0A) {
            var line = Array(rest[..<end])
            rest = rest[(end + 1)...]
            if line.last == 0x0D { line.removeLast() }
            let turn = session.receive(line) { _, _ in .goOn }
            if let reply = turn.step.reply { try check(reply) }
            switch turn.step {
            case .reply: break
            case .close: return
            case .startTLS:
                session.didStartTLS()
                try require(session.client.user == nil && !session.hasSender, "TLS begins with what was said before it")
            case .data:
                try require(
                    (1...SMTPSession.recipientLimit).contains(session.envelope.recipients.count),
                    "a message for \(session.envelope.recipients.count) recipients")
                rest = try message(rest)
                session.didTakeMessage()
            }
        }
    }

    private static func check(_ reply: SMTPReply) throws(Finding) {
        let lines = reply.text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast()
        try require(!lines.isEmpty && (200..<600).contains(reply.code), "no reply")
        for line in lines {
            // https://www.rfc-editor.org/rfc/rfc5321#section-4.5.3.1.5
            try require(line.count <= 511, "a line of \(line.count + 1) octets")
            try require(line.last == 0x0D, "a line that doesn't end with CR LF")
            try require(line.dropLast().allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "control characters in a reply")
        }
    }

    /// Reads a message, and returns the bytes behind it. It checks that the message is the same if its bytes come in
    /// pieces.
    private static func message(_ data: ArraySlice<UInt8>) throws(Finding) -> ArraySlice<UInt8> {
        var whole = MessageData(limit: 1_000)
        let used = whole.consume(data)
        var pieces = MessageData(limit: 1_000)
        for byte in data.prefix(used) { _ = pieces.consume([byte]) }
        try require(
            whole.bytes == pieces.bytes && whole.size == pieces.size && whole.isComplete == pieces.isComplete,
            "another message when it comes octet by octet")
        try require(whole.size <= used && whole.bytes.count <= 1_000, "a message that is larger than its data")
        if whole.isComplete {
            let end = Array("\r\n.\r\n".utf8)
            try require(
                data.prefix(used).suffix(5).elementsEqual(end) || data.prefix(used).elementsEqual(end.dropFirst(2)),
                "a message that ends without its end")
        }
        return data.dropFirst(used)
    }
}
