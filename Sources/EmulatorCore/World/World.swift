import JOSE
import JSON
import Platform
import Synchronization
import Time

/// A sandbox with its own people, grants, codes, clock, faults and recording. What it remembers lies in tables, and `read` and
/// `update` are the only way to them. They hold the world's lock, for microseconds in memory, and until a change is committed where
/// there is an archive; signing and hashing happen outside.
package final class World: Sendable {
    package let name: String
    package let seed: Seed
    package let keys: KeyRings
    /// What was worked out for this world and can be worked out again. It goes with the world, or with its seed.
    package let caches: WorldCaches
    package let budget: ProcessBudget
    /// What answers its requests, if its seed isn't the daemon's.
    let own: OwnSeed?
    let state: WorldState

    init(
        name: String, seed: Seed, keys: [(SeededKeys, [KeyGenerator.NamedKey])], generator: KeyGenerator,
        budget: ProcessBudget, store: WorldStore, isShared: Bool
    ) {
        self.name = name
        self.seed = seed
        self.budget = budget
        state = WorldState(name, seed, budget, store, isShared: isShared)
        self.keys = KeyRings(keys, generator: generator, in: state.keyStore, resumes: true)
        caches = WorldCaches()
        own = nil
        if store.isKept { resume() }
    }

    /// The same world, with the seed that it has got in an earlier process or by another replica; without one, with the daemon's.
    init(_ world: World, resuming own: OwnSeed?, or seed: Seed, generator: KeyGenerator) {
        name = world.name
        budget = world.budget
        self.seed = own?.played.seed ?? seed
        keys = KeyRings(
            KeyRings.seeded(self.seed), generator: generator, in: world.state.keyStore, resumes: true)
        caches = world.caches.kept
        self.own = own
        state = world.state
    }

    /// Goes on with what was kept of it.
    private func resume() {
        state.mayHaveFaults.store(true, ordering: .relaxed)
        noteChange()
        countInbox()
        // The scenarios with which worlds begin have been played. Where worlds are shared, `PreparedWorld` says so.
        if !state.isShared { preparation.finish() }
    }

    /// The same world with another seed. `isAfresh` says whether it is to be reset, and so keeps nothing.
    init(_ world: World, with own: OwnSeed, generator: KeyGenerator, isAfresh: Bool) {
        name = world.name
        budget = world.budget
        seed = own.played.seed
        keys = KeyRings(
            KeyRings.seeded(own.played.seed), generator: generator,
            keeping: isAfresh ? nil : (rings: world.keys, of: world.seed), in: world.state.keyStore)
        caches = isAfresh ? WorldCaches() : world.caches.kept
        self.own = own
        state = world.state
    }

    package var recording: Recording { state.recording }
    var preparation: Preparation { state.preparation }
    package var streams: OpenStreams { state.streams }

    /// Looks at the tables. Nothing slow belongs in here.
    package func read<Result: Sendable, Failure: Error>(
        _ body: (borrowing Snapshot) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.store.read(body)
    }

    /// Changes the tables. What `body` does is committed when this returns. Nothing slow belongs in here, and nothing but reading and
    /// writing tables: a store that is shared may run it again.
    ///
    /// - Throws: Why the change can't be committed: then nothing has changed.
    package func update<Result: Sendable>(_ body: (inout Transaction) -> Result) throws(StoreFailure) -> Result {
        try state.store.update(body)
    }

    /// Changes the tables, or nothing when `body` throws.
    package func update<Result: Sendable>(_ body: (inout Transaction) throws -> Result) throws -> Result {
        try state.store.update(body)
    }

    /// Whether whoever asks is the first to learn that the world was made by this process.
    package func isNewToWhoeverAsks() -> Bool {
        !state.store.isKept && !state.isToldNew.exchange(true, ordering: .relaxed)
    }

    /// Notes that a request may have changed it.
    package func noteChange() { state.wasChanged.store(true, ordering: .relaxed) }

    /// Whether it was looked at only: nobody changed it, it has given nothing out, and nobody listens to it.
    var isUntouched: Bool {
        !state.wasChanged.load(ordering: .relaxed) && !recording.isListenedTo && !inboxListeners.isListenedTo
            && !read { $0.value(RandomSource.self).generator.isUsed }
    }

    /// The world afresh from its seed. Requests that are under way keep what they have read.
    package func reset() throws(StoreFailure) {
        let stored = state.store.lasts && own != nil ? StoredSeed(of: seed, rows: seed) : nil
        try state.store.reset(
            to: seed,
            putting: { tables in if let stored { tables[StoredSeed.self] = stored } },
            also: {
                keys.reset()
                caches.removeAll()
                recording.clearUnshared()
                state.mayHaveFaults.store(!seed.faults.isEmpty, ordering: .relaxed)
                preparation.begin()
            })
        state.inboxSize.set(0)
        forgetMail()
        inboxListeners.tell()
        FreedMemory.giveBackSoon()
        // It waits for the archive, which isn't done under a lock.
        if recording.isShared { try recording.clear(forgetting: false) }
    }

    package var now: Instant { read { $0.now } }

    // MARK: - Faults

    /// Where worlds are shared, another replica may have ordered some.
    private var mayHaveFaults: Bool { state.isShared || state.mayHaveFaults.load(ordering: .relaxed) }

    /// Orders a fault. `nil` when there are too many.
    package func order(_ fault: Fault) throws(StoreFailure) -> Fault? {
        state.mayHaveFaults.store(true, ordering: .relaxed)
        return try update { tables in
            let fault = fault.named(tables.faults.nextID())
            return tables.faults.add(fault) ? fault : nil
        }
    }

    /// The fault that is due at this exchange, if any is.
    func takeFault(
        for exchange: Exchange, at endpoint: Endpoint, shortPaths: () -> [String], client: () -> String?
    ) throws(StoreFailure) -> AppliedFault? {
        guard mayHaveFaults, let traits = endpoint.traits else { return nil }
        let queued = read { $0.value(FaultQueue.self).queued }
        guard !queued.isEmpty else { return nil }
        // Whether one matches may depend on the tables, so that is found out before the lock is taken again.
        // Read once, however many faults ask.
        let fields = Once { exchange.fields }
        let matching = withoutActuallyEscaping(client) { client in
            withoutActuallyEscaping(shortPaths) { shortPaths in
                let (name, short) = (Once(client), Once(shortPaths))
                return queued.filter { fault in
                    traits.misfit(fault.effect) == nil
                        && fault.match.takes(
                            exchange, at: endpoint, shortPaths: { short.value }, client: { name.value },
                            fields: { fields.value })
                }
            }
        }
        guard !matching.isEmpty else { return nil }
        let names = Set(matching.map(\.id))
        // Counting a request at a fault is a change, also when the fault isn't due yet.
        noteChange()
        return try update { tables in
            var random = tables.random
            defer { tables.random = random }
            return tables.faults.take(&random) { names.contains($0.id) }
        }.map { AppliedFault($0, of: scenario(thatOrdered: $0)) }
    }

    /// The fault that is due at this step of SMTP, if any is. It has taken effect then.
    package func takeFault(
        at step: SMTPStep, from sender: String?, to recipients: [String]
    ) throws(StoreFailure) -> AppliedFault? {
        guard mayHaveFaults else { return nil }
        let matching = read { $0.value(FaultQueue.self).queued }.filter {
            $0.match.takes(step, from: sender, to: recipients)
        }
        guard !matching.isEmpty else { return nil }
        let names = Set(matching.map(\.id))
        noteChange()
        let taken = try update { tables in
            var random = tables.random
            defer { tables.random = random }
            guard let fault = tables.faults.take(&random, where: { names.contains($0.id) }) else { return Fault?.none }
            tables.faults.finish(fault.id, isUsed: true)
            return fault
        }
        return taken.map { fault in
            let applied = AppliedFault(fault, of: scenario(thatOrdered: fault))
            applied.use()
            return applied
        }
    }

    private func scenario(thatOrdered fault: Fault) -> String? {
        scenarioOrders.first { $0.value.faults.contains(fault.id) }?.key
    }

    /// The exchange is over. Its changes are committed: an answer isn't refused because the fault can't be counted.
    func finish(_ applied: AppliedFault) {
        do throws(StoreFailure) {
            try update { $0.faults.finish(applied.fault.id, isUsed: applied.isUsed) }
        } catch {
            budget.notices.tell(.stores, "an ordered fault isn't counted: \(error.diagnosis.line)")
        }
    }
}

/// A value that is worked out when it is first asked for.
private final class Once<Value> {
    private let make: () -> Value
    lazy var value = make()

    init(_ make: @escaping () -> Value) { self.make = make }
}
