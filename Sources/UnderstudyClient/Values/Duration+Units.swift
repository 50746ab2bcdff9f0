import Foundation

extension Duration {
    /// So many minutes.
    public static func minutes(_ count: Int64) -> Duration { of(count, 60) }

    /// So many hours.
    public static func hours(_ count: Int64) -> Duration { of(count, 3_600) }

    /// So many days of 24 hours.
    public static func days(_ count: Int64) -> Duration { of(count, 86_400) }

    /// At most as many seconds as 64 bits can count.
    private static func of(_ count: Int64, _ unit: Int64) -> Duration {
        let (seconds, overflow) = count.multipliedReportingOverflow(by: unit)
        return .seconds(overflow ? (count < 0 ? .min : .max) : seconds)
    }

    /// As the control API takes it, to the millisecond: `360000ms`. Nothing is longer than what 64 bits can count.
    var wire: String {
        let (seconds, overflow) = components.seconds.multipliedReportingOverflow(by: 1_000)
        guard !overflow else { return "\(components.seconds < 0 ? Int64.min + 1 : Int64.max)ms" }
        return "\(seconds.addingReportingOverflow(components.attoseconds / 1_000_000_000_000_000).partialValue)ms"
    }

    var timeInterval: TimeInterval { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
