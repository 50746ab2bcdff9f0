import SQLite
import Time

// What closures ask of a world's tables. Where the file fails, they find nothing and change nothing.

extension SQLiteTables: Tables {
    func find<R: Row>(_ type: R.Type, _ key: R.Key) -> R? {
        attempt(otherwise: nil) { () throws(StoreFailure) in try table(type).find(key.keyText)?.row(type) }
    }

    func count<R: Row>(_ type: R.Type) -> Int {
        attempt(otherwise: 0) { () throws(StoreFailure) in try table(type).count }
    }

    func rows<R: Row>(_ type: R.Type, after: R.Key?, limit: Int) -> [R] {
        attempt(otherwise: []) { () throws(StoreFailure) in
            try table(type).rows(after: after?.keyText, limit: limit).map { $0.row(type) }
        }
    }

    func rows<R: Row, Value>(_ index: Index<R, Value>, _ value: Value, limit: Int) -> [R] {
        attempt(otherwise: []) { () throws(StoreFailure) in
            try table(R.self).rows(ObjectIdentifier(index), value.keyText, limit: limit).map { $0.row(R.self) }
        }
    }

    func newest<R: Row, Value>(_ index: Index<R, Value>, _ value: Value, limit: Int) -> [R] {
        attempt(otherwise: []) { () throws(StoreFailure) in
            try table(R.self).newest(ObjectIdentifier(index), value.keyText, limit: limit).map { $0.row(R.self) }
        }
    }

    func count<R: Row, Value>(_ index: Index<R, Value>, _ value: Value) -> Int {
        attempt(otherwise: 0) { () throws(StoreFailure) in
            try table(R.self).count(ObjectIdentifier(index), value.keyText)
        }
    }

    func rows<R: Row>(
        _ index: SortedIndex<R>, prefix: String, after: String?, limit: Int
    ) -> [(text: String, row: R)] {
        attempt(otherwise: []) { () throws(StoreFailure) in
            try table(R.self).rows(prefix: prefix, after: after, limit: limit).map {
                (text: $0.text, row: $0.row.row(R.self))
            }
        }
    }

    func put<R: Row>(_ row: R) {
        attempt(otherwise: ()) { () throws(StoreFailure) in
            let value = try coder.encode(row)
            let table = try tableToChange(R.self)
            try table.put(Stored(row), value, now: table.rules.droppedAt == nil ? .first : now)
        }
    }

    func remove<R: Row>(_ type: R.Type, _ key: R.Key) -> R? {
        attempt(otherwise: nil) { () throws(StoreFailure) -> R? in
            guard try table(type).find(key.keyText) != nil else { return nil }
            return try tableToChange(type).remove(key.keyText)?.row(type)
        }
    }

    // MARK: - Values

    var now: Instant { box(WorldClock.self).value.now }

    subscript<V: WorldValue>(type: V.Type) -> V {
        get { box(type).value }
        _modify {
            let box = box(type)
            touch(box)
            yield &box.value
        }
    }
}
