import Platform
import Time

/// A place where worlds are kept beside this process's memory: a file, or a database that daemons share.
///
/// An archive knows nothing of tables. It keeps each world's rows and values as JSON, and commits the changes that
/// `WorldStore` gives it. Calls may wait, and throw when the archive can't be used.
package protocol Archive: SharedTexts, AnyObject {
    /// Whether other daemons may read and change the same worlds.
    var isShared: Bool { get }

    /// This daemon's number among those that share the archive, from 1 to 4095, which no other running one has; 0 when
    /// the archive isn't shared.
    var replica: Int { get }

    /// The health of the archive, as known from earlier calls.
    var health: StoreHealth { get }

    /// Returns the names of the worlds that are kept.
    func worlds() throws(StoreFailure) -> [String]

    /// Reads the world of this name. If there is none, makes it with the values that `beginning` returns; without
    /// `beginning`, returns `nil`.
    func load(
        _ world: String, beginning: (() throws(StoreFailure) -> [ArchivedValue])?
    ) throws(StoreFailure) -> ArchivedWorld?

    /// Returns the changes that others have made in a world since a version.
    func news(of world: Int64, after version: Int64) throws(StoreFailure) -> ArchiveNews

    /// Commits the change that `make` returns, as the one after the version `version` of the world. With `nil`, nothing
    /// is committed.
    ///
    /// When the world has a later version, the outcome is `conflict`, and the caller undoes what `make` did. With
    /// `isLocking`, nobody else can change the world meanwhile, and `make` gets the changes that others have made
    /// before. The first attempt doesn't lock, which saves a round trip.
    ///
    /// - Throws: The error of `make`, or the reason why the change isn't committed; `unknown` when it can't be
    ///   determined whether it is.
    func commit(
        to world: Int64, after version: Int64, isLocking: Bool,
        _ make: ([ArchivedChange]) throws(StoreFailure) -> WorldChange?
    ) throws(StoreFailure) -> CommitOutcome

    /// Removes a world, with all that is kept of it. Returns `false` when there is none.
    func remove(_ world: Int64) throws(StoreFailure) -> Bool

    /// The list of all worlds, with those that this daemon doesn't hold; `nil` where it holds all.
    var directory: (any WorldDirectory)? { get }

    /// Tries whether an archive that has failed works again.
    func tryAgain()

    /// Ends the use of the archive. Later calls throw.
    func close()
}

extension Archive {
    package var isShared: Bool { false }
    package var replica: Int { 0 }
    /// Returns no changes, since nobody else changes the worlds.
    package func news(of world: Int64, after version: Int64) -> ArchiveNews { .none }
    package var directory: (any WorldDirectory)? { nil }
    package func tryAgain() {}
}

/// A row of a world, as archives keep it.
package struct ArchivedRow: Codable, Sendable {
    /// The relation of a row to the rows of the world's seed. Unchanged seeded rows aren't archived.
    package enum Kind: Int64, Codable, Sendable {
        /// The row is among those added since the world began.
        case own = 0
        /// The row replaces the seeded row with its key.
        case replacing = 1
        /// The seeded row with this key was removed. There is no value.
        case removed = 2
    }

    package let table: String
    package let key: String
    /// The kind; `nil` in a change that removes the row.
    package let kind: Kind?
    /// A number that orders the rows of a world as they came.
    package let place: Int64
    /// The row as JSON.
    package let value: String
}

/// A value as archives keep it, of which a world has one.
package struct ArchivedValue: Codable, Sendable {
    package let name: String
    /// The value as JSON.
    package let value: String
}

