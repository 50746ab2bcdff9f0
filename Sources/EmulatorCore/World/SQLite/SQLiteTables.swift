import SQLite
import Time

/// The tables and values of one world in a file of SQLite's. Only used while the lock of the stores is held, which is what makes this
/// sendable.
///
/// What was read or written stays in memory: nobody else writes the file. When the file fails, all that is forgotten, what was asked
/// for isn't found, and nothing is changed until the closure that asks has ended.
final class SQLiteTables: @unchecked Sendable {
    class AnyBox {
        /// As it is in the file; `nil` when it isn't.
        var written: [UInt8]?
        /// As it is there once the change that is under way is committed.
        var writing: [UInt8]?

        var name: String { "" }

        func encoded(by coder: StoredCoder) throws(StoreFailure) -> [UInt8] { [] }
        /// Whether it is known to be in the file as it is now.
        var isUnchanged: Bool { false }
        /// Back to what it was before the change.
        func restore() {}
        func settle() { if let writing { (written, self.writing) = (writing, nil) } }
    }

    final class Box<V: WorldValue>: AnyBox {
        var value: V
        var before: V?

        init(_ value: V) { self.value = value }

        override var name: String { V.name }

        override func encoded(by coder: StoredCoder) throws(StoreFailure) -> [UInt8] { try coder.encode(value) }

        override var isUnchanged: Bool { written != nil && before.map { value.isWritten(as: $0) } ?? false }

        override func restore() {
            if let before { value = before }
            (before, writing) = (nil, nil)
        }

        override func settle() {
            super.settle()
            before = nil
        }
    }

    let file: SQLiteFile
    let name: String
    let coder: StoredCoder
    /// What values are made from that weren't written.
    private var seed: Seed
    /// Whose rows aren't written while they are as there.
    private var rowSeed: Seed
    /// The world's number; `nil` while nothing of it was written.
    private var world: Int64?
    var spaces: [String: Int64] = [:]
    private var isLoaded = false
    private var tables: [ObjectIdentifier: SQLiteTable] = [:]
    private var values: [ObjectIdentifier: AnyBox] = [:]
    private var touched: [AnyBox] = []
    var isChanging = false
    /// What to do to have everything here as it was before the change that is under way.
    var restoring: [() -> Void] = []
    /// What went wrong since `begin`.
    private(set) var failure: StoreFailure?

    init(_ name: String, _ seed: Seed, in file: SQLiteFile) {
        self.name = name
        self.seed = seed
        self.file = file
        rowSeed = seed
        coder = StoredCoder(profiles: seed.format.profiles)
    }

    /// Runs `body` unless something has failed already.
    func attempt<T>(otherwise: T, _ body: () throws(StoreFailure) -> T) -> T {
        guard failure == nil else { return otherwise }
        do throws(StoreFailure) { return try body() } catch {
            failure = error
            return otherwise
        }
    }

    func sql<T>(_ body: () throws(SQLiteError) -> T) throws(StoreFailure) -> T {
        do throws(SQLiteError) { return try body() } catch { throw StoreFailure(error) }
    }

    // MARK: - Changes

    func begin() { failure = file.isClosed ? StoreFailure(.gone, "the daemon has stopped") : nil }

    /// Writes what was changed. What can't be written is undone: `failure` says why.
    func commit() {
        attempt(otherwise: ()) { () throws(StoreFailure) in
            var place = 0
            // A new world's clock comes to them on the way.
            while place < touched.count {
                let box = touched[place]
                place += 1
                if box.isUnchanged { continue }
                let bytes = try box.encoded(by: coder)
                guard bytes != box.written else { continue }
                let world = try change()
                try sql { () throws(SQLiteError) in
                    try file.statements.setValue.run(.integer(world), .text(box.name), .utf8(bytes))
                }
                box.writing = bytes
            }
            if isChanging { try sql { () throws(SQLiteError) in try file.statements.commit.run() } }
        }
        guard failure == nil else { return undo() }
        isChanging = false
        for box in touched { box.settle() }
        (touched, restoring) = ([], [])
        for table in tables.values { table.restoring = [] }
        file.limitCache()
    }

    /// Back to what there was at `begin`.
    func undo() {
        if isChanging {
            isChanging = false
            do throws(SQLiteError) { try file.statements.rollback.run() } catch {
                // SQLite has done it itself where it couldn't write.
                if failure == nil, file.database.isInTransaction { failure = StoreFailure(error) }
            }
            file.forgetReserved()
        }
        for box in touched { box.restore() }
        touched = []
        for table in tables.values {
            while let restore = table.restoring.popLast() { restore() }
        }
        while let restore = restoring.popLast() { restore() }
        if failure != nil { forget() }
    }

