import JOSE
import Time
import Worlds

// Mails in the form in which servers and programs exchange them: <https://www.rfc-editor.org/rfc/rfc5322>,
// <https://www.rfc-editor.org/rfc/rfc2045>, <https://www.rfc-editor.org/rfc/rfc2046>

extension InboxMessage {
    package struct HeaderField: Codable, Sendable, Equatable {
        package let name: String
        /// The decoded value of a mail's header field, as mail programs show it.
        package let value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The decoded header fields of a mail that the daemon itself writes, as mail programs show them; empty if the
    /// message is an SMS. For a received mail, see `content`.
    package var headers: [HeaderField] {
        guard message.kind == .mail else { return [] }
        if let fields = message.fields {
            // Fields about the original's form don't apply any more.
            let others = fields.filter { field in
                let name = field.name.lowercased()
                return !name.hasPrefix("content-") && name != "mime-version" && name != "dkim-signature"
            }
            return others + [
                HeaderField(name: "MIME-Version", value: "1.0"),
                HeaderField(name: "Content-Type", value: body.contentType),
            ]
        }
        var fields = [
            HeaderField(name: "From", value: message.from.display),
            HeaderField(name: "To", value: message.to.display),
        ]
        if let replyTo = message.replyTo { fields.append(HeaderField(name: "Reply-To", value: replyTo.display)) }
        fields += [
            HeaderField(name: "Subject", value: message.subject ?? ""),
            HeaderField(name: "Date", value: time.mailDate), HeaderField(name: "Message-ID", value: messageID),
            HeaderField(name: "MIME-Version", value: "1.0"), HeaderField(name: "Content-Type", value: body.contentType),
        ]
        return fields
    }

    /// The mail's Message-ID, made from the message's number in the inbox and its time.
    private var messageID: String { "<\(number).\(time.milliseconds)@\(message.from.domain ?? "localhost")>" }

    /// The mail's bytes in the Internet Message Format, before any changes by a relay; empty if the message is an SMS.
    package var raw: [UInt8] {
        guard message.kind == .mail else { return [] }
        if let received = message.received { return received.raw }
        var output = ""
        for field in headers {
            output += message.fields == nil ? "\(field.name): \(written(field))\r\n" : HeaderRewriting.written(field)
        }
        return Array((output + body.written).utf8)
    }

    private var body: MailBody { MailBody(text: message.text, html: message.html, boundary: "=_part_\(number)") }

    private func written(_ field: HeaderField) -> String {
        switch field.name {
        case "From": message.from.headerText
        case "To": message.to.headerText
        case "Reply-To": message.replyTo?.headerText ?? ""
        case "Subject": HeaderText.encode(field.value)
        // No value of the other fields comes from a request.
        default: field.value
        }
    }
}

/// The body of a mail that the daemon itself writes: a text, HTML, or both as alternatives.
struct MailBody {
    let text: String?
    let html: String?
    /// The boundary between the parts of a mail's body. It begins with `=_`, as no line of quoted-printable text can,
    /// because an equals sign in such text is followed by hexadecimal digits or the end of a line.
    let boundary: String

    var contentType: String {
        if html == nil { return "text/plain; charset=utf-8" }
        return text == nil ? "text/html; charset=utf-8" : "multipart/alternative; boundary=\"\(boundary)\""
    }

    /// The header fields about the body's encoding, and the encoded body.
    var written: String {
        guard let text, let html else { return encoded(text ?? html ?? "") }
        // The last part is the one that a reader should prefer.
        return "\r\n" + part("text/plain", text) + part("text/html", html) + "--\(boundary)--\r\n"
    }

    private func part(_ type: String, _ content: String) -> String {
        "--\(boundary)\r\nContent-Type: \(type); charset=utf-8\r\n\(encoded(content))"
    }

    /// Returns the header fields about the encoding of `content`, and the encoded `content`, which ends with a line
    /// break.
    private func encoded(_ content: String) -> String {
        "Content-Transfer-Encoding: quoted-printable\r\n\r\n\(QuotedPrintable.encode(content))\r\n"
    }
}

/// Encodes texts as quoted-printable: <https://www.rfc-editor.org/rfc/rfc2045#section-6.7>
enum QuotedPrintable {
    private static let lineLimit = 75

