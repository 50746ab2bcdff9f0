import Control
import EmulatorCore

/// A page of the list of flows, the newest first.
struct FlowPage: Sendable {
    static let size = 50

    let flows: [Flow]
    /// The `before` of the next page; `nil` if there are no more.
    let next: FlowPlace?
    /// Whether the recording has any exchanges.
    let isRecorded: Bool

    /// Makes a page. `before` is the position of the last flow of the page before.
    init(_ reader: FlowReader, _ filter: FlowFilter, before: FlowPlace?) {
        isRecorded = !reader.world.recording.known(limit: 1).exchanges.isEmpty
        let flows = reader.flows(filter, before: before, limit: FlowPage.size + 1)
        next = flows.count > FlowPage.size ? FlowPlace(of: flows[FlowPage.size - 1].steps.map(\.known)) : nil
        self.flows = Array(flows.prefix(FlowPage.size))
    }
}
