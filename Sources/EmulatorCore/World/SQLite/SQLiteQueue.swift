import Dispatch
import Platform
import SQLite
import Synchronization
import Time

/// What was changed in memory and isn't in the file yet. A thread of its own writes it: all that has gathered meanwhile in one
/// transaction of SQLite's, for which so many answers wait.
///
/// Each change has a position, which counts up. A change, and whoever has seen it, waits until the file has got so far.
final class SQLiteQueue: UnwrittenChanges {
    struct Waiter {
        let position: Int
        let done: @Sendable (StoreFailure?) -> Void
    }

    struct State {
        /// Of the last change.
        var position = 0
        /// All up to this one are in the file, or have failed.
        var settled = 0
        var stores: [SQLiteStore] = []
        var removed: [SQLiteWorld] = []
        var texts: [(name: String, text: String)] = []
        var waiters: [Waiter] = []
        /// What couldn't be written, and why: what still waits must be told.
        var failed: [(positions: ClosedRange<Int>, failure: StoreFailure)] = []
        /// Up to this position, what failed isn't known any more.
        var forgotten = 0
        /// The numbers of the worlds that are in the file, by their names.
        var ids: [String: Int64] = [:]
        /// The largest that a world was given.
        var lastID: Int64 = 0
        var knownTexts: [String: String] = [:]
        /// The stores of worlds that haven't gone.
        var open: [String: Open] = [:]
        /// Why the last change couldn't be written; `nil` when it could.
        var failure: StoreFailure?
        var failingSince: Instant?
        /// Whether somebody finds out if the file can be written again.
        var isTried = false
        var isClosed = false
        /// Whether nothing is written any more.
        var hasEnded = false
    }

    /// A world holds its store.
    struct Open {
        weak var store: SQLiteStore?
    }

    static let failedLimit = 1_000

    let file: FileLock
    let state = Mutex(State())
    let wake = DispatchSemaphore(value: 0)
    let ended = DispatchSemaphore(value: 0)
    let settled = Atomic<Int>(0)
    let isFailing = Atomic<Bool>(false)
    /// Whether there were changes that couldn't be written.
    let hasFailed = Atomic<Bool>(false)
    /// How many worlds have to be read before they can be used.
    private let unread = Atomic<Int>(0)

    init(_ file: FileLock) throws(SQLiteError) {
        self.file = file
        var (ids, texts): ([String: Int64], [String: String]) = ([:], [:])
        try file.withLock { (file) throws(SQLiteError) in
            try file.statements.worlds.each { row in
                ids[row.text(0)] = row.integer(1)
                return true
            }
            try file.statements.texts.each { row in
                texts[row.text(0)] = row.text(1)
                return true
            }
        }
        state.withLock { ($0.ids, $0.knownTexts, $0.lastID) = (ids, texts, ids.values.max() ?? 0) }
        guard WorkThread.start(stack: 512 << 10, { [self] in run() }) else {
            throw SQLiteError(code: -1, message: "the system gives no thread", systemError: EAGAIN)
        }
    }

    // MARK: - What is known

    /// Whether a request may have to wait for the file before it can be answered.
    var waits: Bool { isFailing.load(ordering: .relaxed) || unread.load(ordering: .relaxed) > 0 }

    func noteUnread(_ count: Int) { unread.add(count, ordering: .relaxed) }

    var failure: (failure: StoreFailure, since: Instant)? {
        state.withLock { state in
            guard let failure = state.failure, let since = state.failingSince else { return nil }
            return (failure: failure, since: since)
        }
    }

    var names: [String] { state.withLock { $0.ids.sorted { $0.value < $1.value }.map(\.key) } }

    func id(of name: String) -> Int64? { state.withLock { $0.ids[name] } }

    func store(of name: String) -> SQLiteStore? { state.withLock { $0.open[name]?.store } }

    func open(_ store: SQLiteStore) { state.withLock { $0.open[store.name] = Open(store: store) } }

    /// Reads a world.
    func load(
        _ name: String
    ) throws(StoreFailure) -> (world: SQLiteWorld, rows: [String: [SharedTables.WrittenRow]], values: [String: [UInt8]])
    {
        try file.withLock { (file) throws(StoreFailure) in
            if state.withLock({ $0.hasEnded }) { throw StoreFailure(.gone, "the daemon has stopped") }
            let world = SQLiteWorld(name, id: id(of: name))
            do throws(SQLiteError) {
                let (rows, values) = try world.load(file)
                return (world, rows, values)
            } catch {
                // Whoever mends a damaged file needn't start the daemon again.
                file.database.releaseMemory()
                throw StoreFailure(error)
            }
        }
    }

    // MARK: - Changes

    /// A world has been changed, whose lock is held. Returns the change's position.
    func add(_ store: SQLiteStore, isNew: Bool) -> Int {
        change { state in if isNew { state.stores.append(store) } }
    }

    /// A world has gone.
    func remove(_ world: SQLiteWorld) -> Int {
        change { state in
            state.removed.append(world)
            (state.ids[world.name], state.open[world.name]) = (nil, nil)
        }
    }

    private func change(_ body: (inout State) -> Void) -> Int {
        let position = state.withLock { state in
            body(&state)
            state.position += 1
            return state.position
        }
        // A request's changes are written once it is done, all of them.
        if StoreCall.current == nil { wake.signal() }
        return position
    }

    /// Whoever asks has seen, or made, the change at this position.
    func note(_ position: Int) {
        if position > settled.load(ordering: .acquiring) { StoreCall.current?.note(position, of: self) }
    }

    func text(_ name: String) -> String? { state.withLock { $0.knownTexts[name] } }

    func text(_ name: String, orKeep text: String) throws(StoreFailure) -> String {
        let (known, position) = state.withLock { state in
            if let known = state.knownTexts[name] { return (known, 0) }
            state.knownTexts[name] = text
            state.texts.append((name: name, text: text))
            state.position += 1
            return (text, state.position)
        }
        if position > 0, let failure = waitUntilWritten(position) { throw failure }
        return known
    }

    // MARK: - Waiting

    func isWritten(_ position: Int) -> Bool {
        position <= settled.load(ordering: .acquiring) && !hasFailed.load(ordering: .relaxed)
    }

    /// Calls `done` once the change at this position is in the file, or can't be written.
    func whenWritten(_ position: Int, _ done: @escaping @Sendable (StoreFailure?) -> Void) {
        let failure = state.withLock { state -> StoreFailure?? in
            guard position > state.settled else { return .some(state.failure(of: position)) }
            if state.hasEnded { return .some(state.failure) }
            state.waiters.append(Waiter(position: position, done: done))
            return nil
        }
        if let failure { return done(failure) }
        wake.signal()
    }

    func waitUntilWritten(_ position: Int) -> StoreFailure? {
        let semaphore = DispatchSemaphore(value: 0)
        let outcome = Mutex<StoreFailure?>(nil)
        whenWritten(position) { failure in
            outcome.withLock { $0 = failure }
            semaphore.signal()
        }
        semaphore.wait()
        return outcome.withLock { $0 }
    }

    /// Waits until all that was changed before is in the file, or has failed.
    func flush() { _ = waitUntilWritten(state.withLock { $0.position }) }

    /// Writes what is left, and leaves the file to others.
    func close() {
        let isFirst = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        guard isFirst else { return }
        wake.signal()
        ended.wait()
    }
}