    /// Returns the text encoded as quoted-printable. Its line breaks remain line breaks.
    static func encode(_ text: String) -> String {
        var output: [UInt8] = []
        var column = 0
        var bytes = Array(text.utf8)[...]
        while let byte = bytes.popFirst() {
            if byte == 0x0D || byte == 0x0A {
                if byte == 0x0D, bytes.first == 0x0A { bytes.removeFirst() }
                output += [0x0D, 0x0A]
                column = 0
                continue
            }
            let isAtEnd = bytes.first.map { $0 == 0x0D || $0 == 0x0A } ?? true
            let isBlank = byte == 0x20 || byte == 0x09
            let isPlain = isBlank ? !isAtEnd : (0x21..<0x7F).contains(byte) && byte != 0x3D
            let token = isPlain ? [byte] : escape(byte)
            if column + token.count > lineLimit {
                output += [0x3D, 0x0D, 0x0A]
                column = 0
            }
            output += token
            column += token.count
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func escape(_ byte: UInt8) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return [0x3D, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
}

/// A mail that is to be written: <https://www.rfc-editor.org/rfc/rfc5322>.
package struct ComposedMail: Sendable {
    package var from: Mailbox
    package var to: [Mailbox]
    package var cc: [Mailbox] = []
    package var replyTo: Mailbox?
    package var subject: String
    package var text: String?
    package var html: String?
    /// The identifiers of a conversation's earlier mails, in angle brackets. The last identifier is that of the mail
    /// that is answered.
    package var references: [String] = []

    package init(from: Mailbox, to: [Mailbox], subject: String, text: String?, html: String? = nil) {
        self.from = from
        self.to = to
        self.subject = subject
        self.text = text
        self.html = html
    }

    /// Returns the mail in the Internet Message Format. `id` is a unique text of letters and digits for its Message-ID.
    func raw(id: String, date: Instant) -> [UInt8] {
        let body = MailBody(text: text, html: html, boundary: "=_part_\(id)")
        var output = "From: \(from.headerText)\r\n"
        for (name, mailboxes) in [("To", to), ("Cc", cc), ("Reply-To", replyTo.map { [$0] } ?? [])]
        where !mailboxes.isEmpty {
            output += "\(name): \(mailboxes.map(\.headerText).joined(separator: ",\r\n "))\r\n"
        }
        output += "Subject: \(HeaderText.encode(subject))\r\nDate: \(date.mailDate)\r\n"
        output += "Message-ID: <\(id)@\(from.domain ?? "localhost")>\r\n"
        if let last = references.last {
            output += "In-Reply-To: \(last)\r\nReferences: \(references.joined(separator: "\r\n "))\r\n"
        }
        output += "MIME-Version: 1.0\r\nContent-Type: \(body.contentType)\r\n"
        return Array((output + body.written).utf8)
    }
}

extension World {
    /// Returns the mail in the Internet Message Format, with a new Message-ID and the date by the test world's clock.
    package func write(_ mail: ComposedMail) throws(StoreFailure) -> [UInt8] {
        let (id, now) = try update { tables -> (String, Instant) in
            var random = tables.random
            defer { tables.random = random }
            return (random.text(24, from: Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)), tables.now)
        }
        return mail.raw(id: id, date: now)
    }
}

// MARK: - Answers

extension InboxMessage {
    /// Returns the two mailboxes of an answer to this mail: `answerer`, who received the mail, and `sender`, who gets
    /// the answer. Returns `nil` for a text message, for a mail that nobody received, and for a mail without a sender.
    package func correspondents(in world: World) -> (answerer: Mailbox, sender: Mailbox)? {
        guard message.kind == .mail, !message.isUndelivered else { return nil }
        let read = asRead(in: world)
        let sender = (read.replyTo + read.from).first { $0.address.contains("@") }
        return sender.map { (Mailbox(message.relay?.forwardedTo ?? message.to.address), $0) }
    }

    /// Returns a mail that answers this mail, without quoting its text:
    /// <https://www.rfc-editor.org/rfc/rfc5322#section-3.6.4>.
    package func answer(
        in world: World, from answerer: Mailbox, to sender: Mailbox, text: String?, html: String?
    ) -> ComposedMail {
        let read = asRead(in: world)
        let subject = message.subject ?? ""
        let isAnswer = subject.lowercased().hasPrefix("re:")
        var mail = ComposedMail(
            from: answerer, to: [sender], subject: isAnswer ? subject : "Re: \(subject)", text: text, html: html)
        let earlier = InboxMessage.identifiers(read.header("References") ?? read.header("In-Reply-To") ?? "")
        mail.references = earlier.suffix(20) + InboxMessage.identifiers(read.header("Message-ID") ?? "").prefix(1)
        return mail
    }

    /// Returns the mail as its recipient reads it. If a relay forwarded the mail, this is the forwarded mail.
    private func asRead(in world: World) -> ReadMail {
        forwarded.map { ReadMail($0, measuresAttachments: false) } ?? world.mail(self)
    }

    /// Returns the mail identifiers of the form `<…>` in a header field. Words that aren't printable ASCII are left
    /// out, since a header can hold any bytes.
    private static func identifiers(_ text: String) -> [String] {
        text.split(whereSeparator: { $0.isWhitespace }).prefix(1_000).filter { word in
            word.utf8.count <= 250 && word.first == "<" && word.last == ">"
                && word.utf8.allSatisfy { (0x21..<0x7F).contains($0) }
        }.map(String.init)
    }
}
