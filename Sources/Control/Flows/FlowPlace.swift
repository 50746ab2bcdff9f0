import EmulatorCore

/// A flow's position in the list: the time of its last answer, in microseconds since 1970, and the number of that
/// exchange.
///
/// Daemons that share a recording agree on positions. Their copies of it may have exchanges in different orders.
package struct FlowPlace: Comparable, Sendable {
    private let time: Int64
    private let number: Int

    package init(of exchanges: [KnownExchange]) {
        (time, number) = exchanges.map(\.exchange.answered).max { $0 < $1 } ?? (0, 0)
    }

    /// Parses the text that `text` writes. Without a number, the position is before all exchanges of that microsecond.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let time = parts.first.flatMap({ Int64($0) }) else { return nil }
        guard let number = parts.count > 1 ? Int(parts[1]) : 0 else { return nil }
        (self.time, self.number) = (time, number)
    }

    package var text: String { "\(time).\(number)" }

    package static func < (left: FlowPlace, right: FlowPlace) -> Bool {
        (left.time, left.number) < (right.time, right.number)
    }
}
