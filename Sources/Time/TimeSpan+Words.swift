extension TimeSpan {
    /// The duration as text for people, in its largest suitable unit and rounded down: `23 h`.
    package var inWords: String {
        let seconds = length.seconds
        return switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7_200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3_600) h"
        case ..<63_072_000: "\(seconds / 86_400) days"
        default: "\(seconds / 31_557_600) years"
        }
    }
}
