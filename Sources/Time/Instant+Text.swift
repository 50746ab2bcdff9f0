#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Instants as RFC 3339 writes them, in UTC: `2030-01-01T00:00:00Z`.
/// <https://datatracker.ietf.org/doc/html/rfc3339#section-5.6>
extension Instant {
    private static let style = Date.ISO8601FormatStyle()

    /// `nil` when it isn't a time in UTC, to the second, from 1970 to the year 9999, on a day that there is.
    package init?(_ text: String) {
        guard text.utf8.count == 20, let date = try? Instant.style.parse(text) else { return nil }
        // Foundation takes the 30th of February for the 2nd of March.
        guard Instant.style.format(date) == text else { return nil }
        let seconds = date.timeIntervalSince1970
        // Beyond these bounds, a Double can't be made an Int64 safely.
        guard seconds >= 0, seconds < 253_402_300_800 else { return nil }
        self.init(seconds: Int64(seconds))
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
        let digits = text.utf8.count == 24 ? text.dropFirst(20).prefix(3) : ""
        let whole = digits.isEmpty ? text : text.prefix(19) + "Z"
        guard let second = Instant(whole), digits.isEmpty || text == whole.dropLast() + ".\(digits)Z",
            digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let milliseconds = digits.isEmpty ? 0 : UInt16(digits)
        else { throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a time in RFC 3339") }
        self = second + .milliseconds(Int64(milliseconds))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        let fraction = milliseconds % 1000
        let digits = String(1000 + fraction).dropFirst()
        try container.encode(fraction == 0 ? text : text.dropLast() + ".\(digits)Z")
    }
}
