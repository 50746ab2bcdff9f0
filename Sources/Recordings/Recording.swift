import Dispatch
import HTTPServer
import Synchronization
import Worlds

/// The recording of a test world: its last requests with their answers (exchanges), in the sequence in which they were
/// answered.
package final class Recording: Sendable {
    package static let countLimit = 1_000
    /// The most bytes that the recorded requests of one test world may have.
    package static let sizeLimit = 16 << 20
    /// The most bytes that are recorded of the body of a request or an answer.
    package static let bodyLimit = 256 << 10

    /// A closure that is called on the recording's queue after new requests were recorded, and when the recording was
    /// emptied.
    package typealias Listener = @Sendable () -> Void

    package let store: RecordingStore
    /// The queue on which this recording is searched and its listeners are called, so that the server's worker threads
    /// needn't do it. One test world's search delays no other world.
    package let queue = DispatchQueue(label: "understudy.recording")
    /// The name of the recorded test world; empty if the recording isn't shared with other daemons.
    package let world: String
    private let log: Int
    /// The state of this process's copy of a recording that is shared with other daemons.
    private let copied = Mutex(Copied())

    private struct Copied {
        /// The number of the newest recorded request that was copied from the shared database.
        var reached = 0
        /// The number of requests that were recorded since the recording was last empty.
        var total = 0
    }
    private let index = Mutex(FlowIndex())
    private let listeners: Listeners
    private let chunks = Mutex<[String: Shared]>([:])

    init(in store: RecordingStore, of world: String = "") {
        self.store = store
        self.world = world
        log = store.makeLog()
        listeners = Listeners(on: queue)
    }

    deinit { store.remove(log) }

    /// Adds a request and its answer to the recording, drops the oldest if there are too many, and calls the listeners
    /// on the recording's queue. If the recording is shared with other daemons, the listeners are called only when the
    /// request has been read from the database.
    package func add(_ exchange: RecordedExchange) {
        if let shared = store.shared { return shared.append(exchange) }
        store.add(exchange, to: log)
        listeners.notify()
    }

    /// The number of requests in the recording; if it is shared with other daemons, the number when the requests of all
    /// test worlds were last counted.
    package var count: Int {
        guard let shared = store.shared else { return store.count(of: log) }
        return min(shared.mirrors.summary(of: world)?.count ?? 0, Recording.countLimit)
    }

    /// The number of requests that were dropped from this recording since it was last empty, to make room for new
    /// requests of any test world.
    package var dropped: Int {
        guard store.shared != nil else { return store.dropped(of: log) }
        return max(0, copied.withLock { $0.total } - store.count(of: log))
    }

    package var exchanges: [RecordedExchange] { store.exchanges(of: log).exchanges }

    /// Removes all requests from the recording of a test world, for all daemons that share the recording. If
    /// `forgetting` is true, all of them are deleted. If it is false, a store that keeps refused requests moves the
    /// refused ones to a separate list, and deletes the others.
    package func clear(forgetting: Bool) throws(StoreFailure) {
        guard store.shared == nil else { return try store.clearShared([world], forgetting: forgetting) }
        store.clear(log, forgetting: forgetting)
        listeners.notify()
    }

    /// Empties the recording unless it is shared with other daemons. A shared recording is emptied by the daemon that
    /// resets the test world.
    package func clearUnshared() {
        guard store.shared == nil else { return }
        store.clear(log, forgetting: false)
        listeners.notify()
    }

    // MARK: - Shared

    /// Empties the recording if it is shared with other daemons. Call this without a lock, because it waits for the
    /// database.
    package func clearShared() throws(StoreFailure) {
        if store.shared != nil { try clear(forgetting: false) }
    }

    /// Copies from the database the requests that any daemon has recorded so far.
    package func refresh() async throws(StoreFailure) { try await store.refresh([self]) }

    var reached: Int { copied.withLock { $0.reached } }

    /// Adds requests that were read from the shared database to this process's copy, and drops requests that the
    /// database no longer has. `summary` is `nil` if the database has no requests of this test world.
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
        if isEmptied || !exchanges.isEmpty { listeners.notify() }
    }

    /// Returns at most `limit` recorded requests, beginning at `position`, each with its answer and its sign-in, and
    /// the position of the first returned request. A request's position is the number of requests recorded before it.
    /// The first reading of a request takes a while, so don't call this on a server's worker thread.
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

    /// An event about a recorded request. Event streams that send it at the same time share its bytes, `chunk`.
    private struct Shared {
        let flow: String
        let client: String?
        weak var chunk: StreamChunk?
    }

    /// Returns the event that tells event streams about a recorded request. If a stream is sending this event at
    /// present, the same object is returned; otherwise `make` makes the event.
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

    /// Runs a search of this recording on its own queue, because it takes too long for a server's worker thread.
    /// The search sees all requests that any daemon answered before this call.
    package func search<Result: Sendable>(
        _ find: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await store.search(in: [self], find)
    }

    /// Calls `listener` after new requests were recorded, until `stopListening` is called with the number that this
    /// returns.
    package func listen(_ listener: @escaping Listener) -> Int {
        store.shared?.mirrors.listen(to: world, isBeginning: true)
        return listeners.listen(listener)
    }

    package func stopListening(_ number: Int) {
        store.shared?.mirrors.listen(to: world, isBeginning: false)
        listeners.stopListening(number)
    }
}
