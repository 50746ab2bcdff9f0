import PostgreSQL
import Synchronization

// What other daemons have changed.

extension PostgreSQLStore {
    func refresh() -> StoreNews {
        var news = StoreNews.same
        do throws(StoreFailure) {
            while true {
                guard let (id, version) = try place() else { return .gone }
                let result = try stores.pool.use { connection throws(PostgreSQLError) in
                    try connection.run(
                        [PostgreSQLSchema.news(.integer(id), .integer(version))],
                        until: .now + PostgreSQLPool.answerLimit)[0]
                }
                let (found, isAll) = try take(result, id)
                if found != .same { news = found }
                if isAll { return news }
            }
        } catch {
            note(error)
            return news
        }
    }

    /// The world's number and version, once it is loaded; `nil` when it has gone.
    private func place() throws(StoreFailure) -> (Int64, Int64)? {
        try load()
        return state.withLock { state in state.held.map { ($0.id, $0.version) } }
    }

    /// Takes over what was found. `isAll` is `false` where there may be more.
    private func take(
        _ result: PostgreSQLResult, _ id: Int64
    ) throws(StoreFailure) -> (news: StoreNews, isAll: Bool) {
        guard result.count > 0 else {
            state.withLock { state in
                if state.held?.id == id { (state.held, state.isGone) = (nil, true) }
            }
            return (news: .gone, isAll: true)
        }
        var change = StoreChange()
        defer { tell(change) }
        let taken = state.withLock { state -> Result<Taken, StoreFailure> in
            do throws(StoreFailure) { return .success(try take(result, id, &state, &change)) } catch {
                state.held = nil
                return .failure(error)
            }
        }
        switch try taken.get() {
        case .same: return (news: .same, isAll: true)
        case .changed: return (news: .changed, isAll: result.count < PostgreSQLSchema.changeCount)
        case .behind(let beginning):
            try load(isAnew: true)
            let types = state.withLock { $0.seed.format.stored }
            change.names.formUnion(Array(types.rows.keys) + Array(types.values.keys))
            if beginning != result.integer(0, 1) { change.isReset = true }
            return (news: .changed, isAll: true)
        }
    }

    private enum Taken {
        case same
        case changed
        /// Changes that would be needed are gone. The world began at this version.
        case behind(Int64)
    }

    private func take(
        _ result: PostgreSQLResult, _ id: Int64, _ state: inout State, _ change: inout StoreChange
    ) throws(StoreFailure) -> Taken {
        guard let before = state.held, before.id == id, before.version < result.integer(0, 0) else { return .same }
        for row in 0..<result.count {
            let version = result.integer(row, 2)
            guard let held = state.held, version > held.version || result.isNull(row, 2) else { continue }
            // One that comes between is gone.
            guard result.integer(row, 3) == held.version else { return .behind(before.beginning) }
            try PostgreSQLStore.apply(result.bytes(row, 4), as: version, to: &state, &change)
        }
        return .changed
    }

    /// Does to the tables in memory what somebody else has done.
    static func apply(
        _ bytes: [UInt8], as version: Int64, to state: inout State, _ change: inout StoreChange
    ) throws(StoreFailure) {
        guard var held = state.held else { return }
        var place = (held.version + 1) * PostgreSQLSchema.placesOfVersion
        for operation in try WorldChange.operations(bytes) {
            switch operation {
            case .reset:
                held.shared = SharedTables(held.shared.coder)
                held.tables = MemoryTables(state.seed, rows: state.rowSeed, shared: held.shared)
                held.beginning = version
                change.isReset = true
            case .put(let table, _), .remove(let table, _):
                try held.shared.apply(operation, at: place, in: held.tables, state.seed.format.stored)
                change.names.insert(table)
                place += 1
            case .value(let name, _):
                try held.shared.apply(operation, at: place, in: held.tables, state.seed.format.stored)
                change.names.insert(name)
            }
        }
        held.version = try PostgreSQLSchema.checked(version)
        state.held = held
    }
}
