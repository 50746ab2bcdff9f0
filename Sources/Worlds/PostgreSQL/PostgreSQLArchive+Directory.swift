import PostgreSQL

// The part of the archive that daemons share beside the tables of worlds: texts, and the list of all worlds.

extension PostgreSQLArchive {
    package func text(_ name: String) throws(StoreFailure) -> String? {
        let result = try run(PostgreSQLSchema.text(.text(name)))[0]
        return result.count > 0 ? result.text(0, 0) : nil
    }

    package func text(_ name: String, orKeep text: String) throws(StoreFailure) -> String {
        let results = try run(
            PostgreSQLSchema.keepText(.text(name), .text(text)), PostgreSQLSchema.text(.text(name)))
        return results[1].count > 0 ? results[1].text(0, 0) : text
    }

    func run(_ calls: PostgreSQLCall...) throws(StoreFailure) -> [PostgreSQLResult] {
        try pool.use { connection throws(PostgreSQLError) in
            try connection.run(calls, until: .now + PostgreSQLPool.answerLimit)
        }
    }
}

extension PostgreSQLArchive: WorldDirectory {
    package func list() throws(StoreFailure) -> [(name: String, idle: Int)] {
        let result = try run(PostgreSQLSchema.list())[0]
        return (0..<result.count).map { row in
            (name: result.text(row, 0), idle: Int(clamping: result.integer(row, 1)))
        }
    }

    package func has(_ name: String) throws(StoreFailure) -> Bool {
        try run(PostgreSQLSchema.has(.text(name)))[0].count > 0
    }

    package func count() throws(StoreFailure) -> Int {
        Int(clamping: try run(PostgreSQLSchema.count())[0].integer(0, 0))
    }

    package func recordUse(of names: [String]) throws(StoreFailure) {
        guard !names.isEmpty else { return }
        let calls = names.map { PostgreSQLSchema.use(.text($0)) }
        _ = try pool.use { connection throws(PostgreSQLError) in
            try connection.run(calls, until: .now + PostgreSQLPool.answerLimit)
        }
    }

    /// The number of test worlds that are removed in one database transaction.
    private static let removedAtOnce = 100

    package func removeIdle(
        _ seconds: Int, atMost count: Int, but kept: String
    ) throws(StoreFailure) -> [String] {
        var names: [String] = []
        while names.count < count {
            let limit = min(count - names.count, PostgreSQLArchive.removedAtOnce)
            let gone = try pool.use { connection throws(PostgreSQLError) in
                try PostgreSQLArchive.removeIdle(seconds, limit, kept, connection)
            }
            names += gone
            guard gone.count == limit else { break }
        }
        return names
    }

    private static func removeIdle(
        _ seconds: Int, _ limit: Int, _ kept: String, _ connection: PostgreSQLConnection
    ) throws(PostgreSQLError) -> [String] {
        let deadline = ContinuousClock.now + PostgreSQLPool.answerLimit
        let idle = try connection.run(
            [
                PostgreSQLSchema.begin(),
                PostgreSQLSchema.idle(.integer(Int64(seconds)), .text(kept), .integer(Int64(limit))),
            ], until: deadline)[1]
        var calls: [PostgreSQLCall] = []
        for row in 0..<idle.count { calls += PostgreSQLSchema.removal(of: idle.integer(row, 0)) }
        try connection.run(calls + [PostgreSQLSchema.commit()], until: deadline)
        return (0..<idle.count).map { idle.text($0, 1) }
    }
}

extension PostgreSQLSchema {
    /// Returns the SQL statements that remove all data of a test world. The first statement removes the world's row,
    /// after any daemon that is changing the world has finished. A daemon that begins a change later no longer finds
    /// the row.
    static func removal(of world: Int64) -> [PostgreSQLCall] {
        [remove, removeRows, removeChanges].map { $0(.integer(world)) }
    }
}
