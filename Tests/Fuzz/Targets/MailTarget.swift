import EmulatorCore
import Time

extension FuzzTarget {
    /// Mails that somebody else wrote, and mails of ours that hold what somebody else wrote: these are read as they were written.
    static let mails = FuzzTarget("mails") { bytes in
        let mail = ReadMail(bytes)
        // A byte of an old character set has at most three bytes as UTF-8, and so has the mark of what can't be read.
        let shown = [mail.text, mail.html].compactMap { $0?.utf8.count }.reduce(0, +)
        try require(shown <= 3 * bytes.count, "\(bytes.count) bytes are shown as \(shown)")
        try require(
            mail.attachments.allSatisfy { $0.size <= bytes.count }, "an attachment that is larger than its mail")
        for field in mail.headers { try require(!field.name.isEmpty, "a header field without a name") }

        let lines = bytes.lines(3)
        let (subject, name, text) = (lines[0], lines[1], lines[2...].joined(separator: "\n"))
        for html in [nil, "<p>\(name)</p>"] {
            let sent = SentMessage(
                .mail, from: Mailbox(subject, name: name), to: Mailbox("ada@example.com"), subject: subject,
                text: text, html: html, request: nil)
            try check(InboxMessage(number: 1, time: .first, message: sent))
        }
    }

    private static func check(_ row: InboxMessage) throws(Finding) {
        let read = ReadMail(row.raw)
        let names = row.headers.map(\.name) + (row.message.html == nil ? ["Content-Transfer-Encoding"] : [])
        try require(read.headers.map(\.name) == names, "the header \(names) is read as \(read.headers.map(\.name))")
        let subject = HeaderText.withoutControls(row.message.subject ?? "")
        try require(
            trimmed(read.header("Subject") ?? "") == trimmed(subject),
            "the subject \(subject.debugDescription) is read as \((read.header("Subject") ?? "").debugDescription)")
        let text = withLineFeeds(row.message.text ?? "")
        // By itself, a text ends with the last line's break.
        let wanted = row.message.html == nil ? text + "\n" : text
        try require(read.text == wanted, "the text \(wanted.debugDescription) is read as \(read.text.debugDescription)")
        try require(
            read.html == row.message.html.map(withLineFeeds), "the HTML is read as \(read.html.debugDescription)")
    }

    private static func trimmed(_ text: String) -> String {
        let scalars = text.unicodeScalars.drop { $0 == " " }
        return String(String.UnicodeScalarView(scalars.reversed().drop { $0 == " " }.reversed()))
    }

    private static func withLineFeeds(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if byte == 0x0A, bytes.last == 0x0D { bytes.removeLast() }
            bytes.append(byte)
        }
        return String(decoding: bytes.map { $0 == 0x0D ? 0x0A : $0 }, as: UTF8.self)
    }
}
