import JOSE
import Time

@testable import EmulatorCore

/// The tables of a world as plain lists, in which everything is searched.
final class SharedMemoryTables: Tables {
    var contents: SharedMemory.Contents
    private let seed: Seed
    /// The names of what was changed.
    var changed: Set<String> = []

    init(_ contents: SharedMemory.Contents, _ seed: Seed) {
        self.contents = contents
        self.seed = seed
    }

    private func all<R: Row>(_ type: R.Type) -> [StoredRow] { contents.tables[type.table.name] ?? [] }

    func find<R: Row>(_ type: R.Type, _ key: R.Key) -> R? {
        all(type).first { $0.key == key.keyText }?.row(type)
    }

    func count<R: Row>(_ type: R.Type) -> Int { all(type).count }

    func rows<R: Row>(_ type: R.Type, after: R.Key?, limit: Int) -> [R] {
        var rows = all(type)[...]
        if let after { rows = rows.drop { $0.key != after.keyText }.dropFirst() }
        return rows.prefix(limit).map { $0.row(type) }
    }

    private func found<R: Row, Value>(_ index: Index<R, Value>, _ value: Value) -> [R] {
        all(R.self).filter { index.storedValues.distinct($0).contains(value.keyText) }.map { $0.row(R.self) }
    }

    func rows<R: Row, Value>(_ index: Index<R, Value>, _ value: Value, limit: Int) -> [R] {
        Array(found(index, value).prefix(limit))
    }

    func newest<R: Row, Value>(_ index: Index<R, Value>, _ value: Value, limit: Int) -> [R] {
        Array(found(index, value).reversed().prefix(limit))
    }

    func count<R: Row, Value>(_ index: Index<R, Value>, _ value: Value) -> Int { found(index, value).count }

    func rows<R: Row>(
        _ index: SortedIndex<R>, prefix: String, after: String?, limit: Int
    ) -> [(text: String, row: R)] {
        let entries = all(R.self).map { $0.row(R.self) }.flatMap { row in index.texts(row).map { (text: $0, row: row) }
        }
        return Array(
            entries.filter { $0.text.hasPrefix(prefix) && $0.text > after ?? "" }.sorted { $0.text < $1.text }
                .prefix(limit))
    }

    func put<R: Row>(_ row: R) {
        changed.insert(R.table.name)
        var rows = all(R.self)
        let stored = Stored(row)
        if let place = rows.firstIndex(where: { $0.key == stored.key }) {
            rows[place] = stored
        } else {
            rows.append(stored)
            if rows.count > R.table.limit { rows.removeFirst() }
        }
        contents.tables[R.table.name] = rows
    }

    func remove<R: Row>(_ type: R.Type, _ key: R.Key) -> R? {
        guard let place = all(type).firstIndex(where: { $0.key == key.keyText }) else { return nil }
        changed.insert(type.table.name)
        return contents.tables[type.table.name]?.remove(at: place).row(type)
    }

    var now: Instant { self[WorldClock.self].now }

    var random: Randomness {
        get { self[RandomSource.self].generator }
        set { self[RandomSource.self].generator = newValue }
    }

    func change<V: WorldValue, Result>(_ type: V.Type, _ body: (inout V) -> Result) -> Result { body(&self[type]) }

    subscript<V: WorldValue>(value: V.Type) -> V {
        get { contents.values[V.name] as? V ?? V(seed) }
        set {
            changed.insert(V.name)
            contents.values[V.name] = newValue
        }
    }
}
