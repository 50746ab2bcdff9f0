import Synchronization

/// A response body of unknown length, such as server-sent events. Any thread can add bytes. Until bytes are added, the
/// connection is suspended and occupies no thread.
package final class EventStream: Sendable {
    private struct State {
        /// The chunks of a streamed body that aren't sent completely. The next byte to send is the one at `offset` in
        /// the chunk at `first`.
        var waiting: [StreamChunk] = []
        var first = 0
        var offset = 0
        var backlog = 0
        var hasEnded = false
        var isClosed = false
        var wake: (@Sendable () -> Void)?
        var whenClosed: [@Sendable () -> Void] = []

        mutating func popWake() -> (@Sendable () -> Void)? {
            defer { wake = nil }
            return wake
        }

        mutating func clear() {
            waiting = []
            first = 0
            offset = 0
            backlog = 0
        }

        mutating func popBytes(upTo limit: Int) -> [UInt8] {
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

    /// The greatest number of bytes of a streamed body that may wait for the client to read them. If more bytes wait,
    /// the stream ends, unless they are a single chunk.
    private static let backlogLimit = 4 << 20
    private let state = Mutex(State())
    private let whenDrained: (@Sendable () -> Void)?

    /// Makes a streamed response body. `whenDrained` is called on the connection's thread whenever the client has read
    /// everything.
    package init(whenDrained: (@Sendable () -> Void)? = nil) { self.whenDrained = whenDrained }

    // A stream that was never sent ends here: its client had gone, or another answer was given.
    deinit { close() }

    /// The number of bytes of the streamed body that the client hasn't read yet.
    package var backlog: Int { state.withLock { $0.backlog } }

    /// Adds bytes to the streamed body. Returns `false` if the stream has ended.
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
            return (!state.hasEnded, state.popWake())
        }
        wake?()
        return goesOn
    }

    @discardableResult
    package func send(_ bytes: [UInt8]) -> Bool { send(StreamChunk(bytes)) }

    package func send(_ text: String) { send(Array(text.utf8)) }

    /// Ends the streamed body after the bytes that have been added so far.
    package func end() {
        let wake = state.withLock { state in
            state.hasEnded = true
            return state.popWake()
        }
        wake?()
    }

    /// Ends the streamed body at once, without the bytes that the client hasn't read yet.
    func discard() {
        state.withLock { $0.clear() }
        end()
    }

    /// Calls `action` once when the stream's connection is closed, or at once if the connection is closed already.
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
        /// The streamed body has no bytes to send at present. Its connection is suspended until there are some, or
        /// until the stream ends.
        case nothing
    }

    /// Removes at most `limit` bytes from the streamed body and returns them for sending. If the body has no bytes at
    /// present, calls `suspend` at once; no bytes can be added while `suspend` runs. As soon as bytes have been added
    /// or the stream has ended, `wake` is called once.
    func read(upTo limit: Int, suspend: () -> Void, wake: @escaping @Sendable () -> Void) -> Part {
        let part = state.withLock { state -> Part in
            guard state.waiting.isEmpty else { return .bytes(state.popBytes(upTo: limit)) }
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

/// Bytes to be sent in streamed response bodies. Several streams can share a chunk, so that its bytes are in memory
/// once.
package final class StreamChunk: Sendable {
    package let bytes: [UInt8]
    private let budget: StreamBudget?

    package init(_ bytes: [UInt8], in budget: StreamBudget? = nil) {
        self.bytes = bytes
        self.budget = budget
        budget?.change(by: bytes.count)
    }

    deinit { budget?.change(by: -bytes.count) }
}

/// Limits the memory that the unread bytes of all streamed responses in a process take.
package final class StreamBudget: Sendable {
    /// The greatest number of bytes of streamed responses that may wait for clients to read them.
    package let limit: Int
    private let held = Atomic<Int>(0)
    private let ended = Atomic<Int>(0)
    private let streams = Mutex<[ObjectIdentifier: Entry]>([:])

    private struct Entry {
        weak var stream: EventStream?
    }

    package init(limit: Int = 16 << 20) { self.limit = limit }

    /// The number of bytes of streamed responses that wait for clients to read them. A chunk counts once, even if
    /// several streams send it.
    package var bytes: Int { held.load(ordering: .relaxed) }

    /// The number of streamed responses that were ended to free memory, because their clients read the slowest.
    package var dropped: Int { ended.load(ordering: .relaxed) }

    fileprivate func change(by count: Int) { held.wrappingAdd(count, ordering: .relaxed) }

    /// Adds a streamed response to those that may be ended to free memory. It is removed from them when its connection
    /// is closed.
    package func add(_ stream: EventStream) {
        let id = ObjectIdentifier(stream)
        streams.withLock { $0[id] = Entry(stream: stream) }
        stream.whenClosed { [weak self] in self?.streams.withLock { $0[id] = nil } }
    }

    /// Ends the streamed responses of the slowest clients until the others are within the memory limit, and returns the
    /// number of ended streams.
    package func enforce() -> Int {
        guard bytes > limit else { return 0 }
        let slowest = streams.withLock { $0.values.compactMap(\.stream) }.map { (stream: $0, backlog: $0.backlog) }
            .filter { $0.backlog > 0 }.sorted { $0.backlog > $1.backlog }
        var count = 0
        for entry in slowest where bytes > limit {
            entry.stream.discard()
            count += 1
        }
        ended.wrappingAdd(count, ordering: .relaxed)
        return count
    }
}
