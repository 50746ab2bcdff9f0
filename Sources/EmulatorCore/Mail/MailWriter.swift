// A mail as servers and programs exchange it: <https://www.rfc-editor.org/rfc/rfc5322>,
// <https://www.rfc-editor.org/rfc/rfc2045>, <https://www.rfc-editor.org/rfc/rfc2046>

extension InboxMessage {
    package struct HeaderField: Sendable, Equatable {
        package let name: String
        /// As people read it.
        package let value: String
    }

    /// What the mail says of itself, as people read it; empty for a text message.
    package var headers: [HeaderField] {
        guard message.kind == .mail else { return [] }
        var fields = [
            HeaderField(name: "From", value: message.from.display),
            HeaderField(name: "To", value: message.to.display),
        ]
        if let replyTo = message.replyTo { fields.append(HeaderField(name: "Reply-To", value: replyTo.display)) }
        fields += [
            HeaderField(name: "Subject", value: message.subject ?? ""),
            HeaderField(name: "Date", value: time.mailDate), HeaderField(name: "Message-ID", value: messageID),
            HeaderField(name: "MIME-Version", value: "1.0"), HeaderField(name: "Content-Type", value: contentType),
        ]
        return fields
    }

    /// The same in every run, if the world's time is.
    private var messageID: String { "<\(number).\(time.milliseconds)@\(message.from.domain ?? "localhost")>" }

    private var contentType: String {
        if message.html == nil { return "text/plain; charset=utf-8" }
        return message.text == nil ? "text/html; charset=utf-8" : "multipart/alternative; boundary=\"\(boundary)\""
    }

    /// Quoted-printable text can't hold it: an equals sign stands there only before hexadecimal digits or at the end of a line.
    private var boundary: String { "=_part_\(number)" }

    /// The mail in the Internet Message Format; empty for a text message.
    package var raw: [UInt8] {
        guard message.kind == .mail else { return [] }
        var output = ""
        for field in headers { output += "\(field.name): \(written(field))\r\n" }
        switch (message.text, message.html) {
        case (let text?, let html?):
            // The last part is the one that a reader should prefer.
            output += "\r\n" + part("text/plain", text) + part("text/html", html) + "--\(boundary)--\r\n"
        case (let text, let html): output += InboxMessage.encoded(text ?? html ?? "")
        }
        return Array(output.utf8)
    }

    private func written(_ field: HeaderField) -> String {
        switch field.name {
        case "From": message.from.headerText
        case "To": message.to.headerText
        case "Reply-To": message.replyTo?.headerText ?? ""
        case "Subject": HeaderText.encode(field.value)
        // The others are made of nothing that a request brought.
        default: field.value
        }
    }

    private func part(_ type: String, _ content: String) -> String {
        "--\(boundary)\r\nContent-Type: \(type); charset=utf-8\r\n\(InboxMessage.encoded(content))"
    }

    /// The rest of a part's header, and its content, which ends with a line break.
    private static func encoded(_ content: String) -> String {
        "Content-Transfer-Encoding: quoted-printable\r\n\r\n\(QuotedPrintable.encode(content))\r\n"
    }
}

/// <https://www.rfc-editor.org/rfc/rfc2045#section-6.7>
enum QuotedPrintable {
    private static let lineLimit = 75

    /// A text whose line breaks are kept as line breaks.
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
