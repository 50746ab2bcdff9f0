import HTTPServer
import Synchronization

/// The last exchanges of a world, in the order in which they were answered.
package final class Recording: Sendable {
    package static let countLimit = 1_000
    /// Bytes.
    package static let sizeLimit = 16 << 20
    /// How many bytes of a body are kept.
    package static let bodyLimit = 256 << 10

    /// Called on the store's queue when there are new exchanges, or when the recording has been emptied.
    package typealias Listener = @Sendable () -> Void

    private struct Listeners {
        var all: [Int: Listener] = [:]
        var last = 0
    }

    package let store: RecordingStore
    private let log: Int
    private let index = Mutex(FlowIndex())
    private let listeners = Mutex(Listeners())
    private let chunks = Mutex<[String: Shared]>([:])
    private let hasListeners = Atomic<Bool>(false)
    private let isTelling = Atomic<Bool>(false)

    init(in store: RecordingStore) {
        self.store = store
        log = store.makeLog()
    }

    deinit { store.remove(log) }

    /// Adds an exchange, drops the oldest where there are too many, and calls the listeners on the store's queue.
    func add(_ exchange: RecordedExchange) {
        store.add(exchange, to: log)
        tellListeners()
    }

    private func tellListeners() {
        guard hasListeners.load(ordering: .acquiring), !isTelling.exchange(true, ordering: .acquiringAndReleasing)
        else {
            return
        }
        store.queue.async { [self] in
            isTelling.store(false, ordering: .releasing)
            for listener in listeners.withLock({ Array($0.all.values) }) { listener() }
        }
    }

    package var count: Int { store.count(of: log) }

    /// How many exchanges were dropped for others, of this world or another, since the recording was last empty.
    package var dropped: Int { store.dropped(of: log) }

    package var exchanges: [RecordedExchange] { store.exchanges(of: log).exchanges }

    /// Empties it; with `forgetting`, also of what it has refused, which otherwise stays among what worlds that are gone have
    /// refused.
    package func clear(forgetting: Bool) {
        store.clear(log, forgetting: forgetting)
        tellListeners()
    }

    /// At most `limit` exchanges from `position` on, with their flows, and the position of the first of them. An
    /// exchange's position is the number of exchanges before it. Exchanges that haven't been asked for before are
    /// searched, which takes a while: don't call it on a worker.
    package func known(
        from position: Int = 0, limit: Int = .max
    ) -> (first: Int, exchanges: [KnownExchange]) {
        index.withLock { index in
            let fresh = store.exchanges(of: log, from: index.end)
            index.drop(before: fresh.start)
            index.add(fresh.exchanges, from: fresh.first)
            // Exchanges that have come meanwhile are in the next call's result.
            let wanted = store.exchanges(of: log, from: position, limit: max(0, min(limit, index.end - position)))
            return (first: wanted.first, exchanges: wanted.exchanges.map { index.known($0) })
        }
    }

    // MARK: - Listening

    /// An event that streams share for as long as one of them sends it.
    private struct Shared {
        let flow: String
        let client: String?
        weak var chunk: StreamChunk?
    }

    /// The event of an exchange: one that another stream is sending, or a new one.
    package func shared(_ known: KnownExchange, make: () -> StreamChunk) -> StreamChunk {
        let there = chunks.withLock { chunks -> StreamChunk? in
            guard let shared = chunks[known.exchange.id], shared.flow == known.flow, shared.client == known.client
            else {
                return nil
            }
            return shared.chunk
        }
        if let there { return there }
        let made = make()
        chunks.withLock { chunks in
            if chunks.count >= Recording.countLimit { chunks = chunks.filter { $0.value.chunk != nil } }
            chunks[known.exchange.id] = Shared(flow: known.flow, client: known.client, chunk: made)
        }
        return made
    }

    package var isListenedTo: Bool { hasListeners.load(ordering: .relaxed) }

    /// Runs a search on the store's queue, because it takes too long for a worker.
    package func search<Result: Sendable>(_ find: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            store.queue.async { continuation.resume(returning: find()) }
        }
    }

    /// Calls `listener` when there are new exchanges, until `stopListening` with the number that is returned.
    package func listen(_ listener: @escaping Listener) -> Int {
        listeners.withLock { listeners in
            listeners.last += 1
            listeners.all[listeners.last] = listener
            hasListeners.store(true, ordering: .sequentiallyConsistent)
            return listeners.last
        }
    }

    package func stopListening(_ number: Int) {
        listeners.withLock { listeners in
            listeners.all[number] = nil
            if listeners.all.isEmpty { hasListeners.store(false, ordering: .sequentiallyConsistent) }
        }
    }
}
