import Dispatch
import Platform
import Synchronization

/// The part of a world that stays when its seed is replaced or extended.
final class WorldState: Sendable {
    let recording: Recording
    /// The queue on which the inbox is searched, and its listeners are called.
    let inboxQueue = DispatchQueue(label: "understudy.inbox")
    let inboxListeners: Listeners
    let inboxSize: MailBudget.Part
    let preparation = Preparation()
    let streams = OpenStreams()
    let store: WorldStore
    /// Whether other daemons may change the world.
    let isShared: Bool
    let openedPorts = Mutex<[WorldPorts.Kind: WorldPorts.Opened]>([:])
    /// The time when the world was last used, in seconds of the machine's monotonic clock.
    let lastUse = Atomic<Int>(0)
    /// The number of the world's last use, counted over all worlds.
    let useNumber = Atomic<Int>(0)
    /// The inbox's number: see `World.inboxNumber`.
    let inboxNumber = Atomic<Int>(nextInboxNumber)
    let wasChanged = Atomic<Bool>(false)
    /// Whether a client was told that the world is new.
    let isToldNew = Atomic<Bool>(false)
    /// Whether a fault may be queued. Checked before the lock is taken: waiting for it would cost more than the work
    /// under it.
    let mayHaveFaults: Atomic<Bool>

    init(_ name: String, _ seed: Seed, _ budget: ProcessBudget, _ store: WorldStore, isShared: Bool) {
        self.isShared = isShared
        recording = budget.recordings.recording(of: name)
        inboxListeners = Listeners(on: inboxQueue)
        inboxSize = MailBudget.Part(of: budget.mail)
        self.store = store
        mayHaveFaults = Atomic(!seed.faults.isEmpty)
    }

    deinit { FreedMemory.giveBackSoon() }

    var keyStore: KeyStore { KeyStore(tables: store, isShared: isShared) }

    private static let inboxes = Atomic<Int>(0)
    static var nextInboxNumber: Int { inboxes.wrappingAdd(1, ordering: .relaxed).newValue }
}
