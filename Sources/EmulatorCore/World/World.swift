import Dispatch
import JOSE
import JSON
import Platform
import Recordings
import Synchronization
import Time
import Worlds

/// A test world: an isolated environment with its own people, grants, codes, clock, faults and recorded requests. Its
/// state is in tables, which only `read` and `update` can reach. Both hold the world's lock while they run. If a file
/// or database keeps the world, `update` holds the lock until the change is committed. Never do slow work such as
/// signing within them.
package final class World: Sendable {
    package let name: String
    package let seed: Seed
    package let keys: KeyRings
    /// The test world's caches, whose content can be computed again. A reset of the world drops them. A change of its
    /// seed (initial data) drops those that depend on the seed.
    package let caches: WorldCaches
    package let budget: ProcessBudget
    /// The test world's own seed (initial data), with its providers and endpoints; `nil` when the world uses the
    /// daemon's seed.
    let own: OwnSeed?
    let state: WorldState

    init(
        name: String, seed: Seed, keys: [(SeededKeys, [KeyGenerator.NamedKey])], generator: KeyGenerator,
        budget: ProcessBudget, store: WorldStore
    ) {
        self.name = name
        self.seed = seed
        self.budget = budget
        state = WorldState(name, budget, store)
        self.keys = KeyRings(keys, generator: generator, in: state.store, resumes: true)
        caches = WorldCaches()
        own = nil
        if store.isKept { resume() }
    }

    /// Makes a copy of `world` with another seed (initial data): `own`, which a client gave this test world through
    /// another daemon or in an earlier process. If `own` is `nil`, the copy has `seed`, the daemon's seed.
    init(_ world: World, resuming own: OwnSeed?, or seed: Seed, generator: KeyGenerator) {
        name = world.name
        budget = world.budget
        self.seed = own?.played.seed ?? seed
        keys = KeyRings(
            KeyRings.seeded(self.seed), generator: generator, in: world.state.store, resumes: true)
        caches = world.caches.kept
        self.own = own
        state = world.state
    }

    /// Notes that a test world that was read from a file or database may already have faults, mails and other changes.
    private func resume() {
        markChanged()
        countInbox()
    }

    /// Makes a copy of the test world with `own` as its seed (initial data). If `isAfresh` is true, the copy has no
    /// rotated keys and no caches.
    init(_ world: World, with own: OwnSeed, generator: KeyGenerator, isAfresh: Bool) {
        name = world.name
        budget = world.budget
        seed = own.played.seed
        keys = KeyRings(
            KeyRings.seeded(own.played.seed), generator: generator,
            keeping: isAfresh ? nil : (rings: world.keys, of: world.seed), in: world.state.store)
        caches = isAfresh ? WorldCaches() : world.caches.kept
        self.own = own
        state = world.state
    }

    package var recording: Recording { state.recording }
    var preparation: Preparation { state.preparation }
    package var streams: OpenStreams { state.streams }

    /// Reads the test world's tables. `body` must not do anything slow, because it runs under the world's lock.
    package func read<Result: Sendable, Failure: Error>(
        _ body: (borrowing Snapshot) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.store.read(body)
    }

    /// Changes the test world's tables. The changes that `body` makes are committed when this returns. `body` must not
    /// do anything slow. It must only read and write tables, because it may run more than once if other daemons share
    /// the store.
    ///
    /// - Throws: The reason why the change isn't committed, as `WorldStore.update` describes.
    package func update<Result: Sendable>(_ body: (inout Transaction) -> Result) throws(StoreFailure) -> Result {
        try state.store.update(body)
    }

    /// Changes the test world's tables. If `body` throws, nothing is changed.
    package func update<Result: Sendable>(_ body: (inout Transaction) throws -> Result) throws -> Result {
        try state.store.update(body)
    }

    /// Returns `true` only to the first caller, and only if this process has made the test world.
    package func isNewToWhoeverAsks() -> Bool {
        !state.store.isKept && !state.isToldNew.exchange(true, ordering: .relaxed)
    }

    /// Records that a request may have changed the test world.
    package func markChanged() { state.wasChanged.store(true, ordering: .relaxed) }

    /// Whether nobody has used the test world since it was made: nothing has changed, no codes or tokens were issued,
    /// and there are no listeners.
    var isUntouched: Bool {
        !state.wasChanged.load(ordering: .relaxed) && !recording.isListenedTo && !inboxListeners.isListenedTo
            && !read { $0.value(RandomSource.self).generator.isUsed }
    }

    /// Begins the test world anew from its seed (initial data). Requests that are running continue with the state that
    /// they have read.
    package func reset() throws(StoreFailure) { try beginAnew(putting: { _ in }, also: { keys.reset() }) }

    /// Begins the test world anew from its seed (initial data) with the changes that `putting` makes. The closure `also`
    /// runs before any other request can read the world's new state. If only this daemon keeps the world, and only in
    /// memory, other requests aren't held up meanwhile.
    func beginAnew(putting: (inout Transaction) -> Void, also: () -> Void) throws(StoreFailure) {
        let stored = state.store.lasts && own != nil ? StoredSeed(of: seed, rows: seed) : nil
        try state.store.reset(
            to: seed,
            putting: { tables in
                if let stored { tables[StoredSeed.self] = stored }
                putting(&tables)
            },
            also: {
                also()
                caches.removeAll()
                recording.clearUnshared()
            })
        countInbox()
        forgetMail()
        inboxListeners.notify()
        FreedMemory.giveBackSoon()
        // Clearing waits for the archive, so it isn't done under a lock.
        try recording.clearShared()
    }

    package var now: Instant { read { $0.now } }

    // MARK: - Faults

    /// Adds a fault to the test world, and returns it with its ID. Returns `nil` when there would be too many faults,
    /// or too many bytes of faults.
    package func order(_ fault: Fault) throws(StoreFailure) -> Fault? {
        try update { tables in
            let fault = fault.named(tables.faults.nextID())
            return tables.faults.add(fault) ? fault : nil
        }
    }

    /// Returns the fault that applies to the request; `nil` if none does. Counts the request for every fault that
    /// matches it. A test or the seed (initial data) requests the faults.
    func consumeFault(
        for exchange: Exchange, at endpoint: Endpoint, shortPaths: () -> [String], client: () -> String?
    ) throws(StoreFailure) -> AppliedFault? {
        guard let traits = endpoint.traits else { return nil }
        let (queued, mark) = queuedFaults
        guard !queued.isEmpty else { return nil }
        // Matching may read the tables, so it happens before the lock is taken again. The fields are read once, for all
        // faults.
        let fields = Once { exchange.fields }
        let matching = withoutActuallyEscaping(client) { client in
            withoutActuallyEscaping(shortPaths) { shortPaths in
                let (name, short) = (Once(client), Once(shortPaths))
                return queued.filter { fault in
                    traits.misfit(fault.effect) == nil
                        && !(Fault.isRehearsal(scenario(thatOrdered: fault))
                            // A certificate that isn't one is no legal surprise. The daemon's own requests are no client's.
                            && (exchange.isInternal || traits.answersCertificates && !fault.effect.response.isEmpty))
                        && fault.match.accepts(
                            exchange, at: endpoint, shortPaths: { short.value }, client: { name.value },
                            fields: { fields.value })
                }
            }
        }
        guard !matching.isEmpty else { return nil }
        return try beginUse(of: matching, mark)
    }

    /// Returns the fault that applies at this step of SMTP, and marks it as used; `nil` if none applies. A test or the
    /// seed (initial data) requests the faults.
    package func consumeFault(
        at step: SMTPStep, from sender: String?, to recipients: [String]
    ) throws(StoreFailure) -> AppliedFault? {
        let (queued, mark) = queuedFaults
        let matching = queued.filter { $0.match.accepts(step, from: sender, to: recipients) }
        guard !matching.isEmpty else { return nil }
        guard let applied = try beginUse(of: matching, mark) else { return nil }
        applied.use()
        finish(applied)
        return applied
    }

    private var queuedFaults: (faults: [Fault], mark: UInt32) {
        read { tables in
            let queue = tables.value(FaultQueue.self)
            return (queue.queued, queue.mark)
        }
    }

    /// Counts a request for the faults `matching`, and returns the one that applies. `mark` is the mark of the queue in
    /// which they were found: after a reset, other faults may have the same IDs.
    private func beginUse(of matching: [Fault], _ mark: UInt32) throws(StoreFailure) -> AppliedFault? {
        let names = Set(matching.map(\.id))
        // Counting a request at a fault is a change, also when the fault isn't due yet.
        markChanged()
        return try update { (tables) -> (fault: Fault, mark: UInt32)? in
            guard mark == 0 || mark == tables.faults.mark else { return nil }
            var random = tables.random
            defer { tables.random = random }
            let fault = tables.faults.beginUse(&random) { names.contains($0.id) }
            return fault.map { ($0, tables.faults.mark) }
        }.map { AppliedFault($0.fault, $0.mark, of: scenario(thatOrdered: $0.fault)) }
    }

    private func scenario(thatOrdered fault: Fault) -> String? {
        scenarioOrders.first { $0.value.faults.contains(fault.id) }?.key
    }

    /// Updates the use count of a fault after its request was answered. A failure of the store is ignored, since the
    /// request's other changes are committed already.
    func finish(_ applied: AppliedFault) {
        do throws(StoreFailure) {
            try update { $0.faults.finish(applied.fault.id, applied.mark, isUsed: applied.isUsed) }
        } catch {
            budget.notices.warnOncePerMinute(
                .stores, "the use of a simulated fault can't be counted: \(error.diagnosis.line)")
        }
    }
}

