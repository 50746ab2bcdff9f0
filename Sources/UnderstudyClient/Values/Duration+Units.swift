import Foundation

extension Duration {
    /// Returns a duration of minutes.
    public static func minutes(_ count: Int64) -> Duration { of(count, 60) }

    /// Returns a duration of hours.
    public static func hours(_ count: Int64) -> Duration { of(count, 3_600) }

    /// Returns a duration of days of 24 hours.
    public static func days(_ count: Int64) -> Duration { of(count, 86_400) }

    /// Returns `count * unit` seconds, limited to the range of 64 bits.
    private static func of(_ count: Int64, _ unit: Int64) -> Duration {
        let (seconds, overflow) = count.multipliedReportingOverflow(by: unit)
        return .seconds(overflow ? (count < 0 ? .min : .max) : seconds)
    }

    /// The duration in the control API's form, to the millisecond: `360000ms`. It is limited to the range of 64 bits.
    var wire: String {
        let (seconds, overflow) = components.seconds.multipliedReportingOverflow(by: 1_000)
        guard !overflow else { return "\(components.seconds < 0 ? Int64.min + 1 : Int64.max)ms" }
        return "\(seconds.addingReportingOverflow(components.attoseconds / 1_000_000_000_000_000).partialValue)ms"
    }

    var timeInterval: TimeInterval { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
