import JSON
import Recordings
import Synchronization
import Worlds

// Worlds that several daemons hold at once, each in its own memory. A request sees all changes committed before it
// came, because the daemon's copy is refreshed first. Worlds that a daemon removes from its memory stay in the archive.

extension WorldRegistry {
    /// Data about the test worlds that this daemon needs only if it shares them with other daemons.
    struct Sharing {
        /// The functions that check a seed (initial data) and make its endpoints, for test worlds that got a seed while
        /// a daemon was running.
        var seeds: RuntimeSeeds?
        /// The names of the test worlds whose use this daemon hasn't reported to the other daemons yet.
        var used: Set<String> = []
        /// The number of all shared test worlds when they were last counted.
        var count = 1
        var hasEnded = false
    }

    /// A lock that is held while a test world is loaded from a shared store, or while its seed (initial data) is
    /// replaced, so that two requests don't do so at the same time. Several worlds have the same lock.
    final class Turn: Sendable {
        static let count = 32
        let lock = Mutex(())
    }

    func turn<Value>(
        of name: String, _ body: () throws(StoreFailure) -> Value
    ) throws(StoreFailure) -> Value {
        let turn = turns[Int(UInt(bitPattern: name.hashValue) % UInt(turns.count))]
        // A lock doesn't pass typed errors on for a value that can't be copied.
        let result: Result<Value, StoreFailure> = turn.lock.withLock { _ in
            do throws(StoreFailure) { return .success(try body()) } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// Begins to watch for changes that other daemons make to the shared test worlds.
    func share(_ seeds: RuntimeSeeds) {
        state.withLock { $0.sharing.seeds = seeds }
        if let world = held(unnamed) { listenToOthers(world) }
        SharedWorldsWatch.begin(self)
    }

    // MARK: - Asking for a world

    /// The number of times that this daemon tries to get a shared test world, in case another daemon deletes it at the
    /// same time.
    private static let attempts = 5

    /// Returns the shared test world of this name. If `refreshing` is true, the world includes all changes that other
    /// daemons have committed so far.
    func shared(_ name: String, makes: Bool, refreshing: Bool) throws(StoreFailure) -> World? {
        for _ in 0..<WorldRegistry.attempts {
            var found = held(name)
            if found == nil { found = try load(name, makes: makes) }
            guard let world = found else { return nil }
            if refreshing, try !world.state.store.refresh() {
                letGo(world)
                continue
            }
            guard let current = try withItsSeed(world) else { continue }
            state.withLock { $0.use(current, now()) }
            return current
        }
        throw StoreFailure(.slow, "the test world \(name) can't be loaded: other daemons keep deleting it")
    }

    /// Loads a shared test world that this daemon doesn't hold in memory. A world that no daemon has made yet is made
    /// if `makes` is true and there aren't too many worlds; otherwise, this returns `nil`.
    private func load(_ name: String, makes: Bool) throws(StoreFailure) -> World? {
        try turn(of: name) { () throws(StoreFailure) -> World? in
            if let world = held(name) { return world }
            guard let directory = archive?.directory else { return nil }
            let isThere = try directory.has(name)
            if !isThere {
                guard makes, try makeRoom(in: directory) else { return nil }
            }
            let world = try made(name, makes: makes)
            guard !world.state.store.isGone else { return nil }
            listenToOthers(world)
            let unloaded = state.withLock { state in
                defer { state.worlds[name] = world }
                state.sharing.count += isThere ? 0 : 1
                return unload(&state)
            }
            // The worlds are freed outside the lock.
            _ = consume unloaded
            return world
        }
    }

    /// Returns whether one more shared test world can be made. If there are too many worlds, first deletes some that no
    /// daemon has used for a while.
    private func makeRoom(in directory: any WorldDirectory) throws(StoreFailure) -> Bool {
        // Other replicas may have made as many since the last count.
        guard state.withLock({ $0.sharing.count }) >= WorldRegistry.limit - WorldRegistry.limit / 8 else { return true }
        let before = counts
        var count = try directory.count()
        if count >= WorldRegistry.limit {
            let gone = try directory.removeIdle(
                WorldRegistry.evictionLimit + SharedWorldsWatch.delay, atMost: WorldRegistry.limit / 16, but: unnamed)
            count -= gone.count
            try recordDeletion(of: gone, as: \.changed)
        }
        state.withLock { state in
            state.sharing.count = count
            if count >= WorldRegistry.limit { state.counts.refused += 1 }
        }
        warnIfLimitReached(since: before)
        return count < WorldRegistry.limit
    }

    /// Adds the number of the deleted test worlds `gone` to the counter `kind`, and clears the recorded requests of
    /// these worlds.
    func recordDeletion(of gone: [String], as kind: any WritableKeyPath<Counts, Int> & Sendable) throws(StoreFailure) {
        guard !gone.isEmpty else { return }
        state.withLock { $0.counts[keyPath: kind] += gone.count }
        try budget.recordings.clearShared(gone, forgetting: false)
    }

    // MARK: - What others do

    /// Notifies the listeners of a test world when other daemons change the world.
    func listenToOthers(_ world: World) {
        let name = world.name
        world.state.store.whenOthersChange { [weak self, weak state = world.state] change in
            guard let world = self?.held(name), world.state === state else { return }
            world.othersHaveChanged(change)
        }
    }

    /// Returns the test world with its present seed (initial data), which another daemon may have replaced. Returns
    /// `nil` when the world has been removed meanwhile.
    ///
    /// - Throws: The reason why this daemon can't use the present seed.
    private func withItsSeed(_ world: World) throws(StoreFailure) -> World? {
        guard world.read({ $0.value(StoredSeed.self).digest }) != world.own?.digest else { return world }
        return try turn(of: world.name) { () throws(StoreFailure) -> World? in
            // Another request may have given it the seed meanwhile.
            guard let world = held(world.name) else { return nil }
            let stored = world.read { $0.value(StoredSeed.self) }
            guard stored.digest != world.own?.digest else { return world }
            let changed = try replayed(world, stored)
            return replace(world, with: changed) ? changed : nil
        }
    }

    private func replayed(_ world: World, _ stored: StoredSeed) throws(StoreFailure) -> World {
        guard let seeds = state.withLock({ $0.sharing.seeds }) else {
            throw StoreFailure(.unreachable, "the daemon hasn't started yet")
        }
        let read: (seed: Seed, rows: Seed?, size: Int)?
        do throws(Issues) { read = try stored.read(seeds, world: world.name) } catch {
            throw StoreFailure(.unreadable, error.description)
        }
        guard let read else {
            try world.state.store.resume(seed, rows: seed)
            return World(world, resuming: nil, or: seed, generator: generator)
        }
        let played = seeds.play(read.seed)
        guard let lease = budget.seeds.reserve(read.size, playing: played) else {
            throw StoreFailure(.full, "too many test worlds have their own seed: delete some of these worlds")
        }
        try world.state.store.resume(read.seed, rows: read.rows ?? seed)
        return World(
            world, resuming: OwnSeed(played, lease, stored.digest), or: seed, generator: generator)
    }

    // MARK: - Worlds that go

    /// Removes a test world from memory because another daemon has deleted it.
    func letGo(_ world: World) {
        let isHeld = state.withLock { state in
            guard let held = state.worlds[world.name], held.state === world.state else { return false }
            state.worlds[world.name] = nil
            return true
        }
        if isHeld { end(world) }
    }

    /// Deletes a shared test world for all daemons. Returns `false` when there is no such world.
    func dropShared(_ name: String) throws(StoreFailure) -> Bool {
        guard let world = try existing(name) else { return false }
        let isDeleted = try world.state.store.remove()
        state.withLock { state in
            if state.worlds[name]?.state === world.state { state.worlds[name] = nil }
            if isDeleted { state.sharing.count -= 1 }
        }
        end(world)
        if isDeleted { try world.recording.clearShared() }
        return isDeleted
    }

    private func end(_ world: World) {
        world.closePorts()
        world.forgetMail()
        world.streams.endAll()
    }

    /// Returns all test worlds, sorted by name, each with its recording of requests and the seconds since it was last
    /// used. If several daemons share the worlds, a recording may lack the latest requests to other daemons.
    package func list() throws(StoreFailure) -> [ListedWorld] {
        let here = all
        guard let directory = archive?.directory else {
            return here.map {
                ListedWorld(name: $0.world.name, idle: $0.idle, held: $0.world, recording: $0.world.recording)
            }
        }
        let held = Dictionary(here.map { ($0.world.name, $0) }) { first, _ in first }
        return try directory.list().map { entry in
            let here = held[entry.name]
            return ListedWorld(
                name: entry.name, idle: min(entry.idle, here?.idle ?? .max), held: here?.world,
                recording: here?.world.recording ?? budget.recordings.recording(of: entry.name))
        }.sorted { $0.name < $1.name }
    }
}

/// One of the test worlds of all daemons that share a store.
package struct ListedWorld: Sendable {
    package let name: String
    /// The seconds since the test world was last used.
    package let idle: Int
    /// The listed test world; `nil` when this daemon doesn't hold it in memory.
    package let held: World?
    package let recording: Recording
}

extension World {
    fileprivate func othersHaveChanged(_ change: StoreChange) {
        markChanged()
        if change.isReset {
            caches.removeAll()
            recording.clearUnshared()
            forgetMail()
        }
        guard change.isReset || change.names.contains(Inbox.name) else { return }
        countInbox()
        inboxListeners.notify()
    }

    /// Whether the test world must stay in this daemon's memory, because it has a listener or a port. Listeners and
    /// ports aren't in the store.
    var isNeededHere: Bool {
        state.store.isShared && (isListenedTo || !state.openedPorts.withLock { $0.isEmpty })
    }

    var isListenedTo: Bool { recording.isListenedTo || inboxListeners.isListenedTo }
}
