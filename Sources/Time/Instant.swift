/// A moment from 1970 to the end of the year 9999, in whole milliseconds. Both RFC 3339 and JWT's NumericDate can
/// express these moments.
///
/// Arithmetic stays within these years: a result outside of them becomes the first or the last moment. For numbers from
/// outside the program, use the failable initializers.
package struct Instant: Comparable, Hashable, Sendable {
    /// The earliest moment that this type can express: 1970-01-01T00:00:00Z.
    package static let first = Instant(clamping: 0)
    /// The latest moment that this type can express: 9999-12-31T23:59:59.999Z.
    package static let last = Instant(clamping: range.upperBound)

    private static let range: ClosedRange<Int64> = 0...253_402_300_799_999

    /// The number of milliseconds from 1970-01-01T00:00:00Z to this moment.
    package let milliseconds: Int64

    private init(clamping milliseconds: Int64) {
        self.milliseconds = min(max(milliseconds, Instant.range.lowerBound), Instant.range.upperBound)
    }

    /// Makes the moment that is this number of milliseconds after 1970-01-01T00:00:00Z; `nil` outside the years 1970 to
    /// 9999.
    package init?(milliseconds: Int64) {
        guard Instant.range.contains(milliseconds) else { return nil }
        self.init(clamping: milliseconds)
    }

    /// Makes the moment that is this number of seconds after 1970-01-01T00:00:00Z; `nil` outside the years 1970 to
    /// 9999.
    package init?(seconds: Int64) {
        let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        guard !overflow else { return nil }
        self.init(milliseconds: milliseconds)
    }

    /// The number of whole seconds from 1970-01-01T00:00:00Z to this moment, rounded down.
    package var seconds: Int64 { milliseconds / 1000 }

    /// This moment, rounded down to a whole second.
    package var wholeSecond: Instant { Instant(clamping: seconds * 1000) }

    package static func < (left: Instant, right: Instant) -> Bool { left.milliseconds < right.milliseconds }

    // Neither operand exceeds 4e14, so the sum of their numbers can't overflow.

    package static func + (instant: Instant, span: TimeSpan) -> Instant {
        Instant(clamping: instant.milliseconds + span.milliseconds)
    }

    package static func - (instant: Instant, span: TimeSpan) -> Instant {
        Instant(clamping: instant.milliseconds - span.milliseconds)
    }

    package static func - (later: Instant, earlier: Instant) -> TimeSpan {
        .milliseconds(later.milliseconds - earlier.milliseconds)
    }

    /// Returns the moment that is later than this one by `span`; `nil` if it is outside the years 1970 to 9999.
    package func advanced(by span: TimeSpan) -> Instant? {
        Instant(milliseconds: milliseconds + span.milliseconds)
    }
}
