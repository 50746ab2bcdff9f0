#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Converts times from and to the text format of RFC 3339, in UTC: `2030-01-01T00:00:00Z`, or
/// `2030-01-01T00:00:00.250Z`. <https://datatracker.ietf.org/doc/html/rfc3339#section-5.6>
extension Instant {
    private static let style = Date.ISO8601FormatStyle()

    /// Reads a time from a text in RFC 3339. Returns `nil` unless it is a time in UTC from 1970 to the year 9999, on a
    /// day that exists. The fraction of a second may have up to nine digits (JavaScript's `toISOString()` writes
    /// three). Digits below a millisecond are dropped.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.count <= 30, bytes.last == UInt8(ascii: "Z") else { return nil }
        let fraction = bytes[19..<(bytes.count - 1)]
        guard let milliseconds = Instant.milliseconds(ofFraction: fraction) else { return nil }
        let whole = String(decoding: bytes[..<19], as: UTF8.self) + "Z"
        // Foundation reads the 30th of February as the 2nd of March.
        guard let date = try? Instant.style.parse(whole), Instant.style.format(date) == whole else { return nil }
        let seconds = date.timeIntervalSince1970
        // Beyond these bounds, a Double can't be converted to Int64 safely.
        guard seconds >= 0, seconds < 253_402_300_800 else { return nil }
        self.init(milliseconds: Int64(seconds) * 1000 + milliseconds)
    }

    /// Returns the milliseconds of the fraction of a second in a time's text: 500 for `.5`, 0 for an empty text, `nil`
    /// for anything else.
    private static func milliseconds(ofFraction fraction: ArraySlice<UInt8>) -> Int64? {
        guard !fraction.isEmpty else { return 0 }
        let digits = fraction.dropFirst()
        guard fraction.first == UInt8(ascii: "."), !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        let padded = Array(digits.prefix(3)) + Array(repeating: UInt8(ascii: "0"), count: max(0, 3 - digits.count))
        return padded.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }

    /// The time as text in RFC 3339, with a precision of seconds.
    package var text: String { text(fraction: 0, digits: 0) }

    /// Returns the text in RFC 3339 of a time in microseconds since 1970, with six digits after the decimal point.
    package static func text(microseconds: Int64) -> String {
        (first + .milliseconds(microseconds / 1000)).text(fraction: max(0, microseconds) % 1_000_000, digits: 6)
    }

    /// Returns the time as text in RFC 3339, with this number of digits after the decimal point. Foundation's format
    /// style isn't used, because it takes ten times as long.
    fileprivate func text(fraction: Int64, digits: Int) -> String {
        let (day, second) = (seconds / 86_400, seconds % 86_400)
        let (year, month, dayOfMonth) = Instant.date(ofDay: day)
        return String(unsafeUninitializedCapacity: 32) { bytes in
            var end = 0
            func put(_ value: Int64, _ digits: Int, then separator: Unicode.Scalar) {
                var rest = value
                for place in stride(from: end + digits - 1, through: end, by: -1) {
                    bytes[place] = UInt8(ascii: "0") + UInt8(rest % 10)
                    rest /= 10
                }
                bytes[end + digits] = UInt8(ascii: separator)
                end += digits + 1
            }
            put(year, 4, then: "-")
            put(month, 2, then: "-")
            put(dayOfMonth, 2, then: "T")
            put(second / 3_600, 2, then: ":")
            put(second / 60 % 60, 2, then: ":")
            put(second % 60, 2, then: digits == 0 ? "Z" : ".")
            if digits > 0 { put(fraction, digits, then: "Z") }
            return end
        }
    }

    /// Returns the date in the Gregorian calendar of a day that is counted from 1970-01-01. In the calculation, years
    /// begin in March, so that the leap day is the last day of a year. Cycles of 400 years have 146,097 days.
    private static func date(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let sinceYear0 = day + 719_468
        let (cycle, dayOfCycle) = (sinceYear0 / 146_097, sinceYear0 % 146_097)
        let yearOfCycle = (dayOfCycle - dayOfCycle / 1_460 + dayOfCycle / 36_524 - dayOfCycle / 146_096) / 365
        let dayOfYear = dayOfCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
        // From March on, each group of five months has 153 days.
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let dayOfMonth = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (cycle * 400 + yearOfCycle + (month <= 2 ? 1 : 0), month, dayOfMonth)
    }
}

/// Encodes and decodes times as text in RFC 3339, with three digits after the decimal point unless all of them are
/// zero.
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
        try container.encode(text(fraction: fraction, digits: fraction == 0 ? 0 : 3))
    }
}
