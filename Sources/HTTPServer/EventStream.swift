import Synchronization

/// A body without an end in sight: whoever holds it sends bytes when there are some, from any thread. Between them the
/// connection is suspended and holds no thread.
package final class EventStream: Sendable {
    private struct State {
        var waiting: [UInt8] = []
        var hasEnded = false
        var isClosed = false
        var wake: (@Sendable () -> Void)?
        var whenClosed: (@Sendable () -> Void)?

        mutating func takeWake() -> (@Sendable () -> Void)? {
            defer { wake = nil }
            return wake
        }
    }

    /// A reader that falls behind by more bytes than this is let go.
    private static let backlogLimit = 4 << 20
    private let state = Mutex(State())

    package init() {}

    /// Sends more. Returns `false` when nobody reads any more.
    @discardableResult
    package func send(_ bytes: [UInt8]) -> Bool {
        let (goesOn, wake) = state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
            guard !state.hasEnded, !state.isClosed else { return (false, nil) }
            state.waiting += bytes
            if state.waiting.count > EventStream.backlogLimit { state.hasEnded = true }
            return (!state.hasEnded, state.takeWake())
        }
        wake?()
        return goesOn
    }

    package func send(_ text: String) { send(Array(text.utf8)) }

    /// Ends the body after what has been sent.
    package func end() {
        let wake = state.withLock { state in
            state.hasEnded = true
            return state.takeWake()
        }
        wake?()
    }

    /// Called once, when the connection is gone; at once, if it is already.
    package func whenClosed(_ action: @escaping @Sendable () -> Void) {
        let isClosed = state.withLock { state in
            if !state.isClosed { state.whenClosed = action }
            return state.isClosed
        }
        if isClosed { action() }
    }

    // MARK: - The connection's side

    enum Part {
        case bytes([UInt8])
        case end
        /// Nothing yet; the connection has been suspended.
        case nothing
    }

    /// Takes at most `limit` bytes. When there are none, `suspend` is called before anybody can send more; `wake` is then
    /// called once, as soon as there are.
    func take(upTo limit: Int, suspend: () -> Void, wake: @escaping @Sendable () -> Void) -> Part {
        state.withLock { state in
            guard state.waiting.isEmpty else {
                let part = Array(state.waiting.prefix(limit))
                state.waiting.removeFirst(part.count)
                return .bytes(part)
            }
            guard !state.hasEnded else { return .end }
            suspend()
            state.wake = wake
            return .nothing
        }
    }

    func close() {
        let action = state.withLock { state in
            state.isClosed = true
            state.wake = nil
            defer { state.whenClosed = nil }
            return state.whenClosed
        }
        action?()
    }
}
