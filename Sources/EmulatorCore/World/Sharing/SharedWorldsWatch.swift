import Platform

/// Looks after worlds that are shared, on a thread of its own for as long as their registry is there: sees what others do in worlds
/// that somebody listens to, tells the others which worlds are in use here, and lets those go that nobody uses.
struct SharedWorldsWatch {
    /// Seconds between two notes of what is in use here.
    private static let noteInterval = 30
    /// A world may have been used so many seconds after others were told of its last use.
    static let delay = 3 * noteInterval
    /// Microseconds between two looks at worlds that somebody listens to.
    private static let pause: UInt32 = 100_000

    private let began: Int
    private var noted: Int

    private init(_ registry: WorldRegistry) {
        began = registry.now()
        // It begins with counting.
        noted = began - SharedWorldsWatch.noteInterval
    }

    static func begin(_ registry: WorldRegistry) {
        let isStarted = WorkThread.start(stack: 512 << 10) { [weak registry] in
            guard var watch = registry.map({ SharedWorldsWatch($0) }) else { return }
            while registry.map({ watch.look($0) }) == true { usleep(pause) }
        }
        if !isStarted {
            registry.budget.notices.warn(
                "the system gives no thread for shared worlds: event streams won't see what other replicas do")
        }
    }

    /// `false` when there is nothing to look after any more.
    private mutating func look(_ registry: WorldRegistry) -> Bool {
        guard !registry.state.withLock({ $0.sharing.hasEnded }) else { return false }
        do throws(StoreFailure) {
            try registry.refreshListened()
            let now = registry.now()
            guard now - noted >= SharedWorldsWatch.noteInterval else { return true }
            noted = now
            try registry.noteUses()
            try registry.compareWithAll()
            // A daemon that has just begun doesn't know of what others used before they ended.
            try registry.letIdleGo(forAll: now - began >= WorldRegistry.idleLimit + SharedWorldsWatch.delay)
        } catch {
            registry.budget.notices.tell(.stores, error.diagnosis.line)
        }
        return true
    }
}

extension WorldRegistry {
    /// Sees what others have done in worlds that somebody listens to.
    func refreshListened() throws(StoreFailure) {
        guard budget.listeners.count > 0 else { return }
        for world in state.withLock({ Array($0.worlds.values) }) where world.isListenedTo {
            if try world.state.store.refresh() == .gone { letGo(world) }
        }
    }

    /// Tells the others which worlds were used here since they were told last.
    func noteUses() throws(StoreFailure) {
        guard let directory = archive?.directory else { return }
        let names = state.withLock { state in
            defer { state.sharing.used = [] }
            return state.sharing.used
        }
        do throws(StoreFailure) { if !names.isEmpty { try directory.noteUse(of: names.sorted()) } } catch {
            state.withLock { $0.sharing.used.formUnion(names) }
            throw error
        }
    }

    /// Counts the worlds that there are, and lets those go that others have removed and nobody has asked for here since.
    func compareWithAll() throws(StoreFailure) {
        guard let directory = archive?.directory else { return }
        let there = Set(try directory.list().map(\.name))
        let missing = state.withLock { state in
            state.sharing.count = there.count
            return state.worlds.values.filter { !there.contains($0.name) }
        }
        // One may have been made meanwhile.
        for world in missing {
            if try world.state.store.refresh() == .gone { letGo(world) }
        }
    }

    /// Lets worlds go from memory that nobody has used here for an hour, and with `forAll` those that nobody has used anywhere.
    func letIdleGo(forAll: Bool) throws(StoreFailure) {
        let now = now()
        let gone = state.withLock { sweep(&$0, now) }
        // Freed outside the lock.
        _ = consume gone
        guard forAll, let directory = archive?.directory else { return }
        let removed = try directory.removeIdle(
            WorldRegistry.idleLimit + SharedWorldsWatch.delay, atMost: WorldRegistry.limit, but: unnamed)
        try note(removed, as: \.idle)
    }
}
