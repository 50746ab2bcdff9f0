import Platform
import Time

/// A place where test worlds are stored besides their tables in this process: a file, a database that several daemons
/// share, or memory (for tests). Calls may block, and throw an error when the archive can't be used.
package protocol Archive: SharedTexts, AnyObject {
    /// Whether other daemons may read and change the stored test worlds, too.
    var isShared: Bool { get }

    /// The number, from 1 to 4095, of this daemon among the daemons that share the archive of test worlds. No other
    /// running daemon has the same number. 0 means that the archive isn't shared.
    var replica: Int { get }

    /// The health of the archive that stores test worlds, as known from earlier calls.
    var health: StoreHealth { get }

    func worlds() throws(StoreFailure) -> [String]

    /// Reads the test world of this name from the archive. If the archive has no such world, makes it with the initial
    /// values that `beginning` returns. If `beginning` is `nil`, returns `nil` instead of making a world.
    func load(
        _ world: String, beginning: (() throws(StoreFailure) -> [ArchivedValue])?
    ) throws(StoreFailure) -> ArchivedWorld?

    /// Returns the changes that other daemons have made in a test world since its version `version`.
    func news(of world: Int64, after version: Int64) throws(StoreFailure) -> ArchiveNews

    /// Commits the change that `make` returns, and gives the test world a higher version. If `make` returns `nil`,
    /// nothing is committed.
    ///
    /// The first attempt to commit sets `isLocking` to false, because locking costs a round trip. If another daemon has
    /// changed the world since `version`, nothing is committed, and the result is `conflict`. The caller then undoes
    /// what `make` did, and may try again with `isLocking` set to true. This locks the world, so that no other daemon
    /// can change it, and passes to `make` the changes that other daemons have made since `version`.
    ///
    /// - Throws: The error of `make`, or the reason why the change isn't committed. If the reason is `unknown`, the
    ///   change may have been committed.
    func commit(
        to world: Int64, after version: Int64, isLocking: Bool,
        _ make: ([ArchivedChange]) throws(StoreFailure) -> WorldChange?
    ) throws(StoreFailure) -> CommitOutcome

    /// Removes a test world from the archive, with all its data. Returns `false` when there is no such world.
    func remove(_ world: Int64) throws(StoreFailure) -> Bool

    /// The list of all test worlds in the archive, including worlds that this daemon hasn't loaded; `nil` if this
    /// daemon always has all worlds loaded.
    var directory: (any WorldDirectory)? { get }

    /// Checks whether the archive of test worlds can be used again after a failure.
    func tryAgain()

    /// Closes the archive of test worlds. Calls after that throw an error.
    func close()
}

extension Archive {
    package var isShared: Bool { false }
    package var replica: Int { 0 }
    /// Returns no changes, because only this daemon changes the test worlds in the archive.
    package func news(of world: Int64, after version: Int64) -> ArchiveNews { .none }
    package var directory: (any WorldDirectory)? { nil }
    package func tryAgain() {}
}

/// A row of one of a test world's tables, in the form that is stored in a file or database.
package struct ArchivedRow: Codable, Sendable {
    /// The reason why a row is stored: it was added to the test world, or it replaces or removes a row of the seed (the
    /// initial data). Unchanged rows of the seed aren't stored.
    package enum Kind: Int64, Codable, Sendable {
        /// The row was added to the test world, and isn't part of the seed (the initial data).
        case own = 0
        /// The row takes the place of a row in the seed (the initial data) that has the same key.
        case replacing = 1
        /// The row of the seed (the initial data) with this key was removed from the test world, so no content is
        /// stored.
        case removed = 2
    }

    package let table: String
    package let key: String
    /// The reason why the row is stored: it was added to the test world, or it replaces or removes a row of the seed
    /// (the initial data). It is `nil` in a change that deletes the stored row.
    package let kind: Kind?
    /// The number of the row in the sequence in which the rows of a test world were added; 0 for a removed row.
    package let place: Int64
    /// The content of the stored row, as JSON; empty for a removed row.
    package let value: String
}

/// A single value of a test world, such as its clock, in the form that is stored in a file or database.
package struct ArchivedValue: Codable, Sendable {
    package let name: String
    /// The JSON of a single value of a test world, such as its clock.
    package let value: String
}

/// The rows and values that one update has changed in a test world, as they are after the update. Daemons that share a
/// world exchange the changes as JSON.
package struct WorldChange: Codable, Sendable {
    /// Whether the test world was reset to its seed (the initial data) before these changes.
    package var isReset = false
    /// The rows that a change of a test world adds, replaces or removes, in the sequence in which they were added to
    /// the world.
    package var rows: [ArchivedRow] = []
    package var values: [ArchivedValue] = []

    package var isEmpty: Bool { !isReset && rows.isEmpty && values.isEmpty }
}

/// A committed change of a test world, with the world's version.
package struct ArchivedChange: Sendable {
    /// The test world's version after the committed change. `before` is its version before the change.
    package let version: Int64
    package let before: Int64
    package let change: WorldChange
}

