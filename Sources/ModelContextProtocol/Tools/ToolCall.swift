import Synchronization

/// A call of a tool while it is carried out.
package final class ToolCall: Sendable {
    private let cancelled = Atomic<Bool>(false)
    private let ends = Atomic<Bool>(false)

    init() {}

    /// Whether nobody wants the answer any more.
    var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

    /// Whether a call that waits for something should answer with what there is: nobody wants the answer any more, or no further
    /// request can come.
    package var shouldEnd: Bool { isCancelled || ends.load(ordering: .acquiring) }

    func cancel() { cancelled.store(true, ordering: .releasing) }

    func end() { ends.store(true, ordering: .releasing) }
}
