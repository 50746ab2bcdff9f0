import Synchronization

/// A running call of a tool.
package final class ToolCall: Sendable {
    private let cancelled = Atomic<Bool>(false)
    private let ends = Atomic<Bool>(false)

    init() {}

    /// Whether the client has cancelled the call.
    var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

    /// Whether a waiting call should answer with what it has so far: the client has cancelled it, or no further request
    /// can come.
    package var shouldEnd: Bool { isCancelled || ends.load(ordering: .acquiring) }

    func cancel() { cancelled.store(true, ordering: .releasing) }

    func end() { ends.store(true, ordering: .releasing) }
}
