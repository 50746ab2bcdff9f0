import Platform
import Time

/// Where worlds are kept beside this process's memory: in a file, or in a database that daemons share.
///
/// An archive knows nothing of tables. It keeps each world's rows and values as JSON, and commits the changes that `WorldStore` gives it.
/// Calls may wait, and throw when the archive can't be used.
package protocol Archive: SharedTexts, AnyObject {
    /// Whether other daemons may read and change the same worlds.
    var isShared: Bool { get }

    /// This daemon's number among those that share the archive, from 1 to 4095, unlike that of all others that run; 0 when it isn't
    /// shared.
    var replica: Int { get }

    /// How the archive is, as far as is known without asking it.
    var health: StoreHealth { get }

    /// The names of the worlds that are kept.
    func worlds() throws(StoreFailure) -> [String]

    /// Reads the world of this name. A world that isn't there is made, with the values that `beginning` returns; without `beginning`,
    /// `nil` is returned.
    func load(
        _ world: String, beginning: (() throws(StoreFailure) -> [ArchivedValue])?
    ) throws(StoreFailure) -> ArchivedWorld?

    /// What others have changed in a world since a version.
    func news(of world: Int64, after version: Int64) throws(StoreFailure) -> ArchiveNews

    /// Commits the change that `make` returns, as the one after the version `version` of the world. With `nil`, nothing is committed.
    ///
    /// When the world has a later version, the outcome is `conflict`, and what `make` did is to be undone. With `isLocking`, nobody else
    /// can change the world meanwhile: `make` gets what others have changed before.
    ///
    /// - Throws: What `make` throws, or why the change isn't committed; `unknown` when whether it is can't be found out.
    func commit(
        to world: Int64, after version: Int64, isLocking: Bool,
        _ make: ([ArchivedChange]) throws(StoreFailure) -> WorldChange?
    ) throws(StoreFailure) -> CommitOutcome

    /// Removes a world, with all that is kept of it. `false` when it isn't there.
    func remove(_ world: Int64) throws(StoreFailure) -> Bool

    /// What there is to know of worlds that this daemon doesn't hold; `nil` where it holds all.
    var directory: (any WorldDirectory)? { get }

    /// Where recordings are kept that other daemons share; `nil` where they stay in this process.
    var recordings: (any RecordingKeeper)? { get }

    /// Finds out whether an archive that has failed works again.
    func tryAgain()

    /// Ends the use of the archive. Later calls throw.
    func close()
}

extension Archive {
    package var isShared: Bool { false }
    package var replica: Int { 0 }
    package var directory: (any WorldDirectory)? { nil }
    package var recordings: (any RecordingKeeper)? { nil }
    package func tryAgain() {}
}

/// A row of a world, as archives keep it.
package struct ArchivedRow: Codable, Sendable {
    /// What a row is beside the rows that the world's seed brings. Seeded rows aren't kept while they are as in the seed.
    package enum Kind: Int64, Codable, Sendable {
        /// It stands among the rows that the world has got since.
        case own = 0
        /// It stands in the place of the seeded row of its key.
        case replacing = 1
        /// The seeded row of its key was removed. There is no value.
        case removed = 2
    }

    package let table: String
    package let key: String
    /// `nil` in a change that takes the row away.
    package let kind: Kind?
    /// A number that orders the rows of a world as they came.
    package let place: Int64
    /// JSON.
    package let value: String
}

/// A value that a world has one of, as archives keep it.
package struct ArchivedValue: Codable, Sendable {
    package let name: String
    /// JSON.
    package let value: String
}

/// What an update has changed in a world: the present form of the rows and values that it touched. It is also what daemons that share
/// a world tell one another, as JSON.
package struct WorldChange: Codable, Sendable {
    /// Whether the world began anew from its seed before.
    package var isReset = false
    /// In the order of their places.
    package var rows: [ArchivedRow] = []
    package var values: [ArchivedValue] = []

    package var isEmpty: Bool { !isReset && rows.isEmpty && values.isEmpty }
}

/// A change that is committed.
package struct ArchivedChange: Sendable {
    /// The world's version after the change, and before it.
    package let version: Int64
    package let before: Int64
    package let change: WorldChange
}

extension [ArchivedChange] {
    /// The same without the values that a later one of these changes has, too. A thousand orders, queued one by one, are a thousand
    /// values of up to a thousand orders, of which only the last counts.
    var withLastValues: [ArchivedChange] {
        var last: [String: Int64] = [:]
        for change in self { for value in change.change.values { last[value.name] = change.version } }
        return map { archived in
            var change = archived.change
            change.values.removeAll { last[$0.name] != archived.version }
            return ArchivedChange(version: archived.version, before: archived.before, change: change)
        }
    }
}

/// All that an archive keeps of a world.
package struct ArchivedWorld: Sendable {
    package let id: Int64
    package let version: Int64
    /// The version at which the world began anew from its seed.
    package let beginning: Int64
    /// In the order of their places.
    package var rows: [ArchivedRow] = []
    package var values: [ArchivedValue] = []
    /// Whether it was there before it was asked for.
    package var wasThere = true
}

/// What others have changed in a world.
package enum ArchiveNews: Sendable {
    case none
    /// There may be more, unless `isAll`.
    case changes([ArchivedChange], isAll: Bool)
    /// The changes aren't kept any more: the world is to be loaded again.
    case forgotten
    /// The world isn't there any more.
    case gone
}

/// What has become of a change that was to be committed.
package enum CommitOutcome: Sendable {
    /// The world has this version now.
    case committed(version: Int64)
    /// There was nothing to commit.
    case unchanged
    /// Others have changed the world.
    case conflict
    /// The world isn't there any more, and nothing was committed.
    case gone
}

/// Texts by name that daemons share, such as keys, or a secret that one of them made.
package protocol SharedTexts: Sendable {
    /// The text under this name; `nil` when there is none.
    func text(_ name: String) throws(StoreFailure) -> String?

    /// The text under this name, or else `text`, which is kept from now on; all daemons get the same.
    func text(_ name: String, orKeep text: String) throws(StoreFailure) -> String
}

/// What replicas know of all worlds together, whichever of them holds one. Each call is one short transaction.
package protocol WorldDirectory: Sendable {
    /// Every world that there is, with the seconds since any replica has noted a use of it.
    func list() throws(StoreFailure) -> [(name: String, idle: Int)]

    /// Whether there is a world of this name.
    func has(_ name: String) throws(StoreFailure) -> Bool

    /// How many there are.
    func count() throws(StoreFailure) -> Int

    /// The worlds of these names are used now.
    func noteUse(of names: [String]) throws(StoreFailure)

    /// Removes worlds for whose use nobody has noted for so many seconds: at most `count`, the least recently used first, and never
    /// the one called `kept`. Returns their names. Of several replicas that ask at once, each removes others.
    func removeIdle(_ seconds: Int, atMost count: Int, but kept: String) throws(StoreFailure) -> [String]
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