    func forgetTables() { tables = [:] }

    /// Whatever is in memory may not be what is in the file.
    private func forget() {
        (tables, values, spaces, world, isLoaded) = ([:], [:], [:], nil, false)
        // Whoever mends a damaged file needn't start the daemon again.
        if failure?.kind == .unreadable { file.database.releaseMemory() }
    }

    /// Begins to change the file, unless that has happened, and returns the world's number.
    func change() throws(StoreFailure) -> Int64 {
        try load()
        if !isChanging {
            try sql { () throws(SQLiteError) in try file.begin() }
            isChanging = true
        }
        if let world { return world }
        let made = try sql { () throws(SQLiteError) in
            try file.statements.addWorld.first(.text(name)) { $0.integer(0) } ?? 0
        }
        world = made
        restoring.append { [self] in world = nil }
        // A clock that the seed sets goes on from now, also after the daemon's next start.
        touch(box(WorldClock.self))
        return made
    }

    private func load() throws(StoreFailure) {
        guard !isLoaded else { return }
        try sql { () throws(SQLiteError) in
            world = try file.statements.world.first(.text(name)) { $0.integer(0) }
            guard let world else { return }
            try file.statements.spaces.each(.integer(world)) { row in
                spaces[row.text(0)] = row.integer(1)
                return true
            }
        }
        isLoaded = true
    }

    /// Removes everything of the world.
    func removeAll() {
        begin()
        attempt(otherwise: ()) { () throws(StoreFailure) in
            try load()
            guard let world else { return }
            _ = try change()
            let statements = file.statements
            try sql { () throws(SQLiteError) in
                for space in spaces.values {
                    try statements.removeRows.run(.integer(space))
                    try statements.removeEntries.run(.integer(space))
                    try statements.removeTexts.run(.integer(space))
                }
                try statements.removeValues.run(.integer(world))
                try statements.removeSpaces.run(.integer(world))
                try statements.removeWorld.run(.integer(world))
                try statements.commit.run()
            }
        }
        guard failure == nil else { return undo() }
        isChanging = false
        (touched, restoring) = ([], [])
        forget()
    }

    /// The world begins afresh from this seed.
    func reset(to seed: Seed) { (self.seed, rowSeed) = (seed, seed) }

    /// Whether something of the world is written.
    var isKept: Bool {
        begin()
        attempt(otherwise: ()) { () throws(StoreFailure) in try load() }
        return failure == nil && world != nil
    }

    /// Goes on with what an earlier process had.
    func resume(_ seed: Seed, rows: Seed) {
        forget()
        (self.seed, rowSeed) = (seed, rows)
    }

    /// What the earlier seed says is written first: what a world has doesn't depend on whether it was asked for.
    func adopt(_ seed: Seed) {
        begin()
        touch(box(OutcomeQueue.self))
        touch(box(FaultQueue.self))
        touch(box(WorldClock.self))
        touch(box(RandomSource.self))
        commit()
        if failure == nil { self.seed = seed }
    }

    // MARK: - Tables

    func table<R: Row>(_ type: R.Type) throws(StoreFailure) -> SQLiteTable {
        if let table = tables[ObjectIdentifier(type)] { return table }
        try load()
        let table = SQLiteTable(type, seeded: rowSeed.rows(of: type)?.table, file, coder)
        try loadSpaces(of: table)
        tables[ObjectIdentifier(type)] = table
        return table
    }

    func tableToChange<R: Row>(_ type: R.Type) throws(StoreFailure) -> SQLiteTable {
        let table = try table(type)
        _ = try change()
        if table.spaces == nil { try addSpaces(to: table) }
        return table
    }

    // MARK: - Values

    func touch<V: WorldValue>(_ box: Box<V>) {
        guard box.before == nil else { return }
        box.before = box.value
        touched.append(box)
    }

    func box<V: WorldValue>(_ type: V.Type) -> Box<V> {
        if let box = values[ObjectIdentifier(type)] { return unsafeDowncast(box, to: Box<V>.self) }
        let written = attempt(otherwise: [UInt8]?.none) { () throws(StoreFailure) -> [UInt8]? in
            try load()
            guard let world else { return nil }
            return try sql { () throws(SQLiteError) in
                try file.statements.value.first(.integer(world), .text(V.name)) { $0.utf8(0) }
            }
        }
        let read = attempt(otherwise: V?.none) { () throws(StoreFailure) -> V? in
            guard let written else { return nil }
            return try coder.decode(type, from: written)
        }
        let box = Box(read ?? V(seed))
        box.written = written
        // What stands in for a value that can't be read isn't kept.
        if failure == nil { values[ObjectIdentifier(type)] = box }
        return box
    }
}
