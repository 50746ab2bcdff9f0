import Dispatch
import Platform
import Synchronization

/// What stays of a world when its seed is replaced or extended.
final class WorldState: Sendable {
    let recording: Recording
    /// For whoever searches the inbox or listens to it.
    let inboxQueue = DispatchQueue(label: "understudy.inbox")
    let inboxListeners: Listeners
    let inboxSize: MailBudget.Part
    let preparation = Preparation()
    let streams = OpenStreams()
    let store: WorldStore
    /// Whether other daemons may change the world.
    let isShared: Bool
    let openedPorts = Mutex<[WorldPorts.Kind: WorldPorts.Opened]>([:])
    /// When the world was last asked for, on the machine's monotonic clock, in seconds.
    let lastUse = Atomic<Int>(0)
    /// Counts up with every use of any world.
    let useNumber = Atomic<Int>(0)
    /// See `World.inboxNumber`.
    let inboxNumber = Atomic<Int>(nextInboxNumber)
    let wasChanged = Atomic<Bool>(false)
    /// Whether somebody was told that the world is new.
    let isToldNew = Atomic<Bool>(false)
    /// Whether a fault may be queued. Asked before the lock is taken: workers that wait for it cost more than what they do.
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
