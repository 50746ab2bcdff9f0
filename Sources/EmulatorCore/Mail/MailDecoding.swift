import Text
import Worlds

// Decoding of texts in mails that aren't ASCII: <https://www.rfc-editor.org/rfc/rfc2045#section-6>,
// <https://www.rfc-editor.org/rfc/rfc2047>

/// Decodes encoded words (RFC 2047) in a mail's header fields, such as `=?UTF-8?B?SGVsbG8=?=`.
enum EncodedWords {
    /// Returns the text of a header field with its encoded words (RFC 2047) decoded.
    static func decode(_ text: String) -> String {
        guard text.contains("=?") else { return text }
        let bytes = Array(text.utf8)
        var output = ""
        /// The index in the header field's text up to which the text is decoded already.
        var plain = 0
        var followsWord = false
        var place = 0
        while place < bytes.count {
            guard bytes[place] == 0x3D, let word = word(bytes, at: place) else {
                place += 1
                continue
            }
            let between = bytes[plain..<place]
            // Blanks between two encoded words only separate lines.
            if !(followsWord && between.allSatisfy({ $0 == 0x20 || $0 == 0x09 })) {
                output += String(decoding: between, as: UTF8.self)
            }
            output += word.text
            (place, plain, followsWord) = (word.end, word.end, true)
        }
        return (output + String(decoding: bytes[plain...], as: UTF8.self)).withoutEndlessMarks
    }

    /// The largest length of a character set's name in an encoded word.
    private static let nameLimit = 60

    private static func word(_ bytes: [UInt8], at start: Int) -> (text: String, end: Int)? {
        let head = bytes[start...].prefix(nameLimit + 2)
        guard head.starts(with: [0x3D, 0x3F]), let mark = head.dropFirst(2).firstIndex(of: 0x3F), mark > start + 2,
            mark + 2 < bytes.count, bytes[mark + 2] == 0x3F
        else { return nil }
        // A language may follow the name: https://www.rfc-editor.org/rfc/rfc2231#section-5
        let name = String(decoding: bytes[(start + 2)..<mark].prefix { $0 != 0x2A }, as: UTF8.self)
        let content = bytes[(mark + 3)...].prefix { $0 != 0x3F && $0 != 0x20 }
        guard content.endIndex + 1 < bytes.count, bytes[content.endIndex] == 0x3F, bytes[content.endIndex + 1] == 0x3D
        else { return nil }
        let decoded: [UInt8]
        switch bytes[mark + 1] | 0x20 {
        case UInt8(ascii: "b"): decoded = TransferEncoding.base64(content)
        case UInt8(ascii: "q"): decoded = TransferEncoding.quotedPrintable(content.map { $0 == 0x5F ? 0x20 : $0 }[...])
        default: return nil
        }
        return (Charset.text(decoded, name), content.endIndex + 2)
    }
}

/// Decodes the bodies of mails that were encoded as lines of ASCII, by Base64 or quoted-printable.
enum TransferEncoding {
    static func decode(_ body: ArraySlice<UInt8>, _ name: String) -> [UInt8] {
        switch plainName(name) {
        case "base64": base64(body)
        case "quoted-printable": quotedPrintable(body)
        default: Array(body)
        }
    }

    /// Returns whether a mail's transfer encoding of this name changes the bytes of the body.
    static func isEncoded(_ name: String) -> Bool { ["base64", "quoted-printable"].contains(plainName(name)) }

    private static func plainName(_ name: String) -> String {
        String(name.lowercased().prefix { $0.isLetter || $0.isNumber || $0 == "-" })
    }

    /// Decodes Base64. Characters that Base64 doesn't use are skipped, as
    /// <https://www.rfc-editor.org/rfc/rfc2045#section-6.8> asks.
    static func base64(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(text.count / 4 * 3)
        var (bits, count): (UInt32, Int) = (0, 0)
        for byte in text {
            guard let value = value(byte) else { continue }
            bits = bits << 6 | UInt32(value)
            count += 1
            if count == 4 {
                output.append(UInt8(bits >> 16 & 255))
                output.append(UInt8(bits >> 8 & 255))
                output.append(UInt8(bits & 255))
                (bits, count) = (0, 0)
            }
        }
        if count == 3 { output += [UInt8(bits >> 10 & 255), UInt8(bits >> 2 & 255)] }
        if count == 2 { output.append(UInt8(bits >> 4 & 255)) }
        return output
    }

    private static func value(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x41...0x5A: byte - 0x41
        case 0x61...0x7A: byte - 0x61 + 26
        case 0x30...0x39: byte - 0x30 + 52
        case 0x2B: 62
        case 0x2F: 63
        default: nil
        }
    }

    /// Decodes quoted-printable text. An equals sign without two hexadecimal digits or a line break behind it is kept.
    static func quotedPrintable(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(text.count)
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == 0x3D else {
                output.append(byte)
                continue
            }
            let pair = rest.prefix(2)
            if pair.count == 2, let high = digit(pair[pair.startIndex]), let low = digit(pair[pair.startIndex + 1]) {
                output.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else if pair.first == 0x0A {
                rest = rest.dropFirst()
            } else if pair.elementsEqual([0x0D, 0x0A]) {
                rest = rest.dropFirst(2)
            } else {
                output.append(byte)
            }
        }
        return output
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}

