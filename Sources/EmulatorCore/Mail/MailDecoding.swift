// Decoding of texts in mails that aren't ASCII: <https://www.rfc-editor.org/rfc/rfc2045#section-6>,
// <https://www.rfc-editor.org/rfc/rfc2047>

import Text

/// Decodes encoded words in header fields: `=?UTF-8?B?SGVsbG8=?=`.
enum EncodedWords {
    /// Returns the text with its encoded words decoded.
    static func decode(_ text: String) -> String {
        guard text.contains("=?") else { return text }
        let bytes = Array(text.utf8)
        var output = ""
        /// The beginning of the text that isn't decoded yet, and whether it follows an encoded word.
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

    /// The length of the longest name of a character set.
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

/// Decodes bodies that were encoded as lines of ASCII.
enum TransferEncoding {
    static func decode(_ body: ArraySlice<UInt8>, _ name: String) -> [UInt8] {
        switch plainName(name) {
        case "base64": base64(body)
        case "quoted-printable": quotedPrintable(body)
        default: Array(body)
        }
    }

    /// Returns whether the encoding changes the bytes.
    static func isEncoded(_ name: String) -> Bool { ["base64", "quoted-printable"].contains(plainName(name)) }

    private static func plainName(_ name: String) -> String {
        String(name.lowercased().prefix { $0.isLetter || $0.isNumber || $0 == "-" })
    }

    /// Decodes Base64. Characters outside its alphabet are skipped, as
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

    /// Decodes quoted-printable text. An equals sign that escapes nothing is kept.
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
