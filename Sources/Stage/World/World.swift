import JOSE
import Synchronization

/// All the state there is: a sandbox with its own people, grants, codes, clock and orders. Guarded by one lock that is
/// held for microseconds; signing and input or output happen outside it.
package final class World: Sendable {
    package let name: String
    package let seed: Seed
    package let keys: KeyRings
    private let state: Mutex<WorldState>

    init(name: String, seed: Seed, forge: KeyForge) {
        self.name = name
        self.seed = seed
        keys = KeyRings(seed: seed, forge: forge)
        state = Mutex(WorldState(seed))
    }

    /// Reads or changes the state. Nothing slow belongs in here.
    package func withState<Result: Sendable>(_ body: (inout WorldState) -> Result) -> Result {
        state.withLock { body(&$0) }
    }

    /// The world afresh from its seed. Requests that are under way keep what they have read.
    package func reset() {
        keys.reset()
        state.withLock { $0 = WorldState(seed) }
    }

    package var seconds: Int64 { withState { $0.clock.seconds } }
}

/// What changes in a world.
package struct WorldState: Sendable {
    package var clock: WorldClock
    package var random: Randomness
    package var accounts: [Account]
    package var outcomes = OutcomeQueue()
    private var slots = Slots()

    init(_ seed: Seed) {
        clock = WorldClock(seed.clock)
        random = Randomness(seed: seed.randomSeed)
        accounts = seed.accounts
    }

    package func account(_ id: String) -> Account? { accounts.first { $0.id == id } }

    /// Who signs in when nobody is asked: the outcome's account, the interaction's, or the first.
    package func signer(_ interaction: Interaction, _ outcome: Outcome?) -> Account? {
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
