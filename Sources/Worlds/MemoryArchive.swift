import Synchronization

/// An archive of test worlds in this process's memory, for tests and for `--store checked`.
///
/// In tests, daemons of one process share the worlds of one `Memory`. With `--store checked`, the archive refuses each
/// change once, as if another daemon had changed the world at the same time, so that closures that can't run twice are
/// noticed. It also reads each change back before the next change, so that rows that can't be stored are noticed.
package final class MemoryArchive: Archive {
    /// The stored test worlds of a `MemoryArchive`, in this process's memory.
    package final class Memory: Sendable {
        struct State {
            var worlds: [String: World] = [:]
            var texts: [String: String] = [:]
            var lastID: Int64 = 0
            /// The failure that all calls of the archive throw in a test; `nil` when they work.
            var failure: StoreFailure?
            /// The number of times that daemons have asked for the changes that other daemons have made in a test
            /// world.
            var refreshes = 0
        }

        let state = Mutex(State())
        /// The present time in seconds, by which the archive finds test worlds that haven't been used for long.
        let clock = Atomic<Int>(0)

        package init() {}
    }

    struct World {
        let id: Int64
        var beginning: Int64 = 1
        var rows: [String: [String: ArchivedRow]] = [:]
        var values: [String: ArchivedValue] = [:]
        var version: Int64 = 1
        /// The changes of a test world since its version 1. With `--store checked`, only the last change is kept.
        var changes: [ArchivedChange] = []
        var lastUse: Int

        mutating func make(_ change: WorldChange, keepingAll: Bool) {
            version += 1
            if change.isReset { (rows, values, beginning) = ([:], [:], version) }
            for row in change.rows { rows[row.table, default: [:]][row.key] = row.kind == nil ? nil : row }
            for value in change.values { values[value.name] = value }
            if !keepingAll { changes = [] }
            changes.append(ArchivedChange(version: version, before: version - 1, change: change))
        }
    }

    let memory: Memory
    private let isChecked: Bool
    package let replica: Int

    package init(isChecked: Bool) {
        memory = Memory()
        self.isChecked = isChecked
        replica = 0
    }

    /// Makes an archive for one of the daemons that share the test worlds in `memory`.
    package init(sharing memory: Memory, replica: Int) {
        self.memory = memory
        isChecked = false
        self.replica = replica
    }

    package var isShared: Bool { replica > 0 }

    package var health: StoreHealth {
        var health = StoreHealth(kind: "memory")
        health.failure = memory.state.withLock { $0.failure }
        return health
    }

    private func use<Value>(
        _ body: (inout Memory.State) throws(StoreFailure) -> Value
    ) throws(StoreFailure) -> Value {
        try memory.state.withLock { (state) throws(StoreFailure) in
            if let failure = state.failure { throw failure }
            return try body(&state)
        }
    }

    package func worlds() throws(StoreFailure) -> [String] {
        try use { $0.worlds.sorted { $0.value.id < $1.value.id }.map(\.key) }
    }

    package func load(
        _ world: String, beginning: (() throws(StoreFailure) -> [ArchivedValue])?
    ) throws(StoreFailure) -> ArchivedWorld? {
        let values = try beginning?()
        return try use { state throws(StoreFailure) in
            let known = state.worlds[world]
            guard known != nil || values != nil else { return nil }
            var made = World(id: state.lastID + 1, lastUse: memory.clock.load(ordering: .relaxed))
            for value in values ?? [] { made.values[value.name] = value }
            if known == nil { (state.worlds[world], state.lastID) = (made, made.id) }
            let found = known ?? made
            return ArchivedWorld(
                id: found.id, version: found.version, beginning: found.beginning,
                rows: found.rows.values.flatMap(\.values).sorted { $0.place < $1.place },
                values: Array(found.values.values), wasThere: known != nil)
        }
    }

    package func news(of world: Int64, after version: Int64) throws(StoreFailure) -> ArchiveNews {
        try use { state throws(StoreFailure) in
            state.refreshes += 1
            guard let found = state.worlds.values.first(where: { $0.id == world }) else { return .removed }
            guard found.version > version else { return .none }
            return .changes(Array(found.changes[Int(version - 1)...]), isAll: true)
        }
    }

    package func commit(
        to world: Int64, after version: Int64, isLocking: Bool,
        _ make: ([ArchivedChange]) throws(StoreFailure) -> WorldChange?
    ) throws(StoreFailure) -> CommitOutcome {
        try use { state throws(StoreFailure) in
            guard
                let (name, current) = state.worlds.first(where: { $0.value.id == world }).map({
                    ($0.key, $0.value.version)
                })
            else { return .removed }
            guard isLocking || current == version && !isChecked else {
                guard try make([]) != nil else { return .unchanged }
                return .conflict
            }
            let news: [ArchivedChange]
            if isChecked {
                // Read the last change back, as if it had led to the version that the world has.
                news = (state.worlds[name]?.changes ?? []).map {
                    ArchivedChange(version: version, before: version, change: $0.change)
                }
            } else {
                news = Array(state.worlds[name]?.changes[Int(version - 1)...] ?? [])
            }
            guard let change = try make(news) else { return .unchanged }
            state.worlds[name]?.make(change, keepingAll: !isChecked)
            return .committed(version: current + 1)
        }
    }

    package func remove(_ world: Int64) throws(StoreFailure) -> Bool {
        try use { state throws(StoreFailure) in
            guard let name = state.worlds.first(where: { $0.value.id == world })?.key else { return false }
            state.worlds[name] = nil
            return true
        }
    }

    package func close() {}

    // MARK: - Texts

    package func text(_ name: String) throws(StoreFailure) -> String? { try use { $0.texts[name] } }

    package func text(_ name: String, orKeep text: String) throws(StoreFailure) -> String {
        try use { state throws(StoreFailure) in
            let kept = state.texts[name] ?? text
            state.texts[name] = kept
            return kept
        }
    }

    package var directory: (any WorldDirectory)? { isShared ? self : nil }
}

extension MemoryArchive: WorldDirectory {
    private var now: Int { memory.clock.load(ordering: .relaxed) }

    package func list() throws(StoreFailure) -> [(name: String, idle: Int)] {
        let now = now
        return try use { $0.worlds.map { (name: $0.key, idle: now - $0.value.lastUse) } }
    }

    package func has(_ name: String) throws(StoreFailure) -> Bool { try use { $0.worlds[name] != nil } }

    package func count() throws(StoreFailure) -> Int { try use { $0.worlds.count } }

    package func recordUse(of names: [String]) throws(StoreFailure) {
        let now = now
        try use { state throws(StoreFailure) in for name in names { state.worlds[name]?.lastUse = now } }
    }

    package func removeIdle(_ seconds: Int, atMost count: Int, but kept: String) throws(StoreFailure) -> [String] {
        let now = now
        return try use { state throws(StoreFailure) in
            let idle = state.worlds.filter { $0.key != kept && now - $0.value.lastUse >= seconds }
            let gone = idle.sorted { ($0.value.lastUse, $0.key) < ($1.value.lastUse, $1.key) }.prefix(count).map(\.key)
            for name in gone { state.worlds[name] = nil }
            return gone
        }
    }
}
