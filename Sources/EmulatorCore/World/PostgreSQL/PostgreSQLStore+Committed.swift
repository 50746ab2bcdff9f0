import PostgreSQL
import Synchronization

// What follows when a change of a world was sent.

extension PostgreSQLStore {
    /// Takes over what was committed.
    func finish(_ write: SharedWrite) {
        state.withLock { state in
            if let (reset, tables, shared) = write.reset {
                (state.seed, state.rowSeed) = (reset.seed, reset.seed)
                state.seedings += 1
                state.held = Held(
                    id: write.id, version: write.version, beginning: write.version, tables: tables, shared: shared)
                write.change.settle()
                for (name, value) in write.written.values { shared.noteWritten(name, value) }
                reset.also?()
                return
            }
            guard let held = state.held, held.id == write.id, held.tables === write.change.tables else {
                // It was loaded anew, perhaps before this.
                if let held = state.held, held.id == write.id, held.version < write.version { state.held = nil }
                return
            }
            guard held.version < write.version else {
                // It was taken over like what others do, but for what isn't written, such as that a generator has moved on.
                return write.change.settle(but: write.written)
            }
            guard held.version == write.before else { return state.held = nil }
            write.change.doAgain()
            for (name, value) in write.written.values { held.shared.noteWritten(name, value) }
            state.held?.version = write.version
        }
    }

    /// Looks whether a change was committed whose connection was lost meanwhile.
    func hasHappened(_ write: SharedWrite) throws(StoreFailure) -> Bool {
        do throws(StoreFailure) { return try stores.pool.hasWritten(write.id, write.version, stores.writer) } catch {
            // What random values it used isn't known either.
            state.withLock { $0.held = nil }
            throw error
        }
    }
}
