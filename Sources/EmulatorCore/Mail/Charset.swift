import Text

/// Decodes the character sets that mails still use: UTF-8, UTF-16, and those that are nearly Latin-1.
enum Charset {
    private enum Table {
        case utf8
        case utf16(isLittle: Bool?)
        case windows1252
        case latin9
        /// UTF-8 if the bytes are valid UTF-8, and Latin-1 otherwise.
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

    /// Returns the text, with line feeds at the ends of lines. Of an endless run of combining marks, only the first
    /// ones are kept.
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

    /// Decodes UTF-16. Without a byte order mark, the higher byte comes first:
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
