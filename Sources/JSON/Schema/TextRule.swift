import Time

/// A rule that a text has to follow, such as a maximum length or a pattern.
package struct TextRule: Sendable {
    package let about: String
    /// The regular expression (ECMA-262) that the JSON Schema shows for this rule; `nil` if there is none.
    package let pattern: String?
    package let holds: @Sendable (String) -> Bool

    package init(about: String, pattern: String?, _ holds: @escaping @Sendable (String) -> Bool) {
        self.about = about
        self.pattern = pattern
        self.holds = holds
    }

    /// The largest number of bytes that most rules allow in a text. It is enough for a PEM file or a page's address.
    private static let longest = 8_192

    package static let any = TextRule(about: "a string of at most 8,192 bytes", pattern: nil) {
        $0.utf8.count <= longest
    }
    package static let unlimited = TextRule(about: "a string", pattern: nil) { _ in true }
    package static let nonEmpty = TextRule(
        about: "a string that isn't empty, of at most 8,192 bytes", pattern: ".+"
    ) { !$0.isEmpty && $0.utf8.count <= longest }
    /// A rule for a text in which `*` stands for any characters. It may have at most 16 stars, because it is compared
    /// with many texts.
    package static let pattern = TextRule(
        about: "a string that isn't empty, of at most 8,192 bytes, or 256 with \"*\", of which it may have 16",
        pattern: ".+"
    ) {
        !$0.isEmpty && hasFewStars($0) && $0.utf8.count <= ($0.utf8.contains(UInt8(ascii: "*")) ? 256 : longest)
    }
    /// Returns whether a pattern has at most 16 stars.
    package static func hasFewStars(_ text: String) -> Bool { text.utf8.count { $0 == UInt8(ascii: "*") } <= 16 }
    /// A rule that accepts a token, a callback URL or a similar text.
    package static let token = TextRule(about: "a string that isn't empty, of at most 32,768 bytes", pattern: ".+") {
        !$0.isEmpty && $0.utf8.count <= 1 << 15
    }
    /// A rule for a person's name or a similar text.
    package static let name = TextRule(about: "a name of at most 256 bytes", pattern: nil) { $0.utf8.count <= 256 }
    package static let identifier = TextRule(
        about: "an identifier: letters, digits, \"-\", \"_\" and \".\"", pattern: "^[A-Za-z0-9._-]+$"
    ) { text in !text.isEmpty && text.utf8.allSatisfy { isLetterOrDigit($0) || "-_.".utf8.contains($0) } }
    /// Returns a rule for texts of exactly `count` letters and digits.
    package static func alphanumeric(_ count: Int, about: String) -> TextRule {
        TextRule(about: about, pattern: "^[A-Za-z0-9]{\(count)}$") { text in
            text.utf8.count == count && text.utf8.allSatisfy(isLetterOrDigit)
        }
    }
    /// Returns a rule for texts of exactly `count` upper-case letters and digits.
    package static func upperCase(_ count: Int, about: String) -> TextRule {
        TextRule(about: about, pattern: "^[A-Z0-9]{\(count)}$") { text in
            text.utf8.count == count
                && text.utf8.allSatisfy { isLetterOrDigit($0) && !(0x61...0x7A).contains($0) }
        }
    }
    package static let email = TextRule(
        about: "an e-mail address of at most 254 bytes", pattern: "^[^@\\s]+@[^@\\s]+$"
    ) { text in
        // RFC 5321 §4.5.3.1.3 allows 256 octets for a path, which includes two brackets.
        guard text.utf8.count <= 254 else { return false }
        // With many people in a seed, comparing characters would cost more than everything else.
        if text.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }) {
            guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "@")), mark != text.startIndex else { return false }
            let domain = text.utf8[mark...].dropFirst()
            return !domain.isEmpty && !domain.contains(UInt8(ascii: "@"))
        }
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { !$0.isEmpty } && !text.contains { $0.isWhitespace }
    }
    /// A rule for an e-mail address that can stand in a mail between angle brackets without quotation marks.
    package static let mailAddress = TextRule(
        about: "an e-mail address of at most 254 bytes, without angle brackets",
        pattern: "^[^@\\s<>\\x00-\\x1F\\x7F]+@[^@\\s<>,;\"\\x00-\\x1F\\x7F]+$"
    ) { text in
        guard email.holds(text), let mark = text.utf8.lastIndex(of: UInt8(ascii: "@")) else { return false }
        return text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !"<>".utf8.contains($0) }
            && !text.utf8[mark...].contains { ",;\"".utf8.contains($0) }
    }
    /// A rule for the part of an e-mail address after the "@".
    package static let mailDomain = TextRule(
        about: "a domain such as \"example.com\", of at most 253 bytes",
        pattern: "^[^@\\s.:/*]+(\\.[^@\\s.:/*]+)*$"
    ) { text in
        text.utf8.count <= 253
            && text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
                !label.isEmpty && !label.contains { "@:/*".contains($0) || $0.isWhitespace }
            }
    }
    package static let base32 = TextRule(
        about: "a secret in base32: at least 16 upper-case letters and digits 2 to 7", pattern: "^[A-Z2-7]{16,}$"
    ) { text in
        text.utf8.count >= 16 && text.utf8.allSatisfy { (0x41...0x5A).contains($0) || (0x32...0x37).contains($0) }
    }
    package static let phoneNumber = TextRule(
        about: "a phone number in E.164: \"+\" and 4 to 15 digits", pattern: "^\\+[0-9]{4,15}$"
    ) { text in
        text.hasPrefix("+") && (5...16).contains(text.utf8.count)
            && text.utf8.dropFirst().allSatisfy { (0x30...0x39).contains($0) }
    }
    package static let url = TextRule(
        about: "an absolute URL that begins with http:// or https://", pattern: "^https?://[^\\s/]+"
    ) { text in
        guard !text.contains(where: \.isWhitespace) else { return false }
        return ["http://", "https://"].contains { scheme in
            // A host must follow, not a path.
            text.hasPrefix(scheme) && text.dropFirst(scheme.count).first.map { $0 != "/" } ?? false
        }
    }
    package static let callbackURL = TextRule(
        about: "an absolute URL such as \"https://example.com/callback\" or \"com.example.app://callback\"",
        pattern: "^[A-Za-z][A-Za-z0-9+.-]*://[^\\s]+"
    ) { text in
        guard let mark = text.firstRange(of: "://"), !text.contains(where: \.isWhitespace) else { return false }
        let scheme = text[..<mark.lowerBound].utf8
        return mark.upperBound < text.endIndex && scheme.first.map { (0x61...0x7A).contains($0 | 0x20) } ?? false
            && scheme.allSatisfy { isLetterOrDigit($0) || "+.-".utf8.contains($0) }
    }
    package static let duration = TextRule(
        about:
            "a duration such as \"500ms\", \"2s\", \"6m\", \"1h\" or \"1d\": a number and a unit, at most ten thousand years",
        pattern: "^[0-9]+(ms|s|m|h|d)$"
    ) { text in TimeSpan(text).map { $0 >= .zero } ?? false }
    /// A rule for the time by which a response is delayed.
    package static let delay = TextRule(
        about: "a duration of at most an hour, such as \"500ms\", \"2s\" or \"6m\"", pattern: "^[0-9]+(ms|s|m|h|d)$"
    ) { text in TimeSpan(text).map { (.zero ... .hours(1)).contains($0) } ?? false }
    package static let timestamp = TextRule(
        about: "a time such as \"2030-01-01T00:00:00Z\" or \"2030-01-01T00:00:00.250Z\"",
        pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?Z$"
    ) { Instant($0) != nil }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
    }
}
