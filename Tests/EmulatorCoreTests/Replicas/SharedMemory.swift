import Synchronization
import Time

@testable import EmulatorCore

/// Worlds in this process's memory that several registries share, each of which sees what others did only once it has refreshed: what
/// stores do that are shared by replicas, without a database.
final class SharedMemory: Sendable {
    /// A world at one version. Values are copied with it, so each replica can have its own.
    struct Contents: @unchecked Sendable {
        var id = 0
        var version = 0
        var tables: [String: [StoredRow]] = [:]
        var values: [String: any WorldValue] = [:]
        /// What each version since the first has changed.
        var changes: [StoreChange] = []
    }

    struct State {
        var worlds: [String: Contents] = [:]
        var uses: [String: Int] = [:]
        var texts: [String: String] = [:]
        var last = 0
        var failure: StoreFailure?
        var refreshes = 0
    }

    let state = Mutex(State())
    /// Seconds, for what is idle.
    let clock = Atomic<Int>(0)

    /// All replicas fail from now on; `nil` when they don't any more.
    func fail(_ failure: StoreFailure?) { state.withLock { $0.failure = failure } }

    var refreshes: Int { state.withLock { $0.refreshes } }

    /// What a replica has of it.
    func stores(replica: Int) -> SharedMemoryStores { SharedMemoryStores(self, replica) }
}

/// One replica's access.
final class SharedMemoryStores: WorldStores {
    let memory: SharedMemory
    let replica: Int
    let canFail = true
    let isShared = true

    init(_ memory: SharedMemory, _ replica: Int) {
        self.memory = memory
        self.replica = replica
    }

    var health: StoreHealth { StoreHealth(kind: "shared memory") }
    var sharedTexts: (any SharedTexts)? { self }
    var directory: (any WorldDirectory)? { self }

    func store(of world: String, seed: Seed) -> any Store { SharedMemoryStore(world, seed, in: memory) }

    private func working<Result>(
        _ body: (inout SharedMemory.State) -> Result
    ) throws(StoreFailure) -> Result {
        try memory.state.withLock { (state) throws(StoreFailure) in
            if let failure = state.failure { throw failure }
            return body(&state)
        }
    }
}

extension SharedMemoryStores: SharedTexts {
    func text(_ name: String) throws(StoreFailure) -> String? { try working { $0.texts[name] } }

    func text(_ name: String, orKeep text: String) throws(StoreFailure) -> String {
        try working { state in
            let kept = state.texts[name] ?? text
            state.texts[name] = kept
            return kept
        }
    }
}

extension SharedMemoryStores: WorldDirectory {
    private var now: Int { memory.clock.load(ordering: .relaxed) }

    func list() throws(StoreFailure) -> [(name: String, idle: Int)] {
        let now = now
        return try working { state in state.worlds.keys.map { ($0, now - (state.uses[$0] ?? 0)) } }
    }

    func has(_ name: String) throws(StoreFailure) -> Bool { try working { $0.worlds[name] != nil } }

    func count() throws(StoreFailure) -> Int { try working { $0.worlds.count } }

    func noteUse(of names: [String]) throws(StoreFailure) {
        let now = now
        try working { state in for name in names { state.uses[name] = now } }
    }

    func removeIdle(_ seconds: Int, atMost count: Int, but kept: String) throws(StoreFailure) -> [String] {
        let now = now
        return try working { state in
            let idle = state.worlds.keys.filter { $0 != kept && now - (state.uses[$0] ?? 0) >= seconds }
            let gone = idle.sorted { (state.uses[$0] ?? 0, $0) < (state.uses[$1] ?? 0, $1) }.prefix(count)
            for name in gone { state.worlds[name] = nil }
            return Array(gone)
        }
    }
}

/// One replica's access to one world: what it has read last, which is as old as its last refresh or update.
final class SharedMemoryStore: Store {
    private let name: String
    private let memory: SharedMemory
    private struct Held {
        var contents: SharedMemory.Contents
        var seed: Seed
        var listeners: [@Sendable (StoreChange) -> Void] = []
    }
    private let held: Mutex<Held>

    let lasts = true
    let isKept: Bool