/// The changes of an update: the present form of the rows and values that it touched. Daemons that share a world
/// exchange it as JSON.
package struct WorldChange: Codable, Sendable {
    /// Whether the world began anew from its seed before these changes.
    package var isReset = false
    /// The rows in the order of their places.
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
    /// The changes without values that a later change of the list overwrites. If a thousand orders are queued one by
    /// one, there are a thousand values of up to a thousand orders, of which only the last counts.
    package var withLastValues: [ArchivedChange] {
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
    /// The rows in the order of their places.
    package var rows: [ArchivedRow] = []
    package var values: [ArchivedValue] = []
    /// Whether the world was there before it was asked for.
    package var wasThere = true
}

/// The changes that other daemons have made in a world.
package enum ArchiveNews: Sendable {
    case none
    /// Changes, in order. Unless `isAll`, there may be more.
    case changes([ArchivedChange], isAll: Bool)
    /// The changes aren't kept any more, so the world must be loaded again.
    case forgotten
    /// The world has been removed.
    case removed
}

/// The outcome of a commit.
package enum CommitOutcome: Sendable {
    /// The world has this version now.
    case committed(version: Int64)
    /// There was nothing to commit.
    case unchanged
    /// Nothing was committed, and another attempt may succeed: others have changed the world, or the connection was lost.
    case conflict
    /// The world has been removed, and nothing was committed.
    case removed
}

/// Texts by name that daemons share, such as keys, or a secret made by one of them.
package protocol SharedTexts: Sendable {
    /// Returns the text with this name; `nil` when there is none.
    func text(_ name: String) throws(StoreFailure) -> String?

    /// Returns the text with this name. If there is none, stores `text`, so that all daemons get the same.
    func text(_ name: String, orKeep text: String) throws(StoreFailure) -> String
}

/// The list of all worlds, whichever replica holds them. Each call is one short transaction.
package protocol WorldDirectory: Sendable {
    /// Returns every world, with the seconds since any replica noted a use of it.
    func list() throws(StoreFailure) -> [(name: String, idle: Int)]

    /// Returns whether there is a world of this name.
    func has(_ name: String) throws(StoreFailure) -> Bool

    /// Returns the number of worlds.
    func count() throws(StoreFailure) -> Int

    /// Notes that the worlds of these names are used now.
    func noteUse(of names: [String]) throws(StoreFailure)

    /// Removes worlds for which no use was noted for so many seconds: at most `count`, the least recently used first,
    /// and never the one called `kept`. Returns their names. If several replicas ask at once, each removes different
    /// ones.
    func removeIdle(_ seconds: Int, atMost count: Int, but kept: String) throws(StoreFailure) -> [String]
}

/// The health of a store.
package struct StoreHealth: Sendable {
    /// The kind of store: `memory`, `sqlite` or `postgresql`.
    package let kind: String
    /// The reason why the store can't be used now; `nil` when it can.
    package var failure: StoreFailure?
    /// The time since which the store can't be used, by the machine's clock.
    package var failingSince: Instant?
    /// The daemons that share the store, this one among them; empty when it isn't shared.
    package var replicas: [Replica] = []

    /// One of the daemons that share a store.
    package struct Replica: Sendable {
        package let number: Int
        /// The names of the replica's machine and process.
        package let name: String

        package init(number: Int, name: String) {
            self.number = number
            self.name = name
        }
    }

    package init(kind: String) { self.kind = kind }
}

/// The reason why worlds can't be read or changed at the moment.
package struct StoreFailure: Error, Equatable {
    package enum Kind: String, CaseIterable, Sendable {
        /// The store can't be reached or opened.
        case unreachable
        /// The store took too long to answer.
        case slow
        /// The store has no space left.
        case full
        /// The store can't be written.
        case readOnly
        /// The store's content is from a newer version of this program.
        case newer
        /// The content can't be read: it isn't a store, or it is damaged.
        case unreadable
        /// A row or value isn't declared by any part of this program, or can't be encoded.
        case undeclared
        /// The connection was lost while writing, so it isn't known whether the change was committed.
        case unknown

        /// The code in the control API's refusals, such as `storeFull`.
        package var code: String { "store\(rawValue.prefix(1).uppercased())\(rawValue.dropFirst())" }
    }

    package let kind: Kind
    /// The store's message, in a few words.
    package let detail: String

    package init(_ kind: Kind, _ detail: String) {
        self.kind = kind
        self.detail = detail
    }

    /// What is wrong, and what to do about it, in one line.
    package var message: String { "the store of the worlds \(what) (\(detail)): \(advice)" }

    private var what: String {
        switch kind {
        case .unreachable: "can't be reached"
        case .slow: "doesn't answer in time"
        case .full: "is full"
        case .readOnly: "can't be written"
        case .newer: "belongs to a newer version"
        case .unreadable: "can't be read"
        case .undeclared: "can't keep this"
        case .unknown: "was lost while it wrote"
        }
    }

    private var advice: String {
        switch kind {
        case .unreachable, .slow: "this change wasn't made, send the request again"
        case .full: "this change wasn't made; make room, then send the request again"
        case .readOnly: "this change wasn't made; let the daemon write it, then send the request again"
        case .unknown: "whether anything has changed isn't known, look before sending the request again"
        case .newer: "this change wasn't made; use that version"
        case .unreadable: "this change wasn't made; mend what is kept, or load a snapshot into another store"
        case .undeclared: "this change wasn't made; please report this, it is a mistake of understudy's"
        }
    }
}
