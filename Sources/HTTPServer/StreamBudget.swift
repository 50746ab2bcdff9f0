import Synchronization

/// Bytes to be sent on streams. Several streams can share a chunk, so that its bytes are in memory once.
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

/// Limits the memory for slow readers of all streams of a process.
package final class StreamBudget: Sendable {
    /// The most bytes that may wait for readers.
    package let limit: Int
    private let held = Atomic<Int>(0)
    private let ended = Atomic<Int>(0)
    private let streams = Mutex<[ObjectIdentifier: Entry]>([:])

    private struct Entry {
        weak var stream: EventStream?
    }

    package init(limit: Int = 16 << 20) { self.limit = limit }

    /// The bytes that wait for readers. A chunk counts once, even if several streams send it.
    package var bytes: Int { held.load(ordering: .relaxed) }

    /// The number of streams that were ended because their readers were the slowest.
    package var dropped: Int { ended.load(ordering: .relaxed) }

    fileprivate func change(by count: Int) { held.wrappingAdd(count, ordering: .relaxed) }

    /// Adds a stream, until its connection is closed.
    package func add(_ stream: EventStream) {
        let id = ObjectIdentifier(stream)
        streams.withLock { $0[id] = Entry(stream: stream) }
        stream.whenClosed { [weak self] in self?.streams.withLock { $0[id] = nil } }
    }

    /// Ends the streams of the slowest readers until the others are within the limit, and returns their number.
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