extension [ArchivedChange] {
    /// A copy of this list of a test world's changes, without the values that later changes in the list overwrite.
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

/// All data of a test world that are stored in a file or database.
package struct ArchivedWorld: Sendable {
    package let id: Int64
    package let version: Int64
    /// The version of the test world at which it was made or last reset to its seed (the initial data).
    package let beginning: Int64
    /// The stored rows of the test world, in the sequence in which they were added.
    package var rows: [ArchivedRow] = []
    package var values: [ArchivedValue] = []
    /// Whether the test world existed before it was loaded. If not, loading has created it.
    package var wasThere = true
}

/// The changes that other daemons have made in a test world.
package enum ArchiveNews: Sendable {
    case none
    /// Changes of the test world by other daemons, the oldest first. If `isAll` is false, there may be further changes.
    case changes([ArchivedChange], isAll: Bool)
    /// The stored list of the test world's changes isn't complete, so the whole world must be loaded again.
    case forgotten
    case removed
}

/// The result of committing a change of a test world.
package enum CommitOutcome: Sendable {
    /// The change is committed, and the test world has this version now.
    case committed(version: Int64)
    case unchanged
    /// Nothing was committed, and another attempt may succeed: other daemons have changed the test world, or the
    /// connection was lost.
    case conflict
    case removed
}

/// Named texts that all daemons with a common database share, such as keys, or a secret made by one of the daemons.
package protocol SharedTexts: Sendable {
    /// Returns the text that all daemons of the database share under this name, such as a key; `nil` when there is
    /// none.
    func text(_ name: String) throws(StoreFailure) -> String?

    /// Returns the text that all daemons of the database share under this name. If there is none, stores `text`, so
    /// that all daemons get the same text.
    func text(_ name: String, orKeep text: String) throws(StoreFailure) -> String
}

/// The list of all test worlds in a database that several daemons share, whichever daemon has loaded them. Calls are
/// short transactions.
package protocol WorldDirectory: Sendable {
    /// Returns the names of all test worlds, each with the number of seconds since the last recorded use of the world.
    func list() throws(StoreFailure) -> [(name: String, idle: Int)]

    /// Returns whether there is a test world of this name.
    func has(_ name: String) throws(StoreFailure) -> Bool

    func count() throws(StoreFailure) -> Int

    /// Records that the test worlds of these names are used now.
    func recordUse(of names: [String]) throws(StoreFailure)

    /// Removes test worlds that haven't been used for `seconds`, except the world called `kept`, and returns their
    /// names. At most `count` are removed, the least recently used first. Several daemons can call this at once; no two
    /// of them remove the same world.
    func removeIdle(_ seconds: Int, atMost count: Int, but kept: String) throws(StoreFailure) -> [String]
}

/// The health of the store (file, database or memory) that keeps test worlds.
package struct StoreHealth: Sendable {
    /// The kind of the store that keeps test worlds: `memory`, `sqlite` or `postgresql`.
    package let kind: String
    /// The reason why the store of test worlds can't be used now; `nil` when it can.
    package var failure: StoreFailure?
    /// The time since which the store of test worlds can't be used, by the machine's clock.
    package var failingSince: Instant?
    /// The daemons that share the store of test worlds, including this daemon; empty when the store isn't shared.
    package var replicas: [Replica] = []

    /// One of the daemons that share a store of test worlds.
    package struct Replica: Sendable {
        package let number: Int
        /// The name of the machine on which a daemon runs, and the ID of the daemon's process, such as `ci-7:4711`.
        package let name: String

        package init(number: Int, name: String) {
            self.number = number
            self.name = name
        }
    }

    package init(kind: String) { self.kind = kind }
}

/// The reason why the stored test worlds can't be read or changed at the moment.
package struct StoreFailure: Error, Equatable {
    package enum Kind: String, CaseIterable, Sendable {
        /// The store of test worlds can't be reached or opened.
        case unreachable
        /// The store of test worlds took too long to answer.
        case slow
        /// The store of test worlds has no space left.
        case full
        /// The store of test worlds can't be written.
        case readOnly
        /// The store of test worlds was written by a newer version of this program.
        case newer
        /// The content of the store can't be read: it isn't a store of test worlds, or it is damaged.
        case unreadable
        /// A row or value to be stored is of a type that no part of this program registers, or can't be encoded.
        case undeclared
        /// The connection to the database was lost while writing, so it isn't known whether the change was committed.
        case unknown

        /// The error code in the control API's answers, such as `storeFull`.
        package var code: String { "store\(rawValue.prefix(1).uppercased())\(rawValue.dropFirst())" }
    }

    package let kind: Kind
    /// The reason why the store of test worlds failed, in a few words, such as the database's error message.
    package let detail: String

    package init(_ kind: Kind, _ detail: String) {
        self.kind = kind
        self.detail = detail
    }

    /// The failure of the store of test worlds and the remedy, in one line.
    package var message: String { "\(what) (\(detail)): \(advice)" }

    private var what: String {
        switch kind {
        case .unreachable: "the store of the test worlds can't be reached"
        case .slow: "the store of the test worlds doesn't answer in time"
        case .full: "the store of the test worlds is full"
        case .readOnly: "the store of the test worlds can't be written"
        case .newer: "the store of the test worlds was written by a newer version of understudy"
        case .unreadable: "the store of the test worlds can't be read"
        case .undeclared: "the store of the test worlds can't store this data"
        case .unknown: "the store of the test worlds lost its connection during a write"
        }
    }

    private var advice: String {
        switch kind {
        case .unreachable, .slow: "nothing was changed, send the request again"
        case .full: "nothing was changed; free some space, then send the request again"
        case .readOnly: "nothing was changed; let the daemon write to the store, then send the request again"
        case .unknown: "the change may have been made, check before you send the request again"
        case .newer: "nothing was changed; use the version of understudy that wrote the store"
        case .unreadable: "nothing was changed; repair the store, or load a snapshot into another store"
        case .undeclared: "nothing was changed; this is a bug in understudy, please report it"
        }
    }
}
