import Time

/// Times in the Graph API's messages, which are in Pacific Time: `Wednesday, 14-Feb-18 18:00:00 PST`.
/// <https://developers.facebook.com/docs/facebook-login/guides/access-tokens/debugging>
enum PacificTime {
    private static let days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    static func text(_ instant: Instant) -> String {
        let isSummer = isSummer(instant)
        let local = instant - .hours(isSummer ? 7 : 8)
        // An example of the text is 2018-02-14T18:00:00Z.
        let text = Array(local.text.utf8)
        func part(_ range: Range<Int>) -> String { String(decoding: text[range], as: UTF8.self) }
        let month = Int(part(5..<7)).flatMap { months.indices.contains($0 - 1) ? months[$0 - 1] : nil } ?? ""
        return
            "\(days[weekday(local)]), \(part(8..<10))-\(month)-\(part(2..<4)) \(part(11..<19)) \(isSummer ? "PDT" : "PST")"
    }

    /// Returns the day of the week; 0 is Sunday. The first of January 1970 was a Thursday.
    private static func weekday(_ instant: Instant) -> Int { Int((instant.seconds / 86_400 + 4) % 7) }

    /// Whether daylight saving time applies: from the second Sunday of March to the first of November, at two o'clock,
    /// since 2007. <https://www.nist.gov/pml/time-and-frequency-division/popular-links/daylight-saving-time-dst>
    private static func isSummer(_ instant: Instant) -> Bool {
        let year = instant.text.prefix(4)
        guard let march = Instant("\(year)-03-01T10:00:00Z"), let november = Instant("\(year)-11-01T09:00:00Z") else {
            return false
        }
        func firstSunday(_ day: Instant) -> Instant { day + .days(Int64((7 - weekday(day)) % 7)) }
        return instant >= firstSunday(march) + .days(7) && instant < firstSunday(november)
    }
}
