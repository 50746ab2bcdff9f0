import Foundation

extension Understudy {
    /// The most bytes in a label of a host name: <https://www.rfc-editor.org/rfc/rfc1035#section-2.3.4>.
    private static let labelLimit = 63
    private static let digestLength = 12

    /// Makes the name of a test world from any text, such as the name of a test: `worldName(from: "Sign in, twice")`
    /// begins with `sign-in-twice-`.
    ///
    /// The name has lower-case letters, digits and single hyphens, at most 63 characters, so the name works in a path,
    /// in a host name and as a proxy's user. The same text always gives the same name, and different texts give
    /// different names. `understudy world-name` gives the same names.
    public static func worldName(from text: String) -> String {
        let readable = readablePart(of: text)
        if readable == text, text.utf8.count <= labelLimit, !text.isEmpty, text != "default" { return text }
        return worldName(readable, mark: String(SHA256.hex(text).prefix(digestLength)))
    }

    /// Returns a new, unique name for a test world, which begins with the letters and digits of `text`. No other call
    /// returns the name, in any process.
    package static func uniqueWorldName(from text: String) -> String {
        let digits = Array("0123456789abcdefghijklmnopqrstuvwxyz")
        var system = SystemRandomNumberGenerator()
        let mark = (0..<digestLength).map { _ in digits[Int.random(in: 0..<digits.count, using: &system)] }
        return worldName(readablePart(of: text), mark: String(mark))
    }

    /// Whether a daemon accepts `text` as the name of a test world: 1 to 64 ASCII letters, digits, hyphens, underscores
    /// and full stops.
    static func isWorldName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || [UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ".")].contains(byte)
            }
    }

    private static func worldName(_ readable: String, mark: String) -> String {
        var kept = readable.prefix(labelLimit - digestLength - 1)
        while kept.hasSuffix("-") { kept.removeLast() }
        return kept.isEmpty ? "world-\(mark)" : "\(kept)-\(mark)"
    }

    /// Returns the ASCII letters and digits of `text` in lower case. Each run of other characters between them becomes
    /// one hyphen.
    private static func readablePart(of text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            let lower = (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
            if (0x61...0x7A).contains(lower) || (0x30...0x39).contains(lower) {
                bytes.append(lower)
            } else if let last = bytes.last, last != UInt8(ascii: "-") {
                bytes.append(UInt8(ascii: "-"))
            }
        }
        if bytes.last == UInt8(ascii: "-") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Duration {
    /// Returns a duration of `count` minutes.
    public static func minutes(_ count: Int64) -> Duration { of(count, 60) }

    /// Returns a duration of `count` hours.
    public static func hours(_ count: Int64) -> Duration { of(count, 3_600) }

    /// Returns a duration of `count` days of 24 hours.
    public static func days(_ count: Int64) -> Duration { of(count, 86_400) }

    /// Returns a duration of `count * unit` seconds, limited to the range of 64 bits.
    private static func of(_ count: Int64, _ unit: Int64) -> Duration {
        let (seconds, overflow) = count.multipliedReportingOverflow(by: unit)
        return .seconds(overflow ? (count < 0 ? .min : .max) : seconds)
    }

    /// The duration as the control API expects it, to the millisecond, such as `360000ms`. The value is limited to the
    /// range of 64 bits.
    var wire: String {
        let (seconds, overflow) = components.seconds.multipliedReportingOverflow(by: 1_000)
        guard !overflow else { return "\(components.seconds < 0 ? Int64.min + 1 : Int64.max)ms" }
        return "\(seconds.addingReportingOverflow(components.attoseconds / 1_000_000_000_000_000).partialValue)ms"
    }

    var timeInterval: TimeInterval { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
