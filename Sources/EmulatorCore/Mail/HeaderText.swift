import JOSE
import Time

// Header fields of mails: <https://www.rfc-editor.org/rfc/rfc5322>, <https://www.rfc-editor.org/rfc/rfc2047>

/// Encodes texts for the header fields of mails, so that no text can begin a header field of its own.
package enum HeaderText {
    /// Returns a short text of printable ASCII without `=?` as it is, and any other text as encoded words (RFC 2047).
    /// Control characters become spaces.
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

    /// Returns a text as encoded words (RFC 2047) of at most 75 characters. No character is divided between two words.
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
    /// The mailbox as text for a mail's header field such as `From`. An address with characters beyond ASCII isn't
    /// encoded (<https://www.rfc-editor.org/rfc/rfc6532>).
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

    /// Returns the e-mail address for a header field. The part before the `@` is in quotes if its characters need them.
    /// The function looks for these characters among the Unicode scalars, because a `Character` may join a quotation
    /// mark with a combining mark.
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
    /// The time in the format of a mail's `Date` field: `Tue, 01 Jan 2030 00:00:00 +0000`.
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

/// Replaces header fields of a mail and leaves the mail's body unchanged, byte for byte.
package enum HeaderRewriting {
    /// Returns the mail with its header fields replaced by those of `fields` that have the same names. The values in
    /// `fields` aren't encoded yet. A new field stands where the mail's first field of this name stood, or at the end
    /// of the header if the mail had no such field.
    package static func replace(_ raw: [UInt8], with fields: [InboxMessage.HeaderField]) -> [UInt8] {
        guard !fields.isEmpty else { return raw }
        var output: [UInt8] = []
        output.reserveCapacity(raw.count + 512)
        let names = Set(fields.map { $0.name.lowercased() })
        // A field without a value only removes those of its name.
        var left = fields.filter { !$0.value.isEmpty }
        var rest = raw[...]
        var isLeftOut = false
        while !rest.isEmpty {
            let line = popLine(&rest)
            if line.elementsEqual([0x0A]) || line.elementsEqual([0x0D, 0x0A]) || line.elementsEqual([0x0D]) {
                rest = raw[line.startIndex...]
                break
            }
            if line.first != 0x20, line.first != 0x09 {
                let name = self.name(line)
                isLeftOut = names.contains(name)
                for field in left where field.name.lowercased() == name { output += Array(written(field).utf8) }
                left.removeAll { $0.name.lowercased() == name }
            }
            if !isLeftOut { output += line }
        }
        if let last = output.last, last != 0x0A, !left.isEmpty { output += [0x0D, 0x0A] }
        for field in left { output += Array(written(field).utf8) }
        return output + rest
    }

    private static func popLine(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let end = rest.firstIndex(of: 0x0A).map { $0 + 1 } ?? rest.endIndex
        defer { rest = rest[end...] }
        return rest[..<end]
    }

    private static func name(_ line: ArraySlice<UInt8>) -> String {
        let name = line.prefix { $0 != UInt8(ascii: ":") && $0 != 0x20 && $0 != 0x09 }
        return String(decoding: name, as: UTF8.self).lowercased()
    }

    private static let addresses: Set<String> = ["from", "sender", "reply-to", "to", "cc", "bcc"]

    /// Returns the header field as it stands in a mail, encoded and with the line break at its end.
    static func written(_ field: InboxMessage.HeaderField) -> String {
        guard addresses.contains(field.name.lowercased()) else {
            return "\(field.name): \(plain(field.value) ?? HeaderText.encode(field.value))\r\n"
        }
        let mailboxes = (displayed(field.value).map { [$0] } ?? AddressList.read(field.value)).map(\.headerText)
        return "\(field.name): \(mailboxes.joined(separator: ",\r\n "))\r\n"
    }

    /// Reads a single mailbox as people write it, with a name that may have commas without quotes:
    /// `Example, Inc. <a@example.com>`.
    private static func displayed(_ value: String) -> Mailbox? {
        let (bytes, bracket, blanks) = (value.utf8, UInt8(ascii: "<"), " \t\r\n".utf8)
        guard bytes.last == UInt8(ascii: ">"), let mark = bytes.firstIndex(of: bracket),
            mark == bytes.lastIndex(of: bracket), !bytes[..<mark].contains(where: { "@\"(".utf8.contains($0) })
        else { return nil }
        var words = bytes[..<mark].drop { blanks.contains($0) }
        while let last = words.last, blanks.contains(last) { words = words.dropLast() }
        let name = String(Substring(words))
        return Mailbox(
            String(Substring(bytes[mark...].dropFirst().dropLast())), name: name.isEmpty ? nil : name)
    }

    /// Returns a header field's value unchanged, or `nil` if the value must be encoded. A value of up to 900 bytes
    /// needn't be encoded for its length, although shorter lines are recommended: encoding would break identifiers such
    /// as a Message-ID.
    private static func plain(_ value: String) -> String? {
        let isPlain = value.utf8.count <= 900 && value.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
        return isPlain && !value.contains("=?") ? value : nil
    }
}
