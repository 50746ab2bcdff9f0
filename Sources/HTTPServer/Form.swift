import Platform
import Text

/// `application/x-www-form-urlencoded` data, read and written by the WHATWG's rules:
/// <https://url.spec.whatwg.org/#urlencoded-parsing>. Repeated names are kept, in order.
package struct Form: Sendable {
    package struct Field: Sendable {
        /// The percent-decoded name of a form field, as UTF-8.
        package let name: String
        /// The percent-decoded value of a form field as UTF-8, each malformed sequence replaced by U+FFFD. A text with
        /// more combining marks in a row than people write becomes a single U+FFFD, because comparing such texts takes
        /// quadratic time.
        package let value: String
        /// The percent-decoded bytes of the form field's value; `nil` if they are equal to the bytes of `value`.
        private let sent: [UInt8]?

        /// The decoded bytes of the form field's value, for values that must be returned unchanged.
        package var bytes: [UInt8] { sent ?? Array(value.utf8) }

        package init(name: String, value: String) {
            self.name = name
            self.value = value
            sent = nil
        }

        fileprivate init(name: ArraySlice<UInt8>, value bytes: ArraySlice<UInt8>) {
            self.name = Field.text(PercentCoding.decodedForm(name))
            let decoded = PercentCoding.decodedForm(bytes)
            value = Field.text(decoded)
            sent = decoded.are(value) ? nil : Array(decoded)
        }

        private static func text(_ bytes: ArraySlice<UInt8>) -> String {
            let text = String(decoding: bytes, as: UTF8.self)
            return text.hasEndlessMarks ? "\u{FFFD}" : text
        }

        fileprivate func append(to output: inout [UInt8]) {
            PercentCoding.encodeForm(name.utf8, to: &output)
            output.append(UInt8(ascii: "="))
            if let sent {
                PercentCoding.encodeForm(sent, to: &output)
            } else {
                PercentCoding.encodeForm(value.utf8, to: &output)
            }
        }
    }

    package var fields: [Field]

    package init(fields: [Field]) { self.fields = fields }

    package init(parsing text: some StringProtocol) { self.init(parsing: Array(text.utf8)) }

    package init(parsing bytes: [UInt8]) {
        fields = []
        var start = bytes.startIndex
        while start < bytes.endIndex {
            let end = bytes[start...].firstPlace(of: UInt8(ascii: "&")) ?? bytes.endIndex
            if start < end {
                let mark = bytes[start..<end].firstPlace(of: UInt8(ascii: "=")) ?? end
                fields.append(Field(name: bytes[start..<mark], value: bytes[min(mark + 1, end)..<end]))
            }
            start = end + 1
        }
    }

    /// Returns the value of the form's first field with this name.
    package subscript(name: String) -> String? { field(name)?.value }

    package func field(_ name: String) -> Field? { fields.first { $0.name == name } }

    /// The name of a form field that occurs more than once, or `nil`.
    package var repeatedName: String? {
        guard fields.count > 12 else {
            return fields.indices.first { place in
                fields[..<place].contains { $0.name == fields[place].name }
            }.map { fields[$0].name }
        }
        var seen: Set<String> = []
        return fields.first { !seen.insert($0.name).inserted }?.name
    }

    /// The form as `application/x-www-form-urlencoded` text. A space becomes `+`; everything but `A-Z a-z 0-9 * - . _`
    /// is percent-encoded.
    package var encoded: String {
        var output: [UInt8] = []
        output.reserveCapacity(fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 8 })
        for field in fields {
            if !output.isEmpty { output.append(UInt8(ascii: "&")) }
            field.append(to: &output)
        }
        return String(decoding: output, as: UTF8.self)
    }
}

