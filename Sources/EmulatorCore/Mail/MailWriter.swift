// Mails in the form in which servers and programs exchange them: <https://www.rfc-editor.org/rfc/rfc5322>,
// <https://www.rfc-editor.org/rfc/rfc2045>, <https://www.rfc-editor.org/rfc/rfc2046>

extension InboxMessage {
    package struct HeaderField: Codable, Sendable, Equatable {
        package let name: String
        /// The value as people read it.
        package let value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The header fields of a mail that is written here, as people read them; empty for a text message. `content` has
    /// those of any mail.
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

    /// The mail's Message-ID, which is the same in every run with the same clock.
    private var messageID: String { "<\(number).\(time.milliseconds)@\(message.from.domain ?? "localhost")>" }

    /// The mail in the Internet Message Format, as its sender wrote it; empty for a text message.
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

/// The body of a mail that is written here: a text, HTML, or both as alternatives.
struct MailBody {
    let text: String?
    let html: String?
    /// The boundary. Quoted-printable text can't have a line that begins with `=_`, because an equals sign is followed
    /// by hexadecimal digits or the end of a line.
    let boundary: String

    var contentType: String {
        if html == nil { return "text/plain; charset=utf-8" }
        return text == nil ? "text/html; charset=utf-8" : "multipart/alternative; boundary=\"\(boundary)\""
    }

    /// The rest of the header, and the content.
    var written: String {
        guard let text, let html else { return encoded(text ?? html ?? "") }
        // The last part is the one that a reader should prefer.
        return "\r\n" + part("text/plain", text) + part("text/html", html) + "--\(boundary)--\r\n"
    }

    private func part(_ type: String, _ content: String) -> String {
        "--\(boundary)\r\nContent-Type: \(type); charset=utf-8\r\n\(encoded(content))"
    }

    /// Returns the rest of a part's header, and its content, which ends with a line break.
    private func encoded(_ content: String) -> String {
        "Content-Transfer-Encoding: quoted-printable\r\n\r\n\(QuotedPrintable.encode(content))\r\n"
    }
}

/// Encodes texts as quoted-printable: <https://www.rfc-editor.org/rfc/rfc2045#section-6.7>
enum QuotedPrintable {
    private static let lineLimit = 75

    /// Returns an encoded text whose line breaks remain line breaks.
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
