import JSON
import Synchronization

// Worlds that several daemons hold at once, each in its own memory. A request sees all that happened before it came, because what the
// daemon holds is refreshed first. Worlds that a daemon lets go of from its memory are still there.

extension WorldRegistry {
    /// What a registry of shared worlds knows beside those that it holds.
    struct Sharing {
        /// How seeds are played that worlds got while daemons run.
        var seeds: RuntimeSeeds?
        /// Worlds that were used since the others were told.
        var used: Set<String> = []
        /// How many worlds there are at least, as far as is known.
        var count = 1
        var hasEnded = false
    }

    /// Held while a world is taken up or gets another seed, so that it happens once. Worlds share a few.
    final class Turn: Sendable {
        static let count = 32
        let lock = Mutex(())
    }

    func turn<Value>(
        of name: String, _ body: () throws(StoreFailure) -> Value
    ) throws(StoreFailure) -> Value {
        let turn = turns[Int(UInt(bitPattern: name.hashValue) % UInt(turns.count))]
        // Typed errors don't come through the lock of a value that isn't there.
        let result: Result<Value, StoreFailure> = turn.lock.withLock { _ in
            do throws(StoreFailure) { return .success(try body()) } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// Begins to look for what others do.
    func share(_ seeds: RuntimeSeeds) {
        state.withLock { $0.sharing.seeds = seeds }
        if let world = held(unnamed) { listenToOthers(world) }
        SharedWorldsWatch.begin(self)
    }

    // MARK: - Asking for a world

    /// How often another replica may delete a world while it is asked for.
    private static let attempts = 5

    /// With `refreshing`, what others have done before is seen in the world.
    func shared(_ name: String, makes: Bool, refreshing: Bool) throws(StoreFailure) -> World? {
        for _ in 0..<WorldRegistry.attempts {
            var found = held(name)
            if found == nil { found = try takeUp(name, makes: makes) }
            guard let world = found else { return nil }
            if refreshing, try world.state.store.refresh() == .gone {
                letGo(world)
                continue
            }
            guard let current = try withItsSeed(world) else { continue }
            state.withLock { $0.use(current, now()) }
            return current
        }
        throw StoreFailure(.slow, "the world \(name) is deleted again and again")
    }

    /// A world that this daemon doesn't hold: as it is in the store, or a new one.
    private func takeUp(_ name: String, makes: Bool) throws(StoreFailure) -> World? {
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
            // Freed outside the lock.
            _ = consume unloaded
            return world
        }
    }

    /// Whether there may be one more world: where there are too many, those make way that nobody has used for a while.
    private func makeRoom(in directory: any WorldDirectory) throws(StoreFailure) -> Bool {
        // Others may have made as many since they were counted.
        guard state.withLock({ $0.sharing.count }) >= WorldRegistry.limit - WorldRegistry.limit / 8 else { return true }
        let before = counts
        var count = try directory.count()
        if count >= WorldRegistry.limit {
            let gone = try directory.removeIdle(
                WorldRegistry.evictionLimit + SharedWorldsWatch.delay, atMost: WorldRegistry.limit / 16, but: unnamed)
            count -= gone.count
            try note(gone, as: \.changed)
        }
        state.withLock { state in
            state.sharing.count = count
            if count >= WorldRegistry.limit { state.counts.refused += 1 }
        }
        tell(before)
        return count < WorldRegistry.limit
    }

    /// Worlds have been removed for all.
    func note(_ gone: [String], as kind: any WritableKeyPath<Counts, Int> & Sendable) throws(StoreFailure) {
        guard !gone.isEmpty else { return }
        state.withLock { $0.counts[keyPath: kind] += gone.count }
        try budget.recordings.clearShared(gone, forgetting: false)
    }

    // MARK: - What others do

    /// Lets those who listen to the world know what others do in it.
    func listenToOthers(_ world: World) {
        let name = world.name
        world.state.store.whenOthersChange { [weak self, weak state = world.state] change in
            guard let world = self?.held(name), world.state === state else { return }
            world.othersHaveChanged(change)
        }
    }

    /// The world with the seed that its tables name, which another replica may have given it; `nil` when it has been let go meanwhile.
    ///
    /// - Throws: Why that seed can't be played here.
    private func withItsSeed(_ world: World) throws(StoreFailure) -> World? {
        guard world.read({ $0.value(StoredSeed.self).digest }) != world.own?.digest else { return world }
        return try turn(of: world.name) { () throws(StoreFailure) -> World? in
            // Another request may have done it meanwhile.
            guard let world = held(world.name) else { return nil }
            let stored = world.read { $0.value(StoredSeed.self) }
            guard stored.digest != world.own?.digest else { return world }
            let changed = try replayed(world, stored)
            return replace(world, with: changed) ? changed : nil
        }
    }

    private func replayed(_ world: World, _ stored: StoredSeed) throws(StoreFailure) -> World {
        guard let seeds = state.withLock({ $0.sharing.seeds }) else {
            throw StoreFailure(.gone, "the daemon hasn't started yet")
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
        guard let lease = budget.seeds.take(read.size, playing: played) else {
            throw StoreFailure(.full, "worlds have as many seeds of their own as there may be")
        }
        try world.state.store.resume(read.seed, rows: read.rows ?? seed)
        return World(
            world, resuming: OwnSeed(played, lease, stored.digest), or: seed, generator: generator)
    }

    // MARK: - Worlds that go

    /// Another replica has deleted the world.
    func letGo(_ world: World) {
        let isHeld = state.withLock { state in
            guard let held = state.worlds[world.name], held.state === world.state else { return false }
            state.worlds[world.name] = nil
            return true
        }
        if isHeld { end(world) }
    }

    /// Deletes a world for all. `false` when there is none.
    func dropShared(_ name: String) throws(StoreFailure) -> Bool {
        guard let world = try existing(name) else { return false }
        let isDeleted = try world.state.store.remove()
        state.withLock { state in
            if state.worlds[name]?.state === world.state { state.worlds[name] = nil }
            if isDeleted { state.sharing.count -= 1 }
        }
        end(world)
        if isDeleted, world.recording.isShared { try world.recording.clear(forgetting: false) }
        return isDeleted
    }

    private func end(_ world: World) {
        world.closePorts()
        world.forgetMail()
        world.streams.endAll()
    }

    /// All worlds that there are, by name, with the seconds since anybody used each. What was recorded of them is as it was last asked
    /// for.
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

/// A world of those that there are.
package struct ListedWorld: Sendable {
    package let name: String
    /// Seconds since it was last used.
    package let idle: Int
    /// `nil` when this daemon doesn't hold it.
    package let held: World?
    package let recording: Recording
}

extension World {
    /// Another replica has changed something. What requests read, they read from the tables; this is for those who listen.
    fileprivate func othersHaveChanged(_ change: StoreChange) {
        noteChange()
        if change.isReset {
            caches.removeAll()
            recording.clearUnshared()
            forgetMail()
        }
        guard change.isReset || change.names.contains(Inbox.name) else { return }
        countInbox()
        inboxListeners.tell()
    }

    /// Whether something that isn't in the tables would be lost if this daemon let it go from its memory: somebody who listens, or a
    /// port.
    var isNeededHere: Bool {
        state.isShared && (isListenedTo || !state.openedPorts.withLock { $0.isEmpty })
    }

    var isListenedTo: Bool { recording.isListenedTo || inboxListeners.isListenedTo }
}