/// Decodes text in the character sets that mails still use: UTF-8, UTF-16, and the sets that are nearly Latin-1.
enum Charset {
    private enum Table {
        case utf8
        case utf16(isLittle: Bool?)
        case windows1252
        case latin9
        /// Bytes are decoded as UTF-8 if they are valid UTF-8, and as Windows-1252 otherwise.
        case guessed
    }

    static func isKnown(_ name: String) -> Bool { name.isEmpty || table(name) != nil }

    private static func table(_ name: String) -> Table? {
        switch name.lowercased() {
        case "utf-8", "utf8": .utf8
        case "us-ascii", "ascii": .guessed
        // The names are those of browsers: https://encoding.spec.whatwg.org/#names-and-labels
        case "iso-8859-1", "latin1", "iso_8859-1", "windows-1252", "cp1252": .windows1252
        case "iso-8859-15", "iso_8859-15", "latin9", "latin-9": .latin9
        case "utf-16": .utf16(isLittle: nil)
        case "utf-16be": .utf16(isLittle: false)
        case "utf-16le": .utf16(isLittle: true)
        default: nil
        }
    }

    /// Returns the text that `bytes` stand for in the character set `name`, with line feeds at the ends of lines. Of a
    /// very long run of combining marks, only the first ones are kept.
    static func text(_ bytes: [UInt8], _ name: String) -> String {
        let text = decoded(bytes, table(name) ?? .guessed).withoutEndlessMarks
        return text.utf8.contains(0x0D) ? withLineFeeds(text) : text
    }

    private static func withLineFeeds(_ text: String) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            if byte == 0x0A, output.last == 0x0D { output.removeLast() }
            output.append(byte)
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func decoded(_ bytes: [UInt8], _ table: Table) -> String {
        switch table {
        case .utf8: String(decoding: bytes, as: UTF8.self)
        case .guessed: String(validating: bytes, as: UTF8.self) ?? mapped(bytes) { windows($0) }
        case .windows1252: mapped(bytes) { windows($0) }
        case .latin9: mapped(bytes) { latin9[$0] ?? Unicode.Scalar($0) }
        case .utf16(let isLittle): utf16(bytes, isLittle: isLittle)
        }
    }

    private static func mapped(_ bytes: [UInt8], _ scalar: (UInt8) -> Unicode.Scalar) -> String {
        var scalars = String.UnicodeScalarView()
        for byte in bytes { scalars.append(scalar(byte)) }
        return String(scalars)
    }

    /// Decodes UTF-16. Text without a byte order mark is big-endian unless `isLittle` is `true`:
    /// <https://www.rfc-editor.org/rfc/rfc2781#section-4.3>.
    private static func utf16(_ bytes: [UInt8], isLittle: Bool?) -> String {
        let marked: Bool? = bytes.starts(with: [0xFF, 0xFE]) ? true : bytes.starts(with: [0xFE, 0xFF]) ? false : nil
        let littleEndian = isLittle ?? marked ?? false
        let rest = bytes.dropFirst(marked == littleEndian ? 2 : 0)
        var units: [UInt16] = []
        units.reserveCapacity(rest.count / 2)
        var place = rest.startIndex
        while place + 1 < rest.endIndex {
            let (first, second) = (UInt16(rest[place]), UInt16(rest[place + 1]))
            units.append(littleEndian ? second << 8 | first : first << 8 | second)
            place += 2
        }
        return String(decoding: units, as: UTF16.self)
    }

    private static func windows(_ byte: UInt8) -> Unicode.Scalar {
        guard (0x80..<0xA0).contains(byte) else { return Unicode.Scalar(byte) }
        return windowsScalars[Int(byte) - 0x80]
    }

    private static let windowsScalars: [Unicode.Scalar] = [
        "€", "\u{81}", "‚", "ƒ", "„", "…", "†", "‡", "ˆ", "‰", "Š", "‹", "Œ", "\u{8D}", "Ž", "\u{8F}",
        "\u{90}", "‘", "’", "“", "”", "•", "–", "—", "˜", "™", "š", "›", "œ", "\u{9D}", "ž", "Ÿ",
    ]

    /// The characters in which ISO-8859-15 differs from Latin-1.
    private static let latin9: [UInt8: Unicode.Scalar] = [
        0xA4: "€", 0xA6: "Š", 0xA8: "š", 0xB4: "Ž", 0xB8: "ž", 0xBC: "Œ", 0xBD: "œ", 0xBE: "Ÿ",
    ]
}