/// A value that is computed only once, on first use.
private final class Once<Value> {
    private let make: () -> Value
    lazy var value = make()

    init(_ make: @escaping () -> Value) { self.make = make }
}

/// The part of a test world that stays the same when the world's seed (initial data) is replaced or extended.
final class WorldState: Sendable {
    let recording: Recording
    /// The queue on which the test world's inbox is searched, and on which the inbox's listeners are called.
    let inboxQueue = DispatchQueue(label: "understudy.inbox")
    let inboxListeners: Listeners
    let inboxSize: MailBudget.Part
    let preparation = Preparation()
    let scenarioTurns = ScenarioTurns()
    let streams = OpenStreams()
    let store: WorldStore
    let openedPorts = Mutex<[WorldPorts.Kind: WorldPorts.Opened]>([:])
    /// The time when the test world was last used, in seconds of the machine's monotonic clock.
    let lastUse = Atomic<Int>(0)
    /// The number of this test world's last use. All uses of all worlds are numbered in order.
    let useNumber = Atomic<Int>(0)
    /// The ID of the test world's inbox: see `World.inboxNumber`.
    let inboxNumber = Atomic<Int>(nextInboxNumber)
    let wasChanged = Atomic<Bool>(false)
    /// Whether a client has been told already that the test world is new.
    let isToldNew = Atomic<Bool>(false)

