import JOSE
import JSON
import Synchronization
import Time

/// A sandbox with its own people, grants, codes, clock, faults and recording. What it remembers lies in tables, and `read` and
/// `update` are the only way to them. They hold a lock for microseconds; signing, hashing and input or output happen outside.
package final class World: Sendable {
    package let name: String
    package let seed: Seed
    package let keys: KeyRings
    package let recording: Recording
    /// What was worked out for this world and can be worked out again. It goes with the world.
    package let caches = WorldCaches()
    package let budget: ProcessBudget
    let preparation = Preparation()
    /// When it was last asked for, on the machine's monotonic clock, in seconds.
    let lastUse = Atomic<Int>(0)
    /// Counts up with every use of any world.
    let useNumber = Atomic<Int>(0)
    let openedPort = Mutex<WorldPorts.Opened?>(nil)
    private let store: any Store
    private let wasChanged = Atomic<Bool>(false)
    /// Whether a fault may be queued. Asked before the lock is taken: workers that wait for it cost more than what they do.
    private let mayHaveFaults: Atomic<Bool>

    init(
        name: String, seed: Seed, keys: [(SeededKeys, [KeyGenerator.NamedKey])], generator: KeyGenerator,
        budget: ProcessBudget
    ) {
        self.name = name
        self.seed = seed
        self.budget = budget
        recording = Recording(in: budget.recordings)
        self.keys = KeyRings(keys, generator: generator)
        store = MemoryStore(seed)
        mayHaveFaults = Atomic(!seed.faults.isEmpty)
    }

    /// Looks at the tables. Nothing slow belongs in here.
    package func read<Result: Sendable, Failure: Error>(
        _ body: (borrowing Snapshot) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try store.read(body)
    }

    /// Changes the tables: all that `body` does, or nothing when it throws. Nothing slow belongs in here, and nothing but reading
    /// and writing tables: a store that is shared may run it again.
    package func update<Result: Sendable, Failure: Error>(
        _ body: (inout Transaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try store.update(body)
    }

    /// Notes that a request may have changed it.
    package func noteChange() { wasChanged.store(true, ordering: .relaxed) }

    /// Whether it was looked at only: nobody changed it, it has given nothing out, and nobody listens to it.
    var isUntouched: Bool {
        !wasChanged.load(ordering: .relaxed) && !recording.isListenedTo
            && !read { $0.value(RandomSource.self).generator.isUsed }
    }

    /// The world afresh from its seed. Requests that are under way keep what they have read.
    package func reset() {
        store.reset {
            keys.reset()
            caches.removeAll()
            recording.clear(forgetting: false)
            mayHaveFaults.store(!seed.faults.isEmpty, ordering: .relaxed)
            preparation.begin()
        }
    }

    package var now: Instant { read { $0.now } }

    // MARK: - Faults

    /// Orders a fault. `nil` when there are too many.
    package func order(_ fault: Fault) -> Fault? {
        mayHaveFaults.store(true, ordering: .relaxed)
        return update { tables in
            let fault = fault.named(tables.faults.nextID())
            return tables.faults.add(fault) ? fault : nil
        }
    }

    /// The fault that is due at this exchange, if any is.
    func takeFault(for exchange: Exchange, at operation: Operation, client: () -> String?) -> AppliedFault? {
        guard mayHaveFaults.load(ordering: .relaxed), let traits = operation.traits else { return nil }
        let queued = read { $0.value(FaultQueue.self).queued }
        guard !queued.isEmpty else { return nil }
        // Whether one matches may depend on the tables, so that is found out before the lock is taken again.
        // Read once, however many faults ask.
        let fields = Once { exchange.fields }
        let matching = withoutActuallyEscaping(client) { client in
            let name = Once(client)
            return queued.filter { fault in
                traits.misfit(fault.effect) == nil
                    && fault.match.takes(exchange, at: operation, client: { name.value }, fields: { fields.value })
            }
        }
        guard !matching.isEmpty else { return nil }
        let names = Set(matching.map(\.id))
        // Counting a request at a fault is a change, also when the fault isn't due yet.
        noteChange()
        return update { tables in
            var random = tables.random
            defer { tables.random = random }
            return tables.faults.take(&random) { names.contains($0.id) }
        }.map { AppliedFault($0) }
    }

    /// The exchange is over.
    func finish(_ applied: AppliedFault) {
        update { $0.faults.finish(applied.fault.id, isUsed: applied.isUsed) }
    }
}

/// A value that is worked out when it is first asked for.
private final class Once<Value> {
    private let make: () -> Value
    lazy var value = make()

    init(_ make: @escaping () -> Value) { self.make = make }
}
