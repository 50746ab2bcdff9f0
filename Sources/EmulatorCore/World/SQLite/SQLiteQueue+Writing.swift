import Platform
import SQLite
import Synchronization
import Time

// How what was changed comes into the file, and what happens when it doesn't.

extension SQLiteQueue {
    // MARK: - Failures

    /// Whether nothing may be changed at the moment, of which the call is told. A file that has failed is tried again first, by one
    /// call at a time.
    func refuses() -> Bool {
        guard isFailing.load(ordering: .relaxed) else { return false }
        if StoreCall.current?.mayWait ?? true { tryAgain() }
        guard let failure = state.withLock({ $0.failure }) else { return false }
        StoreCall.current?.note(failure)
        return true
    }

    /// Finds out whether the file can be written, if it couldn't and nobody else is about to.
    func tryAgain() {
        guard isFailing.load(ordering: .relaxed) else { return }
        let isFirst = state.withLock { state in
            guard !state.isClosed, !state.isTried else { return false }
            state.isTried = true
            return true
        }
        guard isFirst else { return }
        let failure = file.withLock { file -> StoreFailure? in
            do throws(SQLiteError) {
                try file.tryWriting()
                return nil
            } catch { return StoreFailure(error) }
        }
        noteFailure(failure)
        state.withLock { $0.isTried = false }
    }

    private func noteFailure(_ failure: StoreFailure?) {
        state.withLock { state in
            guard !state.isClosed else { return }
            if failure != nil, state.failure == nil { state.failingSince = MachineClock.now }
            state.failure = failure
            isFailing.store(failure != nil, ordering: .relaxed)
        }
    }

    // MARK: - Writing

    private struct Batch {
        var stores: [SQLiteStore]
        let removed: [SQLiteWorld]
        let texts: [(name: String, text: String)]
        let position: Int
    }

    /// While several clients wait, others may come in this time, in microseconds: a transaction costs as much as ten changes in it.
    private static let gathering: UInt32 = 200

    /// Runs on a thread of its own until this is closed.
    func run() {
        var isBusy = false
        while true {
            wake.wait()
            if isBusy { usleep(SQLiteQueue.gathering) }
            let (batch, isClosed) = state.withLock { state -> (Batch?, Bool) in
                guard state.position > state.settled else { return (nil, state.isClosed) }
                defer { (state.stores, state.removed, state.texts) = ([], [], []) }
                return (
                    Batch(
                        stores: state.stores, removed: state.removed, texts: state.texts, position: state.position),
                    state.isClosed
                )
            }
            if let batch { isBusy = process(batch) }
            if isClosed { break }
        }
        file.withLock { $0.close() }
        let stopped = StoreFailure(.gone, "the daemon has stopped")
        isFailing.store(true, ordering: .relaxed)
        hasFailed.store(true, ordering: .relaxed)
        let left = state.withLock { state in
            state.failure = stopped
            state.fail(stopped)
            settled.store(.max, ordering: .releasing)
            state.hasEnded = true
            return state.takeWaiters()
        }
        for waiter in left { waiter.done(stopped) }
        ended.signal()
    }

    /// Returns whether several answers waited for it.
    private func process(_ batch: Batch) -> Bool {
        let (done, failure) = file.withLock { file -> ([Waiter], StoreFailure?) in
            do throws(StoreFailure) {
                try write(batch, file)
                return (settle(batch), nil)
            } catch { return (fail(batch, error), error) }
        }
        guard let failure else {
            for waiter in done { waiter.done(nil) }
            return done.count > 1
        }
        // What they do now may have to wait for the file.
        for waiter in done { WorkThreads.shared.run { waiter.done(failure) } }
        return false
    }

    private func write(_ batch: Batch, _ file: SQLiteFile) throws(StoreFailure) {
        var writings: [SQLiteWorld.Writing] = []
        for store in batch.stores {
            guard let (world, change, nextPlace) = store.takeChange() else { continue }
            let outcome = try change.summary()
            guard change.isReset || world.isNews(outcome) else { continue }
            writings.append(
                SQLiteWorld.Writing(world: world, outcome: outcome, nextPlace: nextPlace, isReset: change.isReset))
        }
        guard !writings.isEmpty || !batch.removed.isEmpty || !batch.texts.isEmpty else { return }
        do throws(SQLiteError) {
            try file.change { () throws(SQLiteError) in
                for world in batch.removed { try world.remove(file) }
                for (name, text) in batch.texts { try file.statements.setText.run(.text(name), .text(text)) }
                for writing in writings {
                    if writing.world.id == nil { try writing.world.add(as: unusedID(), file) }
                    try writing.world.write(writing, file)
                }
            }
        } catch {
            noteFailure(StoreFailure(error))
            throw StoreFailure(error)
        }
        if isFailing.load(ordering: .relaxed) { noteFailure(nil) }
        state.withLock { state in
            for world in writings.map(\.world) where !state.removed.contains(where: { $0 === world }) {
                state.ids[world.name] = world.id
            }
        }
    }

    /// A number that no world has.
    private func unusedID() -> Int64 {
        state.withLock { state in
            if state.lastID + 1 < SQLiteSchema.worldLimit {
                state.lastID += 1
                return state.lastID
            }
            // After millions of worlds, the first that is free.
            let taken = Set(state.ids.values)
            return (1..<SQLiteSchema.worldLimit).first { !taken.contains($0) } ?? SQLiteSchema.worldLimit
        }
    }

    /// Returns those that need wait no longer.
    private func settle(_ batch: Batch) -> [Waiter] {
        state.withLock { state in
            state.settled = batch.position
            settled.store(batch.position, ordering: .releasing)
            return state.takeWaiters()
        }
    }

    /// Nothing that was changed since the last time is in the file: the worlds are read again. The file's lock is held, so that nobody
    /// does so before this is done.
    private func fail(_ batch: Batch, _ failure: StoreFailure) -> [Waiter] {
        hasFailed.store(true, ordering: .relaxed)
        var stores = batch.stores
        while true {
            for store in stores { store.drop() }
            let waiters = state.withLock { state -> [Waiter]? in
                guard state.stores.isEmpty else {
                    (stores, state.stores) = (state.stores, [])
                    return nil
                }
                state.fail(failure)
                if state.failed.count > SQLiteQueue.failedLimit {
                    state.forgotten = state.failed.removeFirst().positions.upperBound
                }
                for text in batch.texts + state.texts { state.knownTexts[text.name] = nil }
                // Whoever removed it is refused; it isn't there any more all the same.
                state.removed = batch.removed + state.removed
                state.texts = []
                settled.store(state.settled, ordering: .releasing)
                return state.takeWaiters()
            }
            if let waiters { return waiters }
        }
    }
}

extension SQLiteQueue.State {
    /// Why the change at this position couldn't be written; `nil` when it was.
    func failure(of position: Int) -> StoreFailure? {
        guard forgotten == 0 || position > forgotten else {
            return StoreFailure(.unknown, "SQLite: too much has failed since")
        }
        return failed.first { $0.positions.contains(position) }?.failure
    }

    /// All that isn't settled can't be written.
    mutating func fail(_ failure: StoreFailure) {
        if position > settled { failed.append((positions: settled + 1...position, failure: failure)) }
        settled = position
    }

    /// Those whose changes are settled.
    mutating func takeWaiters() -> [SQLiteQueue.Waiter] {
        let place = waiters.partition { $0.position <= settled }
        defer { waiters.removeSubrange(place...) }
        return Array(waiters[place...])
    }
}
