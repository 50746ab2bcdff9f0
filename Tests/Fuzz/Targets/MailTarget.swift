import EmulatorCore
import Recordings
import Time

extension FuzzTarget {
    /// Reads the input as a mail, and writes mails that contain it. It checks that these are read as they were written.
    static let mails = FuzzTarget("mails") { bytes in
        let mail = ReadMail(bytes)
        // A byte of an old character set becomes at most three bytes of UTF-8, and so does a byte that can't be read.
        let shown = [mail.text, mail.html].compactMap { $0?.utf8.count }.reduce(0, +)
        try require(shown <= 3 * bytes.count, "\(bytes.count) bytes are shown as \(shown)")
        try require(
            mail.attachments.allSatisfy { $0.size <= bytes.count }, "an attachment that is larger than its mail")
        for field in mail.headers { try require(!field.name.isEmpty, "a header field without a name") }
        try check(received: bytes)

        let lines = bytes.lines(3)
        let (subject, name, text) = (lines[0], lines[1], lines[2...].joined(separator: "\n"))
        for html in [nil, "<p>\(name)</p>"] {
            let sent = SentMessage(
                .mail, from: Mailbox(subject, name: name), to: Mailbox("ada@example.com"), subject: subject,
                text: text, html: html, request: nil)
            try check(InboxMessage(number: 1, time: .first, message: sent))
        }
    }

    /// Checks that a received mail is stored unchanged, that what is read from it is small, and that replacing header
    /// fields doesn't change its content.
    private static func check(received bytes: [UInt8]) throws(Finding) {
        let fields = [
            InboxMessage.HeaderField(name: "From", value: "Shop, Inc. <x@relay.example>"),
            InboxMessage.HeaderField(name: "Reply-To", value: ""),
        ]
        let relay = SentMessage.Relay(
            title: "relay", address: "a@relay.example",
            forwarded: ForwardedMail(to: "ada@example.com", from: "x@relay.example", fields: fields))
        let message = SentMessage(
            received: ReceivedContent(bytes), from: "a@example.com", to: ["a@relay.example"], relay: relay, request: nil
        )
        let row = InboxMessage(number: 1, time: .first, message: message)
        try require(row.raw == bytes, "the mail is another one than came")
        try require(message.links.count <= 100 && message.codes.count <= 20, "too many links or codes")
        try require(
            message.links.allSatisfy { $0.contains("://") && !$0.lowercased().hasPrefix("javascript:") },
            "a link that nobody opens: \(message.links)")
        for mailbox in [message.from, message.to] + message.cc {
            try require(
                AddressList.read(mailbox.headerText).count <= 1, "\(mailbox) is read as several mailboxes")
        }
        let read = ReadMail(bytes)
        for index in read.attachments.indices {
            let size = read.content(of: index).count
            try require(
                size == read.attachments[index].size, "an attachment of \(read.attachments[index].size) has \(size)")
        }
        // Only the first thousand header fields are read, and replacing may add some.
        guard read.headers.count < 900 else { return }
        let forwarded = ReadMail(row.forwarded ?? [])
        try require(
            forwarded.from == [Mailbox("x@relay.example", name: "Shop, Inc.")],
            "forwarded, it is from \(forwarded.from)")
        try require(forwarded.replyTo.isEmpty, "an answer would go to \(forwarded.replyTo)")
        try require(
            forwarded.text == read.text && forwarded.html == read.html,
            "forwarded, it says something else")
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
        // A mail with only a text ends with a line break.
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
