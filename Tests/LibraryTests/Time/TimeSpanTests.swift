import Testing
import Time

@Suite("Durations as people write them")
struct TimeSpanTests {
    @Test(
        "durations",
        arguments: [
            ("500ms", 500), ("2s", 2000), ("6m", 360_000), ("1h", 3_600_000), ("1d", 86_400_000), ("-6m", -360_000),
            ("0s", 0), ("-0s", 0), ("3652500d", 315_576_000_000_000),
            ("", nil), ("s", nil), ("6", nil), ("6 m", nil), ("1.5h", nil), ("+1s", nil), ("1w", nil), ("--1s", nil),
            ("3652501d", nil), ("99999999999999999999d", nil), ("m5", nil), ("５s", nil), ("1e3s", nil), ("0x10s", nil),
        ] as [(String, Int64?)])
    func text(text: String, milliseconds: Int64?) { #expect(TimeSpan(text)?.milliseconds == milliseconds) }

    @Test("any number in any unit is a duration or none", arguments: BoundaryValues.all)
    func numbers(number: Int64) {
        for unit in ["ms", "s", "m", "h", "d"] {
            guard let span = TimeSpan("\(number)\(unit)") else { continue }
            #expect(TimeSpan(span.description) == span)
            #expect(span.length >= .zero)
            #expect(span.duration == .milliseconds(span.milliseconds))
        }
    }

    @Test(
        "durations are written in the largest unit",
        arguments: [
            (360_000, "6m"), (0, "0s"), (1500, "1500ms"), (86_400_000, "1d"), (90_000, "90s"), (-360_000, "-6m"),
        ])
    func description(milliseconds: Int64, text: String) {
        #expect(TimeSpan.milliseconds(milliseconds).description == text)
    }
}
