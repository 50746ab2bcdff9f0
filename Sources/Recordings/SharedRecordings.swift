import Dispatch
import Synchronization
import Worlds

/// The recorded requests of all test worlds, in a database that several daemons share. A request is recorded before its
/// answer is sent; if that fails, the failure is logged. Reads use copies in memory, which are refreshed on demand.
final class SharedRecordings: Sendable {
    let mirrors: RecordingMirrors
    private let keeper: any RecordingKeeper
    private let limit: Int
    private let notices: Notices
    private let known = Mutex((bytes: 0, dropped: 0))

    /// Makes shared recordings. `limit` is the most bytes that the recordings of all test worlds together may have.
    init(_ keeper: any RecordingKeeper, limit: Int, notices: Notices) {
        self.keeper = keeper
        self.limit = limit
        self.notices = notices
        mirrors = RecordingMirrors(keeper, notices: notices)
    }

    /// The size of all recorded requests in bytes, and the number of requests that were dropped because of the size
    /// limit. Both are as of this daemon's last recorded request.
    var usage: (bytes: Int, dropped: Int) { known.withLock { $0 } }

    /// Adds a request and its answer to the shared recording. This may wait for the database. A failure is logged.
    func append(_ exchange: RecordedExchange) {
        let entry = AppendedExchange(
            id: exchange.id, world: exchange.world, size: exchange.size, isRefused: exchange.diagnosis != nil,
            bytes: exchange.encoded)
        do throws(StoreFailure) {
            guard let usage = try keeper.append(entry, limit: limit) else { return }
            let before = known.withLock { known in
                defer { known = usage }
                return known.dropped
            }
            guard usage.dropped > before else { return }
            notices.warnOncePerMinute(
                .recordings,
                "the recorded requests have reached \(limit) bytes: the oldest are removed (see --recording-limit)")
        } catch {
            notices.warnOncePerMinute(.stores, "a request can't be recorded: \(error.message)")
        }
    }
}

extension RecordingStore {
    package func recording(of world: String) -> Recording {
        guard let shared else { return Recording(in: self) }
        return shared.mirrors.recording(of: world) { Recording(in: self, of: world) }
    }

    /// The recordings of all daemons that share the database, including those of test worlds that this daemon hasn't
    /// loaded; `nil` if recordings aren't shared.
    package var sharedRecordings: [Recording]? { shared?.mirrors.all }

    // MARK: - Searching

    /// Runs a search of some test worlds' recordings. The search sees all requests that any daemon answered before this
    /// call.
    package func search<Result: Sendable>(
        in recordings: [Recording], _ find: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await refresh(recordings)
        return try await (recordings.count == 1 ? recordings[0].queue : queue).run(find)
    }

    /// Runs a search of the recordings of all test worlds, and of the refused requests of worlds that no longer exist.
    package func searchAll<Result: Sendable>(
        _ find: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await update(all)
        return try await queue.run(find)
    }

    /// Copies the requests in these recordings from the shared database, including all that any daemon answered before
    /// this call.
    package func refresh(_ recordings: [Recording]) async throws(StoreFailure) {
        try await update(.worlds(recordings.map(\.world)))
    }

    /// Copies the recorded requests of all test worlds from the shared database, and waits until that is done.
    package func refreshAll() throws(StoreFailure) { try ask(all) }

    /// Counts the recorded requests of each test world in the shared database, and waits until that is done.
    package func refreshCounts() throws(StoreFailure) { try ask(.counts) }

    /// Deletes the recorded requests of the test worlds for whose names `isMeant` is true, and waits until that is
    /// done. `held` are the recordings of the worlds that this daemon holds in memory.
    package func clear(
        _ held: [(world: String, recording: Recording)], where isMeant: (String) -> Bool
    ) throws(StoreFailure) {
        guard let shared else {
            for (world, recording) in held where isMeant(world) { try recording.clear(forgetting: true) }
            return
        }
        try refreshCounts()
        try clearShared(shared.mirrors.names.filter(isMeant), forgetting: true)
    }

    /// Returns whether `first` was answered before `second`.
    package func isBefore(_ first: RecordedExchange, _ second: RecordedExchange) -> Bool {
        shared == nil ? first.order < second.order : first.answered < second.answered
    }

    package func clearShared(_ worlds: [String], forgetting: Bool) throws(StoreFailure) {
        try ask(.clear(worlds, keepingRefusals: keepsRefusals && !forgetting))
    }