    init(_ name: String, _ seed: Seed, in memory: SharedMemory) {
        self.name = name
        self.memory = memory
        let (contents, isKept) = memory.state.withLock { state -> (SharedMemory.Contents, Bool) in
            if let failure = state.failure { StoreCall.current?.note(failure) }
            if let known = state.worlds[name] { return (known, true) }
            state.last += 1
            var afresh = SharedMemoryStore.begun(seed)
            afresh.id = state.last
            if state.failure == nil {
                state.worlds[name] = afresh
                state.uses[name] = memory.clock.load(ordering: .relaxed)
            }
            return (afresh, false)
        }
        self.isKept = isKept
        held = Mutex(Held(contents: contents, seed: seed))
    }

    private static func begun(_ seed: Seed) -> SharedMemory.Contents {
        var contents = SharedMemory.Contents()
        contents.tables[Account.table.name] = seed.people.rows.map { Stored($0) }
        contents.values[WorldClock.name] = WorldClock(seed)
        contents.values[RandomSource.name] = RandomSource(seed)
        return contents
    }

    func read<Result: Sendable, Failure: Error>(
        _ body: (borrowing Snapshot) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let failure = memory.state.withLock { $0.failure }
        if let failure { StoreCall.current?.note(failure) }
        let tables = held.withLock { SharedMemoryTables(failure == nil ? $0.contents : .init(), $0.seed) }
        return try body(Snapshot(tables: tables))
    }

    func update<Result: Sendable, Failure: Error>(
        _ body: (inout Transaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let seed = held.withLock { $0.seed }
        let (result, changes) = try memory.state.withLock {
            (state) throws(Failure) -> (Result, [StoreChange]) in
            let known = state.worlds[name]
            let mine = held.withLock { $0.contents }
            let failure = state.failure ?? (known?.id == mine.id ? nil : StoreFailure(.gone, "the world was deleted"))
            if let failure { StoreCall.current?.note(failure) }
            let tables = SharedMemoryTables(failure == nil ? known ?? mine : .init(), seed)
            var transaction = Transaction(tables: tables)
            let result = try body(&transaction)
            guard failure == nil, !tables.changed.isEmpty else { return (result, []) }
            tables.contents.version += 1
            tables.contents.changes.append(StoreChange(names: tables.changed))
            state.worlds[name] = tables.contents
            let others = (known?.changes ?? []).dropFirst(mine.version)
            held.withLock { $0.contents = tables.contents }
            return (result, Array(others))
        }
        tell(changes)
        return result
    }

    func reset(to seed: Seed, putting: (inout Transaction) -> Void, also: () -> Void) {
        let tables = SharedMemoryTables(SharedMemoryStore.begun(seed), seed)
        var transaction = Transaction(tables: tables)
        putting(&transaction)
        let failure = memory.state.withLock { state -> StoreFailure? in
            guard state.failure == nil, let known = state.worlds[name] else {
                return state.failure ?? StoreFailure(.gone, "the world was deleted")
            }
            (tables.contents.id, tables.contents.version) = (known.id, known.version + 1)
            tables.contents.changes = known.changes + [StoreChange(names: [], isReset: true)]
            state.worlds[name] = tables.contents
            held.withLock { ($0.contents, $0.seed) = (tables.contents, seed) }
            also()
            return nil
        }
        if let failure { StoreCall.current?.note(failure) }
    }

    func adopt(_ seed: Seed) { held.withLock { $0.seed = seed } }

    func resume(_ seed: Seed, rows: Seed) { held.withLock { $0.seed = seed } }

    func remove() {
        let failure = memory.state.withLock { state in
            if state.failure == nil { state.worlds[name] = nil }
            return state.failure
        }
        if let failure { StoreCall.current?.note(failure) }
    }

    func refresh() -> StoreNews {
        let (news, changes, failure) = memory.state.withLock { state -> (StoreNews, [StoreChange], StoreFailure?) in
            state.refreshes += 1
            if let failure = state.failure { return (.same, [], failure) }
            return held.withLock { held in
                guard let known = state.worlds[name], known.id == held.contents.id else { return (.gone, [], nil) }
                let changes = known.changes.dropFirst(held.contents.version)
                held.contents = known
                return (changes.isEmpty ? .same : .changed, Array(changes), nil)
            }
        }
        if let failure { StoreCall.current?.note(failure) }
        tell(changes)
        return news
    }

    private func tell(_ changes: [StoreChange]) {
        let listeners = held.withLock { $0.listeners }
        for change in changes { for listener in listeners { listener(change) } }
    }

    func whenOthersChange(_ body: @escaping @Sendable (StoreChange) -> Void) {
        held.withLock { $0.listeners.append(body) }
    }
}
