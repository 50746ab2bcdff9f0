import Synchronization

/// A response body of unknown length. Any thread can add bytes; until then the connection is suspended and occupies no
/// thread.
package final class EventStream: Sendable {
    private struct State {
        /// The chunks that aren't sent yet. The next byte is the one at `offset` in the chunk at `first`.
        var waiting: [StreamChunk] = []
        var first = 0
        var offset = 0
        var backlog = 0
        var hasEnded = false
        var isClosed = false
        var wake: (@Sendable () -> Void)?
        var whenClosed: [@Sendable () -> Void] = []

        mutating func takeWake() -> (@Sendable () -> Void)? {
            defer { wake = nil }
            return wake
        }

        mutating func clear() {
            waiting = []
            first = 0
            offset = 0
            backlog = 0
        }

        /// Removes and returns at most `limit` bytes of the first chunk.
        mutating func takeFirst(upTo limit: Int) -> [UInt8] {
            let bytes = waiting[first].bytes
            let end = min(bytes.count, offset + limit)
            let part = Array(bytes[offset..<end])
            backlog -= part.count
            offset = end
            if end == bytes.count {
                first += 1
                offset = 0
            }
            // Chunks that have been sent are released at once.
            if first == waiting.count {
                waiting.removeAll(keepingCapacity: true)
                first = 0
            } else if offset == 0 {
                waiting.removeFirst(first)
                first = 0
            }
            return part
        }
    }

    /// The most unread bytes. A stream ends when its reader is further behind, unless a single chunk is larger than
    /// this.
    private static let backlogLimit = 4 << 20
    private let state = Mutex(State())
    private let whenDrained: (@Sendable () -> Void)?

    /// Makes a stream. `whenDrained` is called on the connection's thread whenever the reader has read everything.
    package init(whenDrained: (@Sendable () -> Void)? = nil) { self.whenDrained = whenDrained }

    // A stream that was never sent ends here: its client had gone, or another answer was given.
    deinit { close() }

    /// The number of bytes that the reader hasn't read yet.
    package var backlog: Int { state.withLock { $0.backlog } }

    /// Adds bytes to the body. Returns `false` if the stream has ended.
    @discardableResult
    package func send(_ chunk: StreamChunk) -> Bool {
        guard !chunk.bytes.isEmpty else { return true }
        let (goesOn, wake) = state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
            guard !state.hasEnded, !state.isClosed else { return (false, nil) }
            state.waiting.append(chunk)
            state.backlog += chunk.bytes.count
            if state.backlog > EventStream.backlogLimit, state.waiting.count > 1 {
                state.clear()
                state.hasEnded = true
            }
            return (!state.hasEnded, state.takeWake())
        }
        wake?()
        return goesOn
    }

    @discardableResult
    package func send(_ bytes: [UInt8]) -> Bool { send(StreamChunk(bytes)) }

    package func send(_ text: String) { send(Array(text.utf8)) }

    /// Ends the body after the bytes that were added.
    package func end() {
        let wake = state.withLock { state in
            state.hasEnded = true
            return state.takeWake()
        }
        wake?()
    }

    /// Ends the body, without the bytes that the reader hasn't read yet.
    func discard() {
        state.withLock { $0.clear() }
        end()
    }

    /// Calls `action` once when the connection is closed, or at once if it is closed already.
    package func whenClosed(_ action: @escaping @Sendable () -> Void) {
        let isClosed = state.withLock { state in
            if !state.isClosed { state.whenClosed.append(action) }
            return state.isClosed
        }
        if isClosed { action() }
    }

    // MARK: - The connection's side

    enum Part {
        case bytes([UInt8])
        case end
        /// There are no bytes yet: the connection has been suspended.
        case nothing
    }

    /// Takes at most `limit` bytes. If there are none, calls `suspend` before any thread can add more, and later calls
    /// `wake` once when there are some.
    func take(upTo limit: Int, suspend: () -> Void, wake: @escaping @Sendable () -> Void) -> Part {
        let part = state.withLock { state -> Part in
            guard state.waiting.isEmpty else { return .bytes(state.takeFirst(upTo: limit)) }
            guard !state.hasEnded else { return .end }
            suspend()
            state.wake = wake
            return .nothing
        }
        if case .nothing = part { whenDrained?() }
        return part
    }

    func close() {
        let actions = state.withLock { state in
            state.isClosed = true
            state.wake = nil
            state.clear()
            defer { state.whenClosed = [] }
            return state.whenClosed
        }
        for action in actions { action() }
    }
}
