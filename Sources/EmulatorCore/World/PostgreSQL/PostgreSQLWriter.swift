import Platform
import PostgreSQL

/// Writes what is changed in worlds that this daemon owns.
final class PostgreSQLWriter: ChangeWriter {
    enum Work {
        /// A world has been changed.
        case change(PostgreSQLStore)
        /// The world with this number has gone.
        case remove(Int64)
    }

    private let pool: PostgreSQLPool
    private let writer: Int64

    init(_ pool: PostgreSQLPool, _ writer: Int64) {
        self.pool = pool
        self.writer = writer
    }

    /// Worlds are read again only once they have been given up.
    func exclusively<Result>(_ body: () -> Result) -> Result { body() }

    private static let attempts = 3

    func write(_ works: [Work], due: [Work]) throws(StoreFailure) {
        var writes: [OwnedWrite] = []
        var calls: [PostgreSQLCall] = []
        // A world that is in both is taken once: what is done meanwhile comes next time.
        var taken: Set<ObjectIdentifier> = []
        for (work, isDue) in due.map({ ($0, true) }) + works.map({ ($0, false) }) {
            switch work {
            case .remove(let id): calls += PostgreSQLSchema.removal(of: id)
            case .change(let store):
                guard due.isEmpty || taken.insert(ObjectIdentifier(store)).inserted else { continue }
                guard let write = try store.takeWrite(isDue: isDue) else { continue }
                writes.append(write)
                calls += write.calls(writer)
            }
        }
        guard !calls.isEmpty else { return }
        for attempt in 1... {
            let result = try pool.useOnce { connection throws(PostgreSQLError) in
                try connection.run(calls, until: .now + PostgreSQLPool.answerLimit)
            }
            guard case .failure(let error) = result else { return }
            if error.isUncertain {
                // One transaction has written all of them, or none.
                if let write = writes.first, try pool.hasWritten(write.id, write.version, writer) { return }
                throw StoreFailure(error)
            }
            if error.state == PostgreSQLSchema.otherVersionState {
                throw StoreFailure(.slow, "PostgreSQL: another daemon has changed the world meanwhile")
            }
            guard error.isConflict || error.kind == .closed, attempt < PostgreSQLWriter.attempts else {
                throw StoreFailure(error)
            }
        }
    }

    func giveUp(_ works: [Work]) -> [Work] {
        works.filter { work in
            guard case .change(let store) = work else { return true }
            store.drop()
            return false
        }
    }

    func end() {}
}

/// What is changed in a world that this daemon owns.
struct OwnedWrite {
    let id: Int64
    /// The world's version before and after it.
    let before: Int64
    let version: Int64
    let isReset: Bool
    let summary: SharedChange.Summary

    /// A transaction of its own, without BEGIN and COMMIT.
    func calls(_ writer: Int64) -> [PostgreSQLCall] {
        let set = isReset ? PostgreSQLSchema.compareAndSetBeginning : PostgreSQLSchema.compareAndSetVersion
        var calls = [
            set(.integer(id), .integer(before), .integer(version), .integer(writer)),
            // Without what was done, and after a version that nobody has: who needs it loads the world anew.
            PostgreSQLSchema.addChange(
                .integer(id), .integer(version), .integer(version), .integer(writer), .bytes([])),
        ]
        if isReset { calls.append(PostgreSQLSchema.removeRows(.integer(id))) }
        calls += summary.rows.map { PostgreSQLSchema.put($0, of: id) }
        calls += summary.values.map { name, value in PostgreSQLSchema.put(name, value, of: id) }
        return calls
    }
}

extension PostgreSQLPool {
    /// Looks whether a change was committed whose connection was lost meanwhile. As long as the transaction may still be committed, it
    /// has a lock, for which this waits.
    ///
    /// - Throws: `unknown` when that can't be found out.
    func hasWritten(_ id: Int64, _ version: Int64, _ writer: Int64) throws(StoreFailure) -> Bool {
        let deadline = ContinuousClock.now + .seconds(2)
        while true {
            do throws(StoreFailure) {
                return try use { connection throws(PostgreSQLError) in
                    let limit = ContinuousClock.now + PostgreSQLPool.answerLimit
                    let found =
                        try connection.run(
                            [
                                PostgreSQLSchema.begin(), PostgreSQLSchema.lock(.integer(id)),
                                PostgreSQLSchema.change(.integer(id), .integer(version), .integer(writer)),
                            ], until: limit)[2].count > 0
                    // What was sent may still arrive, and then finds another version.
                    let calls = found ? [] : [PostgreSQLSchema.skipVersion(.integer(id))]
                    try connection.run(calls + [PostgreSQLSchema.commit()], until: limit)
                    return found
                }
            } catch {
                guard ContinuousClock.now < deadline else { throw StoreFailure(.unknown, error.detail) }
                usleep(200_000)
            }
        }
    }
}
