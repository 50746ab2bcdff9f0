import Foundation
import Testing
import Time

@Suite("Instants stay between the years 1970 and 9999")
struct InstantTests {
    static let range: ClosedRange<Int64> = 0...253_402_300_799_999

    @Test("a number that no calendar has is none", arguments: BoundaryValues.all)
    func conversion(number: Int64) {
        #expect((Instant(milliseconds: number) != nil) == Self.range.contains(number))
        #expect((Instant(seconds: number) != nil) == (0...253_402_300_799).contains(number))
        #expect(Instant(milliseconds: number).map { $0.milliseconds == number } ?? true)
        #expect(Instant(seconds: number).map { $0.seconds == number } ?? true)
    }

    @Test("sums and differences of any two stay in range", arguments: BoundaryValues.all, BoundaryValues.all)
    func arithmetic(left: Int64, right: Int64) {
        let spans = [TimeSpan.milliseconds, TimeSpan.seconds, TimeSpan.minutes, TimeSpan.hours, TimeSpan.days]
        for span in spans.map({ $0(right) }) {
            for instant in [Instant(milliseconds: left), Instant(seconds: left), .first, .last].compactMap({ $0 }) {
                #expect(Self.range.contains((instant + span).milliseconds))
                #expect(Self.range.contains((instant - span).milliseconds))
                let sum = instant.advanced(by: span)
                #expect((sum == nil) == !Self.range.contains(instant.milliseconds + span.milliseconds))
                for other in [Instant.first, .last] { #expect((instant - other) + (other - instant) == .zero) }
            }
            let other = TimeSpan.milliseconds(left)
            #expect((span + other) >= TimeSpan.milliseconds(.min) && (span - other) <= TimeSpan.milliseconds(.max))
            #expect(span.length >= .zero && -(-span) == span)
        }
    }

    @Test("the difference of two instants, added again, gives the other one")
    func difference() throws {
        let early = try #require(Instant(seconds: 1_000_000_000))
        let late = try #require(Instant(seconds: 1_900_000_000))
        #expect(late - early == .seconds(900_000_000))
        #expect(early + (late - early) == late)
        #expect(Instant.last - .first + .zero == Instant.last - .first)
        #expect(Instant.first + (Instant.last - .first) == .last)
    }

    @Test(
        "times as RFC 3339 writes them",
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2030-01-01T00:00:00Z", 1_893_456_000),
            ("9999-12-31T23:59:59Z", 253_402_300_799),
            ("2030-01-01", nil), ("2030-02-30T00:00:00Z", nil), ("2030-01-01T24:00:00Z", nil),
            ("2030-01-01T00:00:60Z", nil),
            ("2032-02-29T23:59:59Z", 1_961_711_999), ("2030-01-01T00:00:00+00:00", nil), ("", nil), ("now", nil),
            ("2030-13-01T00:00:00Z", nil), ("1969-12-31T23:59:59Z", nil),
            ("10000-01-01T00:00:00Z", nil), ("0000-01-01T00:00:00Z", nil), ("0001-01-01T00:00:00Z", nil),
            ("-0001-01-01T00:00:00Z", nil), ("99999999-01-01T00:00:00Z", nil),
            (String(repeating: "2", count: 100), nil),
        ] as [(String, Int64?)])
    func text(text: String, seconds: Int64?) {
        #expect(Instant(text)?.seconds == seconds)
        if seconds != nil { #expect(Instant(text)?.text == text) }
    }

    @Test(
        "a fraction of the second counts as far as milliseconds go",
        arguments: [
            ("2030-01-01T00:00:00.000Z", 1_893_456_000_000), ("2030-01-01T00:00:00.250Z", 1_893_456_000_250),
            ("2030-01-01T00:00:00.5Z", 1_893_456_000_500), ("2030-01-01T00:00:00.05Z", 1_893_456_000_050),
            ("2030-01-01T00:00:00.123999999Z", 1_893_456_000_123), ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
            ("2030-01-01T00:00:00.Z", nil), ("2030-01-01T00:00:00.1234567890Z", nil), ("2030-01-01T00:00:00,5Z", nil),
            ("2030-01-01T00:00:00.+1Z", nil), ("2030-01-01T00:00:00.5", nil), ("2030-01-01T00:00:00.5+00:00", nil),
            ("2030-02-30T00:00:00.500Z", nil), ("2030-01-01T00:00:00.\u{660}Z", nil),
        ] as [(String, Int64?)])
    func fraction(text: String, milliseconds: Int64?) { #expect(Instant(text)?.milliseconds == milliseconds) }

    @Test("a time is written to the second, or with six digits")
    func digits() throws {
        let instant = try #require(Instant(milliseconds: 1_893_456_000_999))
        #expect(instant.text == "2030-01-01T00:00:00Z")
        #expect(Instant.text(microseconds: 1_893_456_000_000_042) == "2030-01-01T00:00:00.000042Z")
        #expect(instant.wholeSecond.milliseconds == 1_893_456_000_000)
    }

    @Test("any number of microseconds can be written", arguments: BoundaryValues.all)
    func microseconds(number: Int64) { #expect(Instant.text(microseconds: number).hasSuffix("Z")) }

    @Test("a time is written as Foundation writes it, at the beginning of each year and the end of each February")
    func calendar() throws {
        let style = Date.ISO8601FormatStyle()
        var day: Int64 = 0
        for year in 1970...9999 {
            for dayOfYear in [0, 1, 57, 58, 59, 60, 364, 365] as [Int64] {
                let second = min((day + dayOfYear) * 86_400 + Int64(year) * 11 % 86_400, 253_402_300_799)
                let instant = try #require(Instant(seconds: second))
                try #require(instant.text == style.format(Date(timeIntervalSince1970: Double(second))))
            }
            day += year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 366 : 365
        }
    }
}
