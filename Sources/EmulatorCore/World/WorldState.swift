import Synchronization

/// What stays of a world when its seed is replaced or extended.
final class WorldState: Sendable {
    let recording: Recording
    let inboxListeners: InboxListeners
    let inboxSize: MailBudget.Part
    let preparation = Preparation()
    let streams = OpenStreams()
    let store: any Store
    let openedPort = Mutex<WorldPorts.Opened?>(nil)
    /// When the world was last asked for, on the machine's monotonic clock, in seconds.
    let lastUse = Atomic<Int>(0)
    /// Counts up with every use of any world.
    let useNumber = Atomic<Int>(0)
    let wasChanged = Atomic<Bool>(false)
    /// Whether a fault may be queued. Asked before the lock is taken: workers that wait for it cost more than what they do.
    let mayHaveFaults: Atomic<Bool>

    init(_ seed: Seed, _ budget: ProcessBudget) {
        recording = Recording(in: budget.recordings)
        inboxListeners = InboxListeners(on: budget.recordings.queue)
        inboxSize = MailBudget.Part(of: budget.mail)
        store = MemoryStore(seed)
        mayHaveFaults = Atomic(!seed.faults.isEmpty)
    }
}
