/// A server's reply to a command: <https://www.rfc-editor.org/rfc/rfc5321#section-4.2>.
package struct SMTPReply: Sendable, Equatable {
    /// The code, of three digits. From 400 on, the command was refused.
    package let code: Int
    /// The enhanced status code such as `5.1.1`, if there is one: <https://www.rfc-editor.org/rfc/rfc3463>.
    package let status: String?
    /// The text, at least one line.
    package let lines: [String]

    package init(_ code: Int, _ status: String? = nil, _ lines: String...) {
        self.init(code, status, lines: lines)
    }

    package init(_ code: Int, _ status: String?, lines: [String]) {
        self.code = min(max(code, 200), 599)
        self.status = status
        self.lines = lines.isEmpty ? [""] : lines.map(SMTPReply.printable)
    }

    /// Whether the command was refused, temporarily or permanently.
    package var isRefusal: Bool { code >= 400 }

    /// The reply in the form in which it is sent.
    package var text: String {
        var text = ""
        for (place, line) in lines.enumerated() {
            text += "\(code)\(place + 1 < lines.count ? "-" : " ")"
            if let status { text += "\(status) " }
            text += "\(line)\r\n"
        }
        return text
    }

    /// The most octets of a line's text. Section 4.5.3.1.5 limits a reply line to 512 octets with its code and its end.
    private static let lineLimit = 480

    /// Replaces control characters. The text may quote a client, which must not be able to begin a line of its own.
    private static func printable(_ line: String) -> String {
        var bytes: [UInt8] = []
        for byte in line.utf8.prefix(lineLimit) { bytes.append(byte < 0x20 || byte == 0x7F ? 0x3F : byte) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
