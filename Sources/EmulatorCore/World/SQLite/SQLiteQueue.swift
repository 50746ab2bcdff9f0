import Platform
import SQLite
import Synchronization
import Time

/// What was changed in the worlds of a file and isn't in it yet, and what is known of the file without asking it.
final class SQLiteQueue: Sendable {
    /// What is to be written.
    enum Work {
        /// A world has been changed.
        case change(SQLiteStore)
        /// A world has gone.
        case remove(SQLiteWorld)
        case keep(name: String, text: String)
    }

    struct State {
        /// The numbers of the worlds that are in the file, by their names.
        var ids: [String: Int64] = [:]
        /// The largest that a world was given.
        var lastID: Int64 = 0
        /// Worlds that have gone, and are still in the file. What removes each holds it.
        var removed: Set<ObjectIdentifier> = []
        var texts: [String: String] = [:]
        /// The stores of worlds that haven't gone.
        var open: [String: Open] = [:]
        /// Why the last change couldn't be written; `nil` when it could.
        var failure: StoreFailure?
        var failingSince: Instant?
        /// Whether somebody finds out if the file can be written again.
        var isTried = false
        var hasEnded = false
    }

    /// A world holds its store.
    struct Open {
        weak var store: SQLiteStore?
    }

    let file: FileLock
    let changes = WriteQueue<Work>()
    let state = Mutex(State())
    let isFailing = Atomic<Bool>(false)
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
        state.withLock { ($0.ids, $0.texts, $0.lastID) = (ids, texts, ids.values.max() ?? 0) }
        guard changes.begin(self) else {
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

    /// A world has gone. Returns the change's position.
    func remove(_ world: SQLiteWorld) -> Int {
        state.withLock { state in
            state.removed.insert(ObjectIdentifier(world))
            (state.ids[world.name], state.open[world.name]) = (nil, nil)
        }
        return changes.add(.remove(world))
    }

    func text(_ name: String) -> String? { state.withLock { $0.texts[name] } }

    func text(_ name: String, orKeep text: String) throws(StoreFailure) -> String {
        let known = state.withLock { state in
            defer { if state.texts[name] == nil { state.texts[name] = text } }
            return state.texts[name]
        }
        if let known { return known }
        if let failure = changes.waitUntilWritten(changes.add(.keep(name: name, text: text))) { throw failure }
        return text
    }
}
