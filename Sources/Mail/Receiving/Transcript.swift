import SMTPServer

/// The transcript of an SMTP conversation: the lines of client and server in the order in which they were sent.
struct Transcript {
    /// The lines of the SMTP conversation since the connection began, without those that belong to a mail.
    private var prelude = ""
    /// The SMTP command `MAIL` of the mail that is being received, with the reply. The mail's later commands are in
    /// `rest`.
    private var mail: String?
    private var rest = ""
    /// The last command of the SMTP conversation, with its reply.
    private var last = ""

    /// The greatest numbers of bytes that a transcript keeps of three things: the SMTP conversation before a mail
    /// (`prelude`), the SMTP commands after MAIL with their replies (`rest`), and the mail's header (`header`).
    private static let limits = (prelude: 4 << 10, rest: 128 << 10, header: 16 << 10)

    mutating func add(_ line: ConversationLine) {
        switch line {
        case .client(let text):
            fold()
            last += Transcript.line("C", text)
        case .server(let reply):
            for text in reply.text.split(separator: "\r\n") { last += Transcript.line("S", String(text)) }
        }
    }

    /// Adds a remark in parentheses, which neither client nor server has sent, to the transcript.
    mutating func remark(_ text: String) { last += "(\(Transcript.plain(text)))\n" }

    mutating func beginMessage() {
        fold()
        mail = ""
        rest = ""
    }

    mutating func endMessage() {
        mail = nil
        rest = ""
        last = ""
    }

    /// Adds the header of a received mail to the transcript. `note` says what was done with the mail's content.
    mutating func add(dataOf content: [UInt8], _ note: String) {
        fold()
        var header = content[...]
        var shown = 0
        while let end = header.firstIndex(of: 0x0A), shown < Transcript.limits.header {
            let line = header[..<end]
            let text = String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
            if text.isEmpty { break }
            last += Transcript.line("C", text)
            shown += line.count
            header = header[(end + 1)...]
        }
        remark("\(content.count) octets in all; \(note)")
    }

    /// The transcript of the SMTP conversation up to the last reply, without earlier mails of the connection.
    var whole: String { prelude + (mail ?? "") + rest + last }

    /// A shortened transcript of the SMTP conversation about a mail: the lines before the mail, the command MAIL, and
    /// the last command.
    var lastCommand: String { prelude + (mail ?? "") + last }

    private mutating func fold() {
        defer { last = "" }
        guard let begun = mail else {
            if prelude.utf8.count + last.utf8.count <= Transcript.limits.prelude { prelude += last }
            return
        }
        if begun.isEmpty {
            mail = last
        } else if rest.utf8.count + last.utf8.count <= Transcript.limits.rest {
            rest += last
        }
    }

    private static func line(_ who: String, _ text: String) -> String { "\(who): \(plain(text))\n" }

    private static func plain(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else { return text }
        return String(decoding: text.utf8.map { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F ? 0x3F : $0 }, as: UTF8.self)
    }
}
