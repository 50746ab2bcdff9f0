import HTTPServer
import Synchronization
import Worlds

/// The last exchanges of a world, in the order in which they were answered.
package final class Recording: Sendable {
    package static let countLimit = 1_000
    /// The number of bytes that a world's recording may have.
    package static let sizeLimit = 16 << 20
    /// The number of bytes that are kept of a body.
    package static let bodyLimit = 256 << 10

    /// A closure that is called on the store's queue after new exchanges, and when the recording was emptied.
    package typealias Listener = @Sendable () -> Void

    package let store: RecordingStore
    /// The world's name; empty where the recording isn't shared.
    package let world: String
    private let log: Int
    /// The state of the copy, for a shared recording.
    private let copied = Mutex(Copied())

    private struct Copied {
        /// The number of the last exchange that was copied.
        var reached = 0
        /// The number of exchanges since the recording was last empty.
        var total = 0
    }
    private let index = Mutex(FlowIndex())
    private let listeners: Listeners
    private let chunks = Mutex<[String: Shared]>([:])

    init(in store: RecordingStore, of world: String = "") {
        self.store = store
        self.world = world
        log = store.makeLog()
        listeners = Listeners(on: store.queue)
    }

    deinit { store.remove(log) }

    /// Adds an exchange, drops the oldest if there are too many, and calls the listeners on the store's queue.
    package func add(_ exchange: RecordedExchange) {
        if let shared = store.shared { return shared.append(exchange) }
        store.add(exchange, to: log)
        listeners.tell()
    }

    /// The number of exchanges that are kept; for a shared recording, as of the last time that it was read.
    package var count: Int {
        guard let shared = store.shared else { return store.count(of: log) }
        return min(shared.mirrors.summary(of: world)?.count ?? 0, Recording.countLimit)
    }

    /// The number of exchanges that were dropped because of others, of this world or another, since the recording was
    /// last empty.
    package var dropped: Int {
        guard store.shared != nil else { return store.dropped(of: log) }
        return max(0, copied.withLock { $0.total } - store.count(of: log))
    }

    package var exchanges: [RecordedExchange] { store.exchanges(of: log).exchanges }

    /// Empties the recording. With `forgetting`, its refusals go, too; otherwise they stay among those of gone worlds.
    /// A shared recording is emptied for all replicas, and this waits for it.
    package func clear(forgetting: Bool) throws(StoreFailure) {
        guard store.shared == nil else { return try store.clearShared([world], forgetting: forgetting) }
        store.clear(log, forgetting: forgetting)
        listeners.tell()
    }

    /// Empties the recording unless it is shared, because then the replica that resets the world empties it for all.
    package func clearUnshared() {
        guard store.shared == nil else { return }
        store.clear(log, forgetting: false)
        listeners.tell()
    }

    // MARK: - Shared

    /// Whether other daemons add exchanges to the recording, too.
    package var isShared: Bool { store.shared != nil }

    /// Copies the exchanges that any replica has answered before.
    package func refresh() async throws(StoreFailure) { try await store.refresh([self]) }

    /// The number of the last exchange that was copied.
    var reached: Int { copied.withLock { $0.reached } }

    /// Adds exchanges that replicas have recorded, and drops those that aren't kept any more. `summary` is `nil` when
    /// none are kept.
    func copy(_ kept: [KeptExchange], _ summary: RecordingSummary?) {
        let isEmptied = store.drop(before: summary?.first ?? .max, from: log)
        let exchanges = kept.compactMap { kept in
            let exchange = RecordedExchange.decoded(kept.bytes)
            exchange?.order = kept.number
            return exchange
        }
        for exchange in exchanges { store.copy(exchange, to: log) }
        copied.withLock { copied in
            copied.reached = max(copied.reached, kept.last?.number ?? 0)
            copied.total = summary.map { $0.count + $0.dropped } ?? 0
        }
        if isEmptied || !exchanges.isEmpty { listeners.tell() }
    }

    /// Returns at most `limit` exchanges from `position` on, with their flows, and the position of the first of them.
    /// An exchange's position is the number of exchanges before it. Exchanges that haven't been read before are
    /// searched, which takes a while: don't call it on a worker.
    package func known(
        from position: Int = 0, limit: Int = .max
    ) -> (first: Int, exchanges: [KnownExchange]) {
        index.withLock { index in
            let fresh = store.exchanges(of: log, from: index.end)
            index.drop(before: fresh.start)
            index.add(fresh.exchanges, from: fresh.first)
            // Exchanges that were added meanwhile are in the next call's result.
            let wanted = store.exchanges(of: log, from: position, limit: max(0, min(limit, index.end - position)))
            return (first: wanted.first, exchanges: wanted.exchanges.map { index.known($0) })
        }
    }

    // MARK: - Listening

    /// An event that streams share while one of them sends it.
    private struct Shared {
        let flow: String
        let client: String?
        weak var chunk: StreamChunk?
    }

    /// Returns the event of an exchange: one that another stream is sending, or a new one.
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

    package var isListenedTo: Bool { listeners.isListenedTo }

    /// Runs a search of this recording on the store's queue, because it takes too long for a worker. It sees all
    /// exchanges that any replica has answered before.
    package func search<Result: Sendable>(
        _ find: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await store.search(in: [self], find)
    }

    /// Calls `listener` after new exchanges, until `stopListening` is called with the number that this returns.
    package func listen(_ listener: @escaping Listener) -> Int {
        store.shared?.mirrors.listen(to: world, isBeginning: true)
        return listeners.listen(listener)
    }

    package func stopListening(_ number: Int) {
        store.shared?.mirrors.listen(to: world, isBeginning: false)
        listeners.stopListening(number)
    }
}
