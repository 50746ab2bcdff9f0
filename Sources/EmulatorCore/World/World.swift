import JOSE
import JSON
import Synchronization
import Time

/// All the state there is: a sandbox with its own people, grants, codes, clock and orders. Guarded by one lock that is
/// held for microseconds; signing and input or output happen outside it.
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
    private let state: Mutex<WorldState>
    private let mayHaveFaults: Atomic<Bool>
    private let wasChanged = Atomic<Bool>(false)

    init(name: String, seed: Seed, keys: [[KeyGenerator.NamedKey]], generator: KeyGenerator, budget: ProcessBudget) {
        self.name = name
        self.seed = seed
        self.budget = budget
        recording = Recording(in: budget.recordings)
        self.keys = KeyRings(seed: seed, keys: keys, generator: generator)
        state = Mutex(WorldState(seed))
        mayHaveFaults = Atomic(!seed.faults.isEmpty)
    }

    /// Reads or changes the state. Nothing slow belongs in here.
    package func withState<Result: Sendable>(_ body: (inout WorldState) -> Result) -> Result {
        state.withLock { body(&$0) }
    }

    /// Notes that a request may have changed it.
    package func noteChange() { wasChanged.store(true, ordering: .relaxed) }

    /// Whether it was looked at only: nobody changed it, it has given nothing out, and nobody listens to it.
    var isUntouched: Bool {
        !wasChanged.load(ordering: .relaxed) && !recording.isListenedTo && !withState { $0.random.isUsed }
    }

    /// The world afresh from its seed. Requests that are under way keep what they have read.
    package func reset() {
        let afresh = WorldState(seed)
        // One step for whoever looks at the state. What there was is freed outside the lock.
        let old = state.withLock { state in
            let old = state
            state = afresh
            keys.reset()
            caches.removeAll()
            recording.clear()
            mayHaveFaults.store(!seed.faults.isEmpty, ordering: .relaxed)
            preparation.begin()
            return old
        }
        _ = consume old
    }

    package var now: Instant { withState { $0.clock.now } }

    // MARK: - Faults

    /// Orders a fault. `nil` when there are too many.
    package func order(_ value: JSONValue) -> Fault? {
        let fault = withState { state -> Fault? in
            let fault = Fault(id: state.faults.nextID(), value)
            return state.faults.add(fault) ? fault : nil
        }
        mayHaveFaults.store(true, ordering: .relaxed)
        return fault
    }

    /// The fault that is due at this exchange, if any is.
    func takeFault(for exchange: Exchange, at route: Route, client: () -> String?) -> AppliedFault? {
        guard mayHaveFaults.load(ordering: .relaxed), let traits = route.traits else { return nil }
        // Whether one matches may depend on the state, so that is found out before the lock is taken.
        // Read once, however many faults ask.
        let fields = Once { exchange.fields }
        let matching = withoutActuallyEscaping(client) { client in
            let name = Once(client)
            return withState { $0.faults.queued }.filter { fault in
                traits.misfit(fault.effect) == nil
                    && fault.match.takes(exchange, at: route, client: { name.value }, fields: { fields.value })
            }
        }
        guard !matching.isEmpty else { return nil }
        let names = Set(matching.map(\.id))
        // Counting a request at a fault is a change, also when the fault isn't due yet.
        noteChange()
        return withState { state in state.faults.take(&state.random) { names.contains($0.id) } }.map {
            AppliedFault($0)
        }
    }

    /// The exchange is over.
    func finish(_ applied: AppliedFault) {
        withState { $0.faults.finish(applied.fault.id, isUsed: applied.isUsed) }
    }
}

/// A value that is worked out when it is first asked for.
private final class Once<Value> {
    private let make: () -> Value
    lazy var value = make()

    init(_ make: @escaping () -> Value) { self.make = make }
}

/// What changes in a world.
package struct WorldState: Sendable {
    package var clock: WorldClock
    package var random: Randomness
    package var accounts: [Account]
    package var outcomes = OutcomeQueue()
    package var faults = FaultQueue()
    private var slots = Slots()

    init(_ seed: Seed) {
        clock = WorldClock(seed.clock)
        random = Randomness(seed: seed.randomSeed)
        accounts = seed.accounts
        for outcome in seed.outcomes { _ = outcomes.add(outcome) }
        for fault in seed.faults { _ = faults.add(fault) }
    }

    package func account(_ id: String) -> Account? { accounts.first { $0.id == id } }

    /// Who signs in when nobody is asked: the outcome's account, the interaction's, or the first.
    package func personSigningIn(_ interaction: Interaction, _ outcome: Outcome?) -> Account? {
        (outcome?.account ?? interaction.account).map { account($0) } ?? accounts.first
    }

    /// A provider's own part of the state, made empty on first use.
    package subscript<Slot: WorldSlot>(_ type: Slot.Type) -> Slot {
        _read { yield slots.box(type).value }
        nonmutating _modify { yield &slots.box(type).value }
    }
}

/// A provider's own part of a world's state.
package protocol WorldSlot {
    init()
}

/// The slots by type. A box is reached only through its world's lock, which is what makes this sendable; a provider's
/// tables change in place instead of being copied out and back.
private final class Slots: @unchecked Sendable {
    final class Box<Slot: WorldSlot> {
        var value = Slot()
    }

    private var boxes: [ObjectIdentifier: AnyObject] = [:]

    func box<Slot: WorldSlot>(_ type: Slot.Type) -> Box<Slot> {
        if let box = boxes[ObjectIdentifier(type)] as? Box<Slot> { return box }
        let box = Box<Slot>()
        boxes[ObjectIdentifier(type)] = box
        return box
    }
}
