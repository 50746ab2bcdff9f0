import FoundationEssentials

/// Durations as people write them: `500ms`, `2s`, `6m`, `1h`, `1d`, with a `-` for the past.
package enum Durations {
    private static let units: [(suffix: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    /// `nil` when it isn't one, or is too long to count.
    package static func milliseconds(_ text: String) -> Int64? {
        guard let unit = units.first(where: { text.hasSuffix($0.suffix) }) else { return nil }
        let digits = text.dropLast(unit.suffix.count)
        guard !digits.isEmpty, !digits.hasPrefix("+"), let count = Int64(digits) else { return nil }
        let (product, overflow) = count.multipliedReportingOverflow(by: unit.milliseconds)
        // A thousand years is enough, and sums of such numbers can't overflow.
        return overflow || abs(product) > 31_557_600_000_000 ? nil : product
    }

    /// In the largest unit that divides it.
    package static func text(milliseconds: Int64) -> String {
        let unit = units.last { milliseconds % $0.milliseconds == 0 } ?? (suffix: "ms", milliseconds: 1)
        return milliseconds == 0 ? "0s" : "\(milliseconds / unit.milliseconds)\(unit.suffix)"
    }
}

/// Times as RFC 3339 writes them, in UTC.
package enum Timestamps {
    private static let style = Date.ISO8601FormatStyle()

    /// Milliseconds since 1970; `nil` when it isn't a time between the years 1970 and 9999.
    package static func milliseconds(_ text: String) -> Int64? {
        guard text.utf8.count <= 32, let date = try? style.parse(text) else { return nil }
        let seconds = date.timeIntervalSince1970
        return seconds >= 0 && seconds < 253_402_300_800 ? Int64(seconds * 1000) : nil
    }

    /// With six digits after the second.
    package static func fullText(microseconds: Int64) -> String {
        let fraction = String(1_000_000 + microseconds % 1_000_000).dropFirst()
        return text(milliseconds: microseconds / 1000).dropLast() + ".\(fraction)Z"
    }

    package static func text(milliseconds: Int64) -> String {
        style.format(Date(timeIntervalSince1970: Double(milliseconds / 1000)))
    }
}
