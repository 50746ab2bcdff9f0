import Dispatch
import Synchronization
import Worlds

/// The recordings of worlds that this daemon shares with others. Its exchanges are appended before the answer is sent;
/// reads use copies, which are refreshed on request.
final class SharedRecordings: Sendable {
    let mirrors: RecordingMirrors
    private let keeper: any RecordingKeeper
    private let limit: Int
    private let notices: Notices
    private let known = Mutex((bytes: 0, dropped: 0))

    /// `limit` is the number of bytes that all recordings together may have.
    init(_ keeper: any RecordingKeeper, limit: Int, notices: Notices) {
        self.keeper = keeper
        self.limit = limit
        self.notices = notices
        mirrors = RecordingMirrors(keeper, notices: notices)
    }

    /// The number of bytes of all recordings, and the number of exchanges dropped because of the limit, as of the last
    /// one appended.
    var usage: (bytes: Int, dropped: Int) { known.withLock { $0 } }

    /// Appends an exchange, which may wait. A failure is logged.
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
            notices.tell(
                .recordings,
                "all recordings together have reached \(limit) bytes: the oldest exchanges go (--recording-limit)")
        } catch {
            notices.tell(.stores, "an exchange can't be recorded: \(error.message)")
        }
    }
}

extension RecordingStore {
    /// Returns the recording of the world of this name.
    package func recording(of world: String) -> Recording {
        guard let shared else { return Recording(in: self) }
        return shared.mirrors.recording(of: world) { Recording(in: self, of: world) }
    }

    /// All recordings of all daemons that share the store, including those of worlds that this daemon doesn't hold;
    /// `nil` if recordings aren't shared.
    package var sharedRecordings: [Recording]? { shared?.mirrors.all }

    // MARK: - Searching

    /// Runs `find` on the store's queue, because it takes too long for a worker.
    package func search<Result: Sendable, Failure: Error>(
        _ find: @escaping @Sendable () throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try await queue.run(find)
    }

    /// Runs a search of some recordings. It sees all exchanges that any replica has answered before.
    package func search<Result: Sendable>(
        in recordings: [Recording], _ find: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await refresh(recordings)
        return try await search(find)
    }

    /// Runs a search of the recordings of all worlds and of gone worlds.
    package func searchAll<Result: Sendable>(
        _ find: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await update(all)
        return try await search(find)
    }

    /// Copies the exchanges that any replica has answered before.
    package func refresh(_ recordings: [Recording]) async throws(StoreFailure) {
        try await update(.worlds(recordings.map(\.world)))
    }

    /// Copies the exchanges of all worlds, and waits for it.
    package func refreshAll() throws(StoreFailure) { try ask(all) }

    /// Counts the exchanges of each world, and waits for it.
    package func refreshCounts() throws(StoreFailure) { try ask(.counts) }

    /// Empties the shared recordings of worlds whose name fits, and waits for it.
    package func clearShared(forgetting: Bool, where isMeant: (String) -> Bool) throws(StoreFailure) {
        try refreshCounts()
        try clearShared(shared?.mirrors.names.filter(isMeant) ?? [], forgetting: forgetting)
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

    /// Ends listening.
    package func close() { shared?.mirrors.close() }
}

/// A store of the recordings of worlds that several daemons share.
///
/// Exchanges get rising numbers, across all worlds and daemons; a reader who sees an exchange sees all with lower
/// numbers. Of each world, at least the last `Recording.countLimit` exchanges or `Recording.sizeLimit` bytes are kept,
/// and of all worlds together `--recording-limit`. The oldest are removed when a tenth more is there.
///
/// Its calls may wait for a few seconds at most, and then fail.
package protocol RecordingKeeper: Sendable {
    /// Appends an exchange, unless it is there already. `limit` is the number of bytes that all recordings together may
    /// have. Returns how many they have, and how many exchanges were dropped because of the limit; `nil` if the
    /// exchange was there.
    func append(_ exchange: AppendedExchange, limit: Int) throws(StoreFailure) -> (bytes: Int, dropped: Int)?

    /// Returns exchanges of worlds after the given numbers: as many as fit an answer, the lowest numbers first. Worlds
    /// without exchanges aren't in `worlds`.
    func read(_ worlds: [(name: String, after: Int)]) throws(StoreFailure) -> RecordingNews

    /// Returns the summaries of all worlds with exchanges.
    func summaries() throws(StoreFailure) -> [RecordingSummary]

    /// Empties the recordings of worlds. With `keepingRefusals`, their refusals stay among those of gone worlds: the
    /// last ones, within the limits of one world.
    func clear(_ worlds: [String], keepingRefusals: Bool) throws(StoreFailure)

    /// Returns the numbers of the refusals by gone worlds, the lowest first, and those of these exchanges that aren't
    /// in `known`.
    func refusedByGoneWorlds(
        known: Set<Int>
    ) throws(StoreFailure) -> (numbers: [Int], exchanges: [KeptExchange])

    func forgetGoneWorlds() throws(StoreFailure)
}

/// An exchange to append.
package struct AppendedExchange: Sendable {
    /// The ID, which no other exchange has, whichever daemon answered it.
    package let id: String
    package let world: String
    /// The number of bytes of memory, which counts for the limits.
    package let size: Int
    package let isRefused: Bool
    /// The exchange as `RecordedExchange.encoded`.
    package let bytes: [UInt8]
}

/// An exchange in the store.
package struct KeptExchange: Sendable {
    package let number: Int
    package let world: String
    package let bytes: [UInt8]
}

/// The numbers of a world's recording.
package struct RecordingSummary: Sendable {
    package let world: String
    /// The lowest number that is kept, or the last one when none is.
    package let first: Int
    /// The number of exchanges that are kept.
    package let count: Int
    /// The number of exchanges dropped because of others since the recording was last empty.
    package let dropped: Int
}

package struct RecordingNews: Sendable {
    package let worlds: [RecordingSummary]
    package let exchanges: [KeptExchange]
    /// Whether there are more exchanges of these worlds.
    package let hasMore: Bool
}

extension DispatchQueue {
    /// Runs `body` on the queue, without blocking the caller's thread.
    package func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result = await withCheckedContinuation { continuation in
            async { continuation.resume(returning: Result(catching: body)) }
        }
        return try result.get()
    }
}
