import FoundationEssentials

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
