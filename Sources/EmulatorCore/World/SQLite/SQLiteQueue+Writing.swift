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
            guard !state.hasEnded, !state.isTried else { return false }
            state.isTried = true
            return true
        }
        guard isFirst else { return }
        let failure = file.withLock { file -> StoreFailure? in
            guard !state.withLock({ $0.hasEnded }) else { return StoreFailure(.gone, "the daemon has stopped") }
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
            guard !state.hasEnded else { return }
            if failure != nil, state.failure == nil { state.failingSince = MachineClock.now }
            state.failure = failure
            isFailing.store(failure != nil, ordering: .relaxed)
        }
    }
}

extension SQLiteQueue: ChangeWriter {
    /// The file's lock is held, so that nobody reads a world again before it is known what failed.
    func exclusively<Result>(_ body: () -> Result) -> Result { file.withLock { _ in body() } }

    func write(_ works: [Work]) throws(StoreFailure) {
        try file.whileHeld { (file) throws(StoreFailure) in try write(works, file) }
    }

    private func write(_ works: [Work], _ file: SQLiteFile) throws(StoreFailure) {
        var writings: [SQLiteWorld.Writing] = []
        var removed: [SQLiteWorld] = []
        var texts: [(name: String, text: String)] = []
        for work in works {
            switch work {
            case .remove(let world): removed.append(world)
            case .keep(let name, let text): texts.append((name: name, text: text))
            case .change(let store):
                guard let (world, change, nextPlace) = store.takeChange() else { continue }
                let outcome = try change.summary()
                guard change.isReset || world.isNews(outcome) else { continue }
                writings.append(
                    SQLiteWorld.Writing(
                        world: world, outcome: outcome, nextPlace: nextPlace, isReset: change.isReset))
            }
        }
        guard !writings.isEmpty || !removed.isEmpty || !texts.isEmpty else { return }
        do throws(SQLiteError) {
            try file.change { () throws(SQLiteError) in
                for world in removed { try world.remove(file) }
                for (name, text) in texts { try file.statements.setText.run(.text(name), .text(text)) }
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
            for world in writings.map(\.world) where !state.removed.contains(ObjectIdentifier(world)) {
                state.ids[world.name] = world.id
            }
            for world in removed { state.removed.remove(ObjectIdentifier(world)) }
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

    /// The worlds are read again.
    func giveUp(_ works: [Work]) -> [Work] {
        works.filter { work in
            switch work {
            case .change(let store): store.drop()
            case .keep(let name, _): state.withLock { $0.texts[name] = nil }
            case .remove(let world): return !restore(world)
            }
            return false
        }
    }

    /// A world whose removal can't be written is there again, as it is in the file. `false` where another has its name by now: then
    /// it goes with the next change.
    private func restore(_ world: SQLiteWorld) -> Bool {
        state.withLock { state in
            let isOnlyOne = state.ids[world.name] == nil && state.open[world.name]?.store == nil
            guard isOnlyOne || world.id == nil else { return false }
            if let id = world.id { state.ids[world.name] = id }
            state.removed.remove(ObjectIdentifier(world))
            return true
        }
    }

    func end() {
        file.withLock { $0.close() }
        state.withLock { state in
            state.failure = StoreFailure(.gone, "the daemon has stopped")
            state.hasEnded = true
            isFailing.store(true, ordering: .relaxed)
        }
    }
}
