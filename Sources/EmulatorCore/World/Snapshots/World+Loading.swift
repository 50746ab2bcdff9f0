import Worlds

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension World {
    /// Replaces the test world's tables and signing keys by those of a snapshot, and deletes its recorded requests. The
    /// world must already have the snapshot's seed (initial data).
    ///
    /// - Throws: The reason why the store didn't commit the change, so that nothing has changed; or the reason why the
    ///   recorded requests can't be deleted after the change.
    package func load(_ snapshot: WorldSnapshot) throws(StoreFailure) {
        let seed = seed
        let put = { (tables: inout Transaction) in
            // The values come first, because tables drop expired rows by the clock.
            for value in snapshot.values { World.set(value, in: &tables) }
            for (_, type) in seed.format.stored.rows {
                let rows = snapshot.tables.first { $0.type == type }?.rows ?? []
                World.replace(type, by: rows, of: seed, in: &tables)
            }
            tables.countMessages()
            if self.state.store.lasts { for keys in snapshot.keys { tables.put(keys) } }
            // The scenarios with which worlds begin aren't played in a world that began elsewhere.
            tables[PreparedWorld.self].isDone = true
        }
        try beginAnew(putting: put, also: { keys.restore(snapshot.keys) })
        markChanged()
    }

    private static func set<V: WorldValue>(_ value: V, in tables: inout Transaction) { tables[V.self] = value }

    /// Replaces the rows of a table by those of a snapshot, in the snapshot's order.
    private static func replace<R: Row>(
        _ type: R.Type, by rows: [any Row], of seed: Seed, in tables: inout Transaction
    ) {
        let rows = rows.compactMap { $0 as? R }
        // Seeded rows come before all others, in the seed's order. Those that do so in the snapshot, too, keep their
        // place.
        var places: [String: Int] = [:]
        for (place, row) in (seed.rows(of: type)?.rows ?? []).enumerated() { places[row.key.keyText] = place }
        var last = -1
        let standing = rows.prefix { row in
            guard let place = places[row.key.keyText], place > last else { return false }
            last = place
            return true
        }
        let kept = Set(standing.map(\.key.keyText))
        for row in tables.all(type) where !kept.contains(row.key.keyText) { tables.remove(type, row.key) }
        for (place, row) in rows.enumerated() {
            // An unchanged seeded row needn't be written.
            if place < standing.count, let known = tables.find(type, row.key), isSame(known, row) { continue }
            tables.put(row)
        }
    }

    private static func isSame<R: Row>(_ one: R, _ other: R) -> Bool {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        guard let left = try? encoder.encode(one), let right = try? encoder.encode(other) else { return false }
        return left == right
    }
}