    private var all: RecordingMirrors.Question { .all { [self] in Recording(in: self, of: $0) } }

    private func update(_ question: RecordingMirrors.Question) async throws(StoreFailure) {
        guard let shared else { return }
        let failure = await withCheckedContinuation { continuation in
            shared.mirrors.ask(question) { continuation.resume(returning: $0) }
        }
        if let failure { throw failure }
    }

    func ask(_ question: RecordingMirrors.Question) throws(StoreFailure) {
        if let failure = shared?.mirrors.wait(question) { throw failure }
    }

    /// Ends listening to the shared database for new recorded requests.
    package func close() { shared?.mirrors.close() }
}

/// A store of recorded requests and their answers (exchanges), which several daemons share, for example a database.
///
/// Exchanges get rising numbers, across all worlds and daemons; a reader who sees an exchange sees all with lower
/// numbers. When the exchanges of a world exceed `Recording.countLimit` or `Recording.sizeLimit` by more than a tenth,
/// the oldest are removed until both limits are kept. The exchanges of all worlds together are limited in the same way
/// to `--recording-limit` bytes.
///
/// The store's calls may wait for a few seconds at most, and then fail.
package protocol RecordingKeeper: Sendable {
    /// Appends a recorded request with its answer to the shared store. `limit` is the most bytes that all recordings
    /// together may have. Returns how many bytes they have, and how many requests were dropped because of the limit.
    /// Returns `nil` if the store already has the request.
    func append(_ exchange: AppendedExchange, limit: Int) throws(StoreFailure) -> (bytes: Int, dropped: Int)?

    /// Returns, for each test world, the recorded requests with numbers above `after`, the lowest numbers first. If
    /// there are too many for one result, its `hasMore` is true. Worlds without recorded requests aren't in the
    /// result's `worlds`.
    func read(_ worlds: [(name: String, after: Int)]) throws(StoreFailure) -> RecordingNews

    /// Returns a summary of the recording of each test world that has recorded exchanges.
    func summaries() throws(StoreFailure) -> [RecordingSummary]

    /// Empties the recordings of these test worlds. If `keepingRefusals` is true, the refused requests move to a
    /// separate list. This list keeps the newest, within the limits of one world's recording.
    func clear(_ worlds: [String], keepingRefusals: Bool) throws(StoreFailure)

    /// Finds the refused requests whose test worlds no longer exist. Returns the numbers that identify all of these
    /// requests, the lowest first, and the requests whose numbers aren't in `known`.
    func refusedByGoneWorlds(
        known: Set<Int>
    ) throws(StoreFailure) -> (numbers: [Int], exchanges: [KeptExchange])

    func forgetGoneWorlds() throws(StoreFailure)
}

/// A recorded request and its answer, to be appended to the shared store.
package struct AppendedExchange: Sendable {
    /// The ID of a recorded request. It is unique among the requests of all daemons.
    package let id: String
    package let world: String
    /// The size of the recorded request and its answer, in bytes, which counts toward the limits for recordings.
    package let size: Int
    package let isRefused: Bool
    /// The recorded exchange as JSON, in the form of `RecordedExchange.encoded`.
    package let bytes: [UInt8]
}

/// A recorded request and its answer, as the shared store keeps them.
package struct KeptExchange: Sendable {
    package let number: Int
    package let world: String
    package let bytes: [UInt8]
}

/// A summary of a test world's recording: a number below which it has no requests, how many requests are kept, and how
/// many were dropped.
package struct RecordingSummary: Sendable {
    package let world: String
    /// The store has no recorded exchange of the test world with a lower number than this.
    package let first: Int
    /// The number of requests in the test world's recording, without those that were dropped.
    package let count: Int
    /// The number of requests that were dropped to make room for others since the recording was last empty.
    package let dropped: Int
}

package struct RecordingNews: Sendable {
    package let worlds: [RecordingSummary]
    package let exchanges: [KeptExchange]
    /// Whether the store may have more recorded exchanges of the requested test worlds than this result contains.
    package let hasMore: Bool
}

extension DispatchQueue {
    /// Runs `body` on this dispatch queue, without blocking the caller's thread.
    package func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result = await withCheckedContinuation { continuation in
            async { continuation.resume(returning: Result(catching: body)) }
        }
        return try result.get()
    }
}
