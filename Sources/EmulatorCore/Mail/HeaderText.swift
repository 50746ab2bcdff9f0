// Header fields of mails: <https://www.rfc-editor.org/rfc/rfc5322>, <https://www.rfc-editor.org/rfc/rfc2047>

import JOSE
import Time

/// Encodes texts for header fields. Whatever a text has, it can't begin another field.
package enum HeaderText {
    /// Returns a short text of printable ASCII as it is, and others as encoded words.
    static func encode(_ text: String) -> String {
        let text = withoutControls(text)
        let isPlain =
            text.utf8.count <= 70 && text.utf8.allSatisfy { (0x20..<0x7F).contains($0) } && !text.contains("=?")
        return isPlain ? text : encodedWords(text)
    }

    /// Returns the text with spaces in place of control characters, such as line breaks.
    package static func withoutControls(_ text: String) -> String {
        var output = ""
        for scalar in text.unicodeScalars {
            output.unicodeScalars.append(isControl(scalar) ? " " : scalar)
        }
        return output
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        // Unicode's own line and paragraph separators end lines for some readers.
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
        default: false
        }
    }

    /// Returns encoded words of at most 75 characters, and never divides a character between two.
    private static func encodedWords(_ text: String) -> String {
        var words: [String] = []
        var word: [UInt8] = []
        for scalar in text.unicodeScalars {
            let bytes = Array(String(scalar).utf8)
            if word.count + bytes.count > 45 {
                words.append("=?UTF-8?B?\(Base64.encode(word))?=")
                word = []
            }
            word += bytes
        }
        words.append("=?UTF-8?B?\(Base64.encode(word))?=")
        return words.joined(separator: "\r\n ")
    }
}

extension Mailbox {
    /// The mailbox as in `From:`. Beyond ASCII, an address isn't encoded (<https://www.rfc-editor.org/rfc/rfc6532>).
    package var headerText: String {
        let address = Mailbox.headerAddress(address)
        guard let name = name.map({ HeaderText.withoutControls($0) }), !name.isEmpty else { return address }
        let isASCII = name.utf8.count <= 70 && name.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
        guard isASCII, !name.contains("=?") else { return "\(HeaderText.encode(name)) <\(address)>" }
        return "\"\(Mailbox.escaped(name.unicodeScalars))\" <\(address)>"
    }

    private static let separators: Set<Unicode.Scalar> = ["<", ">", ",", ";", "\""]
    private static let specials: Set<Unicode.Scalar> = [
        "(", ")", "<", ">", "[", "]", ":", ";", "@", "\\", ",", "\"", " ",
    ]

    /// Returns the address, with the part before the `@` in quotes if its characters need them. It compares scalars,
    /// because a quote with a combining mark behind it is another character.
    private static func headerAddress(_ address: String) -> String {
        let scalars = HeaderText.withoutControls(address).unicodeScalars
        guard let mark = scalars.lastIndex(of: "@") else {
            return text(scalars.filter { !Mailbox.separators.contains($0) })
        }
        let domain = text(scalars[mark...].filter { !Mailbox.separators.contains($0) })
        let local = scalars[..<mark]
        let needsQuotes = local.contains { Mailbox.specials.contains($0) }
        return (needsQuotes ? "\"\(escaped(local))\"" : text(local)) + domain
    }

    private static func escaped(_ scalars: some Sequence<Unicode.Scalar>) -> String {
        text(scalars.flatMap { $0 == "\\" || $0 == "\"" ? ["\\", $0] : [$0] })
    }

    private static func text(_ scalars: some Sequence<Unicode.Scalar>) -> String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars)
        return String(text)
    }
}

extension Instant {
    /// The time in the form of mails: `Tue, 01 Jan 2030 00:00:00 +0000`.
    /// <https://www.rfc-editor.org/rfc/rfc5322#section-3.3>
    package var mailDate: String {
        let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let text = self.text
        let parts = text.prefix(10).split(separator: "-")
        guard parts.count == 3, let month = Int(parts[1]), months.indices.contains(month - 1) else { return text }
        // 1970 began on a Thursday.
        let day = days[Int(seconds / 86_400 % 7)]
        return "\(day), \(parts[2]) \(months[month - 1]) \(parts[0]) \(text.dropFirst(11).prefix(8)) +0000"
    }
}
