import Platform
import PostgreSQL
import Synchronization

// How a world is changed. Updates that come at the same time are written together, in one transaction.
//
// As long as nobody else changes the world, that is one round trip: each closure runs in turn on the world in memory, all that they did
// is undone, and it is sent with the world's version, which must be the same in PostgreSQL. Then it is done again in memory.
//
// When somebody else does, it is two round trips. The first locks the world's row and
// brings what others have changed: then the world in memory is as it is in PostgreSQL, and stays so for everybody until the
// transaction ends. Each closure runs in turn, and all that they did is undone in memory. The second round trip writes it and commits.
// Then it is done again in memory.

extension PostgreSQLStore {
    private static let batchLimit = 128

    func update<Result: Sendable, Failure: Error>(
        _ body: (inout Transaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if let outcome = updateOwned(body) { return try outcome.get() }
        return try withoutActuallyEscaping(body) { (body) throws(Failure) -> Result in
            let update = ClosureUpdate(body)
            // What has failed already is refused: nobody waits for its changes.
            if StoreCall.current?.failure == nil { run(update) }
            update.body = nil
            switch update.outcome {
            case .success(let result): return result
            case .failure(let error): throw error
            case nil:
                var transaction = Transaction(tables: MemoryTables(state.withLock { $0.seed }))
                return try body(&transaction)
            }
        }
    }

    func reset(to seed: Seed, putting: (inout Transaction) -> Void, also: () -> Void) {
        withoutActuallyEscaping(putting) { putting in
            withoutActuallyEscaping(also) { also in
                let update = ResetUpdate(seed, putting, also)
                if !resetOwned(update) { run(update) }
                (update.putting, update.also) = (nil, nil)
            }
        }
    }

    func run(_ update: PostgreSQLUpdate) {
        updates.run(update, atMost: PostgreSQLStore.batchLimit) { batch in
            // Whatever isn't a closure's is alone.
            for part in batch.split(maxSplits: batch.count, whereSeparator: { !$0.isClosure }) {
                process(Array(part))
            }
            for update in batch where !update.isClosure { process([update]) }
        }
        if let failure = update.failure { note(failure) }
        stores.changes.note(update.position)
    }

    private func process(_ batch: [PostgreSQLUpdate]) {
        do throws(StoreFailure) {
            if let transfer = batch.first as? OwnershipUpdate { return try transfer.change() }
            // What came while the world was about to be owned.
            if changeOwned(batch) { return }
            try change(batch)
        } catch {
            if error.kind == .undeclared, batch.count > 1 {
                // One of them can't be written.
                for update in batch { process([update]) }
            } else {
                for update in batch { update.failure = error }
            }
        }
    }

    // MARK: - Transactions

    /// After a conflict, so many batches take two round trips.
    private static let caution = 8

    /// Changes the world in one round trip. `false` when it must be done in two.
    private func changeAtOnce(_ batch: [PostgreSQLUpdate]) throws(StoreFailure) -> Bool {
        guard !(batch.first is ResetUpdate) else { return false }
        guard caution.load(ordering: .relaxed) == 0 else {
            caution.subtract(1, ordering: .relaxed)
            return false
        }
        try load()
        let ready = state.withLock { state -> (id: Int64, version: Int64, change: SharedChange)? in
            guard let held = state.held else { return nil }
            let change = PostgreSQLStore.run(batch, held)
            // What can't be read is told where the world is loaded anew.
            guard held.shared.failure == nil else {
                state.held = nil
                return nil
            }
            return (id: held.id, version: held.version, change: change)
        }
        guard let (id, version, change) = ready else { return false }
        let written = try change.written()
        if written.isEmpty {
            // A generator has moved on, though that isn't written.
            state.withLock { _ in change.settle(but: written) }
            return batch.allSatisfy(\.isRefreshed)
        }
        let write = SharedWrite(id, version, change, written)
        let result = try stores.pool.useOnce { connection throws(PostgreSQLError) in
            try connection.run(write.callsAtOnce(stores.writer), until: .now + PostgreSQLPool.answerLimit)
        }
        switch result {
        case .success:
            finish(write)
            return true
        case .failure(let error) where error.isConflict || error.state == PostgreSQLSchema.otherVersionState:
            caution.store(PostgreSQLStore.caution, ordering: .relaxed)
            return false
        case .failure(let error) where error.kind == .closed: return false
        case .failure(let error) where error.isUncertain:
            guard try hasHappened(write) else { return false }
            finish(write)
            return true
        case .failure(let error): throw StoreFailure(error)
        }
    }

    /// What has become of a transaction.
    private enum Outcome {
        case done
        case again
        case failed(StoreFailure)
        /// Another daemon owns the world.
        case owned
        /// The connection was lost while it was being committed.
        case unknown(SharedWrite)
    }

    private static let attempts = 8

    private func change(_ batch: [PostgreSQLUpdate]) throws(StoreFailure) {
        var news = StoreChange()
        defer { tell(news) }
        if try changeAtOnce(batch) { return }
        var isLost = false
        for _ in 0..<PostgreSQLStore.attempts {
            try load()
            guard let (id, version) = state.withLock({ state in state.held.map { ($0.id, $0.version) } }) else {
                return
            }
            let result = try stores.pool.useOnce { connection throws(PostgreSQLError) in
                try transact(batch, connection, id, version, &news)
            }
            switch result {
            case .success(.done): return
            case .success(.again): continue
            case .success(.failed(let failure)): throw failure
            case .success(.owned): try stores.ownership.claimAll()
            case .success(.unknown(let write)):
                if try hasHappened(write) { return finish(write) }
            case .failure(let error) where error.isConflict: continue
            case .failure(let error):
                guard !isLost, error.isEnd else { throw StoreFailure(error) }
                isLost = true
            }
        }
        throw StoreFailure(.slow, "PostgreSQL: others change the world all the time")
    }

    /// - Throws: When nothing can have been written.
    private func transact(
        _ batch: [PostgreSQLUpdate], _ connection: PostgreSQLConnection, _ id: Int64, _ version: Int64,
        _ news: inout StoreChange
    ) throws(PostgreSQLError) -> Outcome {
        let deadline = ContinuousClock.now + PostgreSQLPool.answerLimit
        let results = try connection.run(
            [
                PostgreSQLSchema.begin(), PostgreSQLSchema.lock(.integer(id)),
                PostgreSQLSchema.changes(.integer(id), .integer(version)),
            ], until: deadline)
        guard results[1].count == 0 || [0, stores.writer].contains(results[1].integer(0, 1)) else {
            try connection.run([PostgreSQLSchema.rollback()], until: deadline)
            return .owned
        }
        let outcome: Outcome
        let write: SharedWrite
        switch prepare(batch, id, results[1], results[2], &news) {
        case .write(let prepared): write = prepared
        case .nothing:
            try connection.run([PostgreSQLSchema.rollback()], until: deadline)
            return .done
        case .again:
            try connection.run([PostgreSQLSchema.rollback()], until: deadline)
            return .again
        case .failed(let failure):
            try connection.run([PostgreSQLSchema.rollback()], until: deadline)
            return .failed(failure)
        }
        do throws(PostgreSQLError) {
            try connection.run(write.calls(stores.writer), until: deadline)
            finish(write)
            outcome = .done
        } catch {
            guard error.isUncertain else { throw error }
            outcome = .unknown(write)
        }
        return outcome
    }
}
