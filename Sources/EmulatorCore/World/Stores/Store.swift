import Platform
import Time

/// Where the tables of a world are kept.
///
/// Whatever the store does, closures see and leave the same. When it fails, a closure runs to its end all the same, finds nothing,
/// and changes nothing; `StoreCall` is told, so that whoever asked is refused (`StoreFailure`).
package protocol Store: AnyObject, Sendable {
    func read<Result: Sendable, Failure: Error>(
        _ body: (borrowing Snapshot) throws(Failure) -> Result
    ) throws(Failure) -> Result

    func update<Result: Sendable, Failure: Error>(
        _ body: (inout Transaction) throws(Failure) -> Result
    ) throws(Failure) -> Result

    /// Everything as in a new world of this seed, with what `putting` adds, in one step; `also` is part of it.
    func reset(to seed: Seed, putting: (inout Transaction) -> Void, also: () -> Void)

    /// What hasn't been asked for yet is made from this seed; the rest stays.
    func adopt(_ seed: Seed)

    /// A copy of the world's clock; `nil` in stores that keep none.
    var lastClock: LastClock? { get }

    /// Whether what is kept outlives the process.
    var lasts: Bool { get }

    /// Whether something of the world was kept before this process took it up.
    var isKept: Bool { get }

    /// What hasn't been asked for yet is made from `seed`, but rows that a seed brings are those of `rows`: what was kept began so.
    func resume(_ seed: Seed, rows: Seed)

    /// The world has gone: nothing is kept of it. What requests that are under way still change is lost.
    func remove()

    /// What other daemons have changed before this call is seen by whatever reads the world afterwards. A failure is told to
    /// `StoreCall`. Only stores that are shared have anything to do here, and may wait.
    func refresh() -> StoreNews

    /// Calls `body` each time after changes by other daemons were taken over, on the thread that did so, under no lock of a world's
    /// tables: it may look at them, but neither refresh nor change them.
    func whenOthersChange(_ body: @escaping @Sendable (StoreChange) -> Void)
}

/// What a store found when it looked for changes by other daemons.
package enum StoreNews: Sendable {
    case same
    case changed
    /// The world isn't there any more. One of the same name may be: it is another world, with a store of its own.
    case gone
}

/// What other daemons have changed in a world.
package struct StoreChange: Sendable {
    /// Of the tables and values.
    package var names: Set<String>
    /// Whether the world began afresh.
    package var isReset: Bool

    package init(names: Set<String> = [], isReset: Bool = false) {
        self.names = names
        self.isReset = isReset
    }
}

extension Store {
    package func reset(to seed: Seed, also: () -> Void = {}) { reset(to: seed, putting: { _ in }, also: also) }

    package var lasts: Bool { false }
    package var lastClock: LastClock? { nil }
    package var isKept: Bool { false }

    package func resume(_ seed: Seed, rows: Seed) {}

    package func remove() {}

    package func refresh() -> StoreNews { .same }

    package func whenOthersChange(_ body: @escaping @Sendable (StoreChange) -> Void) {}
}

/// Where a daemon keeps its worlds.
package protocol WorldStores: Sendable {
    /// Whether reading or changing a world may fail, of which `StoreCall` is told.
    var canFail: Bool { get }

    /// Whether whoever reads or changes a world may have to wait for it now. Workers of libmicrohttpd never do.
    var waits: Bool { get }

    /// Where requests run when they may have to wait.
    var threads: WorkThreads { get }

    /// The store of the world of this name, with all that is kept of it.
    func store(of world: String, seed: Seed) -> any Store

    /// The names of the worlds that are kept from earlier.
    var worlds: [String] { get }

    /// Where recordings are kept that other daemons share; `nil` where they stay in this process.
    var recordings: (any RecordingKeeper)? { get }

    /// Whether other daemons may read and change the same worlds.
    var isShared: Bool { get }

    /// This daemon's number among those that share the worlds, from 1 to 4095, unlike that of all others that run; 0 when the
    /// worlds aren't shared.
    var replica: Int { get }

    /// How the store is, as far as is known without asking it.
    var health: StoreHealth { get }

    /// Texts that last as long as the worlds, for all daemons that share them; `nil` where they would end with the process.
    var sharedTexts: (any SharedTexts)? { get }

    /// What there is to know of worlds that this daemon doesn't hold; `nil` where it holds all.
    var directory: (any WorldDirectory)? { get }

    /// Where it has failed, finds out whether it works again. May wait.
    func tryAgain()

    /// Nothing is served any more.
    func close()
}

/// Texts by name that daemons share, such as keys, or a secret that one of them made.
package protocol SharedTexts: Sendable {
    /// `nil` when nothing is kept under this name.
    func text(_ name: String) throws(StoreFailure) -> String?

    /// What is kept under this name, or else `text`, which is kept from now on; all daemons get the same.
    func text(_ name: String, orKeep text: String) throws(StoreFailure) -> String
}

/// How a store is.
package struct StoreHealth: Sendable {
    /// `memory`, `sqlite` or `postgresql`.
    package let kind: String
    /// Why it can't be used now; `nil` when it can.
    package var failure: StoreFailure?
    /// Since when that is so, by the machine's clock.
    package var failingSince: Instant?
    /// The daemons that share it, this one among them; empty when it isn't shared.
    package var replicas: [Replica] = []

    /// A daemon among those that share a store.
    package struct Replica: Sendable {
        package let number: Int
        /// Its machine and process.
        package let name: String

        package init(number: Int, name: String) {
            self.number = number
            self.name = name
        }
    }

    package init(kind: String) { self.kind = kind }
}

extension WorldStores {
    package var waits: Bool { canFail }
    package var threads: WorkThreads { .shared }
    package var worlds: [String] { [] }
    package var recordings: (any RecordingKeeper)? { nil }
    package var isShared: Bool { false }
    package var replica: Int { 0 }
    package var sharedTexts: (any SharedTexts)? { nil }
    package var directory: (any WorldDirectory)? { nil }

    package func tryAgain() {}

    package func close() {}
}

/// Keeps worlds in this process's memory, for as long as it runs.
package struct MemoryStores: WorldStores {
    private let isChecked: Bool

    /// `isChecked` tries, whatever worlds are used for, what stores that last rely on: see `MemoryStore`.
    package init(isChecked: Bool = false) { self.isChecked = isChecked }

    /// Where it is checked, requests take the way that they take with stores for which they wait.
    package var canFail: Bool { isChecked }

    package var health: StoreHealth { StoreHealth(kind: "memory") }

    package func store(of world: String, seed: Seed) -> any Store { MemoryStore(seed, isChecked: isChecked) }
}
