import Platform
import Worlds

/// A thread that watches the test worlds which several daemons share. It reads the changes to worlds that have
/// listeners, such as event streams. It also tells the other daemons which worlds this one uses, and removes unused
/// worlds.
struct SharedWorldsWatch {
    /// The seconds between two reports to the store about the test worlds that this daemon has used.
    private static let noteInterval = 30
    /// The largest number of seconds by which the time of a test world's last use may be out of date in the store.
    static let delay = 3 * noteInterval
    /// The microseconds between two readings of the changes to test worlds that have listeners, such as event streams.
    private static let pause: UInt32 = 100_000

    private let began: Int
    private var noted: Int

    private init(_ registry: WorldRegistry) {
        began = registry.now()
        // The first thing it does is to count the worlds.
        noted = began - SharedWorldsWatch.noteInterval
    }

    static func begin(_ registry: WorldRegistry) {
        let isStarted = WorkThread.start(stack: 512 << 10) { [weak registry] in
            guard var watch = registry.map({ SharedWorldsWatch($0) }) else { return }
            while registry.map({ watch.poll($0) }) == true { usleep(pause) }
        }
        if !isStarted {
            registry.budget.notices.warn(
                "no thread can be started for shared test worlds: event streams won't show the changes of other daemons"
            )
        }
    }

    /// Reads the changes of other daemons from the store. Every 30 seconds, also reports which test worlds this daemon
    /// has used, and removes unused ones. Returns `false` when the server has stopped.
    private mutating func poll(_ registry: WorldRegistry) -> Bool {
        guard !registry.state.withLock({ $0.sharing.hasEnded }) else { return false }
        do throws(StoreFailure) {
            try registry.refreshListened()
            let now = registry.now()
            guard now - noted >= SharedWorldsWatch.noteInterval else { return true }
            noted = now
            try registry.reportUses()
            try registry.compareWithAll()
            // A daemon that has just begun doesn't know about uses by others that ended without noting them.
            try registry.letIdleGo(forAll: now - began >= WorldRegistry.idleLimit + SharedWorldsWatch.delay)
        } catch {
            registry.budget.notices.warnOncePerMinute(.stores, error.diagnosis.line)
        }
        return true
    }
}

extension WorldRegistry {
    /// Reads the changes that other daemons have made to the test worlds that have listeners, such as event streams.
    func refreshListened() throws(StoreFailure) {
        guard budget.listeners.count > 0 else { return }
        for world in state.withLock({ Array($0.worlds.values) }) where world.isListenedTo {
            if try !world.state.store.refresh() { letGo(world) }
        }
    }

    /// Tells the other daemons that share the store which test worlds this daemon has used since its last report.
    func reportUses() throws(StoreFailure) {
        guard let directory = archive?.directory else { return }
        let names = state.withLock { state in
            defer { state.sharing.used = [] }
            return state.sharing.used
        }
        do throws(StoreFailure) { if !names.isEmpty { try directory.recordUse(of: names.sorted()) } } catch {
            state.withLock { $0.sharing.used.formUnion(names) }
            throw error
        }
    }

    /// Counts all shared test worlds, and removes from memory those that other daemons have deleted.
    func compareWithAll() throws(StoreFailure) {
        guard let directory = archive?.directory else { return }
        let there = Set(try directory.list().map(\.name))
        let missing = state.withLock { state in
            state.sharing.count = there.count
            return state.worlds.values.filter { !there.contains($0.name) }
        }
        // A world of this name may have been made again meanwhile.
        for world in missing {
            if try !world.state.store.refresh() { letGo(world) }
        }
    }

    /// Removes from memory the test worlds that this daemon hasn't used for an hour. If `forAll` is true, also deletes
    /// from the store the worlds that no daemon has used for a little over an hour.
    func letIdleGo(forAll: Bool) throws(StoreFailure) {
        let now = now()
        let gone = state.withLock { sweep(&$0, now) }
        // The worlds are freed outside the lock.
        _ = consume gone
        guard forAll, let directory = archive?.directory else { return }
        let removed = try directory.removeIdle(
            WorldRegistry.idleLimit + SharedWorldsWatch.delay, atMost: WorldRegistry.limit, but: unnamed)
        try recordDeletion(of: removed, as: \.idle)
    }
}
