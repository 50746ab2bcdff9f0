#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Instants as RFC 3339 writes them, in UTC: `2030-01-01T00:00:00Z`, or `2030-01-01T00:00:00.250Z`.
/// <https://datatracker.ietf.org/doc/html/rfc3339#section-5.6>
extension Instant {
    private static let style = Date.ISO8601FormatStyle()

    /// `nil` when it isn't a time in UTC from 1970 to the year 9999, on a day that there is. A fraction of the second may have up to
    /// nine digits, as `toISOString()` of JavaScript has three; what is less than a millisecond is dropped.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.count <= 30, bytes.last == UInt8(ascii: "Z") else { return nil }
        let fraction = bytes[19..<(bytes.count - 1)]
        guard let milliseconds = Instant.milliseconds(ofFraction: fraction) else { return nil }
        let whole = String(decoding: bytes[..<19], as: UTF8.self) + "Z"
        // Foundation takes the 30th of February for the 2nd of March.
        guard let date = try? Instant.style.parse(whole), Instant.style.format(date) == whole else { return nil }
        let seconds = date.timeIntervalSince1970
        // Beyond these bounds, a Double can't be made an Int64 safely.
        guard seconds >= 0, seconds < 253_402_300_800 else { return nil }
        self.init(milliseconds: Int64(seconds) * 1000 + milliseconds)
    }

    /// Of `.5`, 500; of nothing, 0; `nil` for what is no fraction.
    private static func milliseconds(ofFraction fraction: ArraySlice<UInt8>) -> Int64? {
        guard !fraction.isEmpty else { return 0 }
        let digits = fraction.dropFirst()
        guard fraction.first == UInt8(ascii: "."), !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        let padded = Array(digits.prefix(3)) + Array(repeating: UInt8(ascii: "0"), count: max(0, 3 - digits.count))
        return padded.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }

    /// To the second.
    package var text: String { Instant.style.format(Date(timeIntervalSince1970: Double(seconds))) }

    /// A moment in microseconds since 1970, with six digits after the second.
    package static func text(microseconds: Int64) -> String {
        let moment = first + .milliseconds(microseconds / 1000)
        let fraction = String(1_000_000 + max(0, microseconds) % 1_000_000).dropFirst()
        return moment.text.dropLast() + ".\(fraction)Z"
    }
}

/// Written in RFC 3339, with three digits after the second unless all of them are zero.
extension Instant: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let instant = Instant(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a time in RFC 3339")
        }
        self = instant
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        let fraction = milliseconds % 1000
        let digits = String(1000 + fraction).dropFirst()
        try container.encode(fraction == 0 ? text : text.dropLast() + ".\(digits)Z")
    }
}