/// Percent-encodes and decodes bytes of URLs and forms.
package enum PercentCoding {
    /// Decodes percent-encoded bytes. An invalid sequence stays as it is, without an error.
    package static func decode(_ bytes: ArraySlice<UInt8>, plusIsSpace: Bool = false) -> [UInt8] {
        if isPlain(bytes, plusIsSpace: plusIsSpace) { return Array(bytes) }
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var place = bytes.startIndex
        while place < bytes.endIndex {
            let byte = bytes[place]
            place += 1
            if byte == UInt8(ascii: "+"), plusIsSpace {
                output.append(UInt8(ascii: " "))
            } else if byte == UInt8(ascii: "%"), bytes.endIndex - place >= 2,
                let high = hexValue(bytes[place]), let low = hexValue(bytes[place + 1])
            {
                output.append(high << 4 | low)
                place += 2
            } else {
                output.append(byte)
            }
        }
        return output
    }

    private static func isPlain(_ bytes: ArraySlice<UInt8>, plusIsSpace: Bool) -> Bool {
        bytes.firstPlace(of: UInt8(ascii: "%")) == nil
            && (!plusIsSpace || bytes.firstPlace(of: UInt8(ascii: "+")) == nil)
    }

    /// Decodes a percent-encoded name or value of a form. If there is nothing to decode, the bytes aren't copied.
    fileprivate static func decodedForm(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        isPlain(bytes, plusIsSpace: true) ? bytes : decode(bytes, plusIsSpace: true)[...]
    }

    /// Percent-encodes bytes for a query: unreserved characters (RFC 3986 §2.3) stay, a space becomes `%20`.
    package static func encode(_ bytes: [UInt8]) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count + 16)
        encode(bytes, spaceIsPlus: false, keeping: UInt8(ascii: "~"), to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    fileprivate static func encodeForm(_ bytes: some Sequence<UInt8>, to output: inout [UInt8]) {
        encode(bytes, spaceIsPlus: true, keeping: UInt8(ascii: "*"), to: &output)
    }

    private static let digits = Array("0123456789ABCDEF".utf8)

    /// Percent-encodes bytes. Letters, digits, `-._` and the character `other` stay.
    private static func encode(
        _ bytes: some Sequence<UInt8>, spaceIsPlus: Bool, keeping other: UInt8, to output: inout [UInt8]
    ) {
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), other: output.append(byte)
            case _ where isAlphanumeric(byte): output.append(byte)
            case UInt8(ascii: " ") where spaceIsPlus: output.append(UInt8(ascii: "+"))
            default:
                output.append(UInt8(ascii: "%"))
                output.append(digits[Int(byte >> 4)])
                output.append(digits[Int(byte & 0x0F)])
            }
        }
    }

    private static func hexValue(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}

/// The cookies of a request: <https://datatracker.ietf.org/doc/html/rfc6265#section-4.2>. Cookies are compared byte by
/// byte, because comparing characters takes quadratic time for a character with many combining marks.
package struct Cookies {
    /// The names and values of a request's cookies, in the order in which they came.
    package let pairs: [(name: Substring.UTF8View, value: Substring.UTF8View)]

    /// Reads the cookies from the value of a `Cookie` header. A part without an equals sign isn't a cookie.
    package init(_ header: String) {
        pairs = header.utf8.split(separator: UInt8(ascii: ";")).compactMap { pair in
            let pair = pair.drop { $0 == UInt8(ascii: " ") }
            guard let mark = pair.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            return (name: pair[..<mark], value: pair[mark...].dropFirst())
        }
    }

    /// The value of the request's first cookie with this name.
    package subscript(name: String) -> String? {
        pairs.first { $0.name.elementsEqual(name.utf8) }.map { String(Substring($0.value)) }
    }
}

extension ArraySlice<UInt8> {
    /// Returns the position of the first byte that equals `byte`. It uses `memchr`, which is faster than
    /// `firstIndex(of:)`.
    package func firstPlace(of byte: UInt8) -> Int? {
        withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress, let found = memchr(start, Int32(byte), bytes.count) else { return nil }
            return startIndex + (UnsafeRawPointer(found) - start)
        }
    }

    /// Whether these bytes are the UTF-8 of `text`.
    package func are(_ text: String) -> Bool {
        guard count == text.utf8.count else { return false }
        return withUnsafeBytes { bytes in
            guard let begin = bytes.baseAddress else { return true }
            let isSame = text.utf8.withContiguousStorageIfAvailable { text in
                text.baseAddress.map { memcmp(begin, $0, bytes.count) == 0 } ?? true
            }
            return isSame ?? text.utf8.elementsEqual(bytes)
        }
    }
}
