/// A moment from 1970 to the end of the year 9999, in whole milliseconds: what RFC 3339 and JWT's NumericDate can both
/// write.
///
/// Arithmetic stays within these years: what would lie outside is the first or the last moment. Numbers from outside
/// become an instant by the initializers that can fail, which refuse what no calendar has.
package struct Instant: Comparable, Hashable, Sendable {
    /// 1970-01-01T00:00:00Z.
    package static let first = Instant(clamping: 0)
    /// 9999-12-31T23:59:59.999Z.
    package static let last = Instant(clamping: range.upperBound)

    private static let range: ClosedRange<Int64> = 0...253_402_300_799_999

    /// Since 1970-01-01T00:00:00Z.
    package let milliseconds: Int64

    private init(clamping milliseconds: Int64) {
        self.milliseconds = min(max(milliseconds, Instant.range.lowerBound), Instant.range.upperBound)
    }

    /// `nil` before 1970 and after the year 9999.
    package init?(milliseconds: Int64) {
        guard Instant.range.contains(milliseconds) else { return nil }
        self.init(clamping: milliseconds)
    }

    /// `nil` before 1970 and after the year 9999.
    package init?(seconds: Int64) {
        let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        guard !overflow else { return nil }
        self.init(milliseconds: milliseconds)
    }

    /// Whole seconds since 1970, rounded down, as tokens carry them.
    package var seconds: Int64 { milliseconds / 1000 }

    /// The same second without its milliseconds.
    package var wholeSecond: Instant { Instant(clamping: seconds * 1000) }

    package static func < (left: Instant, right: Instant) -> Bool { left.milliseconds < right.milliseconds }

    // Neither operand exceeds 4e14, so that the sum of their numbers can't overflow.

    package static func + (instant: Instant, span: TimeSpan) -> Instant {
        Instant(clamping: instant.milliseconds + span.milliseconds)
    }

    package static func - (instant: Instant, span: TimeSpan) -> Instant {
        Instant(clamping: instant.milliseconds - span.milliseconds)
    }

    package static func - (later: Instant, earlier: Instant) -> TimeSpan {
        .milliseconds(later.milliseconds - earlier.milliseconds)
    }

    /// The sum; `nil` when it lies before 1970 or after the year 9999.
    package func advanced(by span: TimeSpan) -> Instant? {
        Instant(milliseconds: milliseconds + span.milliseconds)
    }
}