    init(_ name: String, _ budget: ProcessBudget, _ store: WorldStore) {
        recording = budget.recordings.recording(of: name)
        inboxListeners = Listeners(on: inboxQueue)
        inboxSize = MailBudget.Part(of: budget.mail)
        self.store = store
    }

    deinit { FreedMemory.giveBackSoon() }

    private static let inboxes = Atomic<Int>(0)
    static var nextInboxNumber: Int { inboxes.wrappingAdd(1, ordering: .relaxed).newValue }
}

/// The caches of a test world, one of each type. They hold results that providers can compute again, and aren't
/// protected by the world's lock.
package final class WorldCaches: Sendable {
    private let caches = Mutex<[ObjectIdentifier: any WorldCache]>([:])

    /// The test world's cache of this type. An empty cache is created on first use.
    package subscript<Cache: WorldCache>(_ type: Cache.Type) -> Cache {
        caches.withLock { caches in
            if let cache = caches[ObjectIdentifier(type)] as? Cache { return cache }
            let cache = Cache()
            caches[ObjectIdentifier(type)] = cache
            return cache
        }
    }

    /// The caches that don't depend on the test world's seed (initial data).
    var kept: WorldCaches {
        let others = WorldCaches()
        let kept = caches.withLock { $0.filter { !$1.followsSeed } }
        others.caches.withLock { $0 = kept }
        return others
    }

    func removeAll() { caches.withLock { $0 = [:] } }
}

package protocol WorldCache: AnyObject, Sendable {
    init()
    /// Whether the cache depends on the test world's seed (initial data), so that it is dropped when the seed changes.
    var followsSeed: Bool { get }
}

extension WorldCache {
    package var followsSeed: Bool { true }
}
