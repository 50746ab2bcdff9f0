import EmulatorCore

/// A page of the list of flows, the newest first.
struct FlowPage: Sendable {
    static let size = 50

    let flows: [Flow]
    /// The `before` of the next page; `nil` if there are no more.
    let next: FlowPlace?
    /// Whether the recording has any exchanges.
    let isRecorded: Bool
    /// The number of exchanges that had been recorded before the next one.
    let end: Int

    /// Makes a page. `before` is the position of the last flow of the page before.
    init(_ reader: FlowReader, _ filter: FlowFilter, before: FlowPlace?) {
        let known = reader.world.recording.known().exchanges
        isRecorded = !known.isEmpty
        end = (known.last?.exchange.order).map { $0 + 1 } ?? 0
        var flows: [(flow: Flow, place: FlowPlace)] = []
        let all = FlowReader.grouped(known).map { (exchanges: $0, place: FlowPlace(of: $0)) }
        for (exchanges, place) in all.sorted(by: { $0.place > $1.place }) {
            if let before, place >= before { continue }
            let flow = reader.flow(exchanges)
            if filter.takes(flow, reader) { flows.append((flow: flow, place: place)) }
            if flows.count > FlowPage.size { break }
        }
        next = flows.count > FlowPage.size ? flows[FlowPage.size - 1].place : nil
        self.flows = flows.prefix(FlowPage.size).map(\.flow)
    }
}

/// A flow's position in the list: the time of its last answer, in microseconds since 1970, and the number of that
/// exchange.
///
/// Daemons that share a recording agree on positions. Their copies of it may have exchanges in different orders.
struct FlowPlace: Comparable, Sendable {
    private let time: Int64
    private let number: Int

    init(of exchanges: [KnownExchange]) {
        (time, number) = exchanges.map(\.exchange.answered).max { $0 < $1 } ?? (0, 0)
    }

    /// Parses the text that `text` writes. Without a number, the position is before all exchanges of that microsecond.
    init?(_ text: String) {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let time = parts.first.flatMap({ Int64($0) }) else { return nil }
        guard let number = parts.count > 1 ? Int(parts[1]) : 0 else { return nil }
        (self.time, self.number) = (time, number)
    }

    var text: String { "\(time).\(number)" }

    static func < (left: FlowPlace, right: FlowPlace) -> Bool {
        (left.time, left.number) < (right.time, right.number)
    }
}
