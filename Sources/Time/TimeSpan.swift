/// The time between two moments, in whole milliseconds; negative if the second moment is before the first.
///
/// It is limited to ten thousand years in both directions, which no difference of two `Instant` values exceeds.
/// Arithmetic stops at this limit.
package struct TimeSpan: Comparable, Hashable, Sendable {
    package static let zero = TimeSpan(clamping: 0)

    /// The milliseconds of ten thousand years of 365.25 days, which is the longest time span.
    private static let bound: Int64 = 315_576_000_000_000

    package let milliseconds: Int64

    private init(clamping milliseconds: Int64) {
        self.milliseconds = min(max(milliseconds, -TimeSpan.bound), TimeSpan.bound)
    }

    /// Makes a time span of `count` units, each of which has `unit` milliseconds; `nil` if it is longer than ten
    /// thousand years.
    private init?(_ count: Int64, of unit: Int64) {
        let (product, overflow) = count.multipliedReportingOverflow(by: unit)
        guard !overflow, (-TimeSpan.bound...TimeSpan.bound).contains(product) else { return nil }
        self.init(clamping: product)
    }

    private init(clamping count: Int64, of unit: Int64) {
        self = TimeSpan(count, of: unit) ?? TimeSpan(clamping: count < 0 ? -TimeSpan.bound : TimeSpan.bound)
    }

    package static func milliseconds(_ count: Int64) -> TimeSpan { TimeSpan(clamping: count) }
    package static func seconds(_ count: Int64) -> TimeSpan { TimeSpan(clamping: count, of: 1000) }
    package static func minutes(_ count: Int64) -> TimeSpan { TimeSpan(clamping: count, of: 60_000) }
    package static func hours(_ count: Int64) -> TimeSpan { TimeSpan(clamping: count, of: 3_600_000) }
    package static func days(_ count: Int64) -> TimeSpan { TimeSpan(clamping: count, of: 86_400_000) }

    /// The number of whole seconds of the time span. A fraction is dropped.
    package var seconds: Int64 { milliseconds / 1000 }

    package var duration: Duration { .milliseconds(milliseconds) }

    /// The absolute value of the time span.
    package var length: TimeSpan { TimeSpan(clamping: milliseconds < 0 ? -milliseconds : milliseconds) }

    package static func < (left: TimeSpan, right: TimeSpan) -> Bool { left.milliseconds < right.milliseconds }

    package static func + (left: TimeSpan, right: TimeSpan) -> TimeSpan {
        TimeSpan(clamping: left.milliseconds + right.milliseconds)
    }

    package static func - (left: TimeSpan, right: TimeSpan) -> TimeSpan {
        TimeSpan(clamping: left.milliseconds - right.milliseconds)
    }

    package static prefix func - (span: TimeSpan) -> TimeSpan { TimeSpan(clamping: -span.milliseconds) }
}

/// Converts time spans from and to text: `500ms`, `2s`, `6m`, `1h`, `1d`, with a `-` for a negative time span.
extension TimeSpan: CustomStringConvertible {
    private static let units: [(suffix: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    /// Reads a time span from a text such as `5m`; `nil` if the text isn't one, or is longer than ten thousand years.
    package init?(_ text: String) {
        guard let unit = TimeSpan.units.first(where: { text.hasSuffix($0.suffix) }) else { return nil }
        let digits = text.dropLast(unit.suffix.count)
        guard !digits.isEmpty, !digits.hasPrefix("+"), let count = Int64(digits) else { return nil }
        self.init(count, of: unit.milliseconds)
    }

    /// The time span as text in the largest unit that divides it, such as `90s` or `2h`.
    package var description: String {
        guard milliseconds != 0 else { return "0s" }
        let unit =
            TimeSpan.units.last { milliseconds.isMultiple(of: $0.milliseconds) } ?? (suffix: "ms", milliseconds: 1)
        return "\(milliseconds / unit.milliseconds)\(unit.suffix)"
    }
}

extension TimeSpan: Codable {
    /// Decodes a time span from its text form, such as `5m`.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let span = TimeSpan(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a duration")
        }
        self = span
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
