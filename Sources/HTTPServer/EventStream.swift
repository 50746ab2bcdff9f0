import Synchronization

/// A response body of unknown length, to which bytes are added from any thread when there are some. In between, the connection is
/// suspended and occupies no thread.
package final class EventStream: Sendable {
    private struct State {
        /// What is still to be sent begins in the chunk `first`, at the byte `offset`.
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

        /// At most `limit` bytes of the first chunk.
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

    /// A stream is ended when its reader is behind by more bytes than this, unless a single chunk is larger.
    private static let backlogLimit = 4 << 20
    private let state = Mutex(State())
    private let whenDrained: (@Sendable () -> Void)?

    /// `whenDrained` is called on the connection's thread whenever the reader has taken everything.
    package init(whenDrained: (@Sendable () -> Void)? = nil) { self.whenDrained = whenDrained }

    // One that was never sent, because its client went before or another answer was given, ends here.
    deinit { close() }

    /// Bytes that the reader hasn't taken yet.
    package var backlog: Int { state.withLock { $0.backlog } }

    /// Sends more. Returns `false` when nobody reads any more.
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

    /// Ends the body after what has been sent.
    package func end() {
        let wake = state.withLock { state in
            state.hasEnded = true
            return state.takeWake()
        }
        wake?()
    }

    /// Ends the body, without what its reader hasn't taken yet.
    func discard() {
        state.withLock { $0.clear() }
        end()
    }

    /// `action` is called once, when the connection is closed; at once, if it is closed already.
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
        /// Nothing yet: the connection has been suspended.
        case nothing
    }

    /// Takes at most `limit` bytes. When there are none, `suspend` is called before anybody can send more; `wake` is then
    /// called once, as soon as there are.
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
