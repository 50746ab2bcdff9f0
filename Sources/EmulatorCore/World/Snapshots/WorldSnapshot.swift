import JOSE
import JSON
import Time
import Worlds

/// The state of a test world at one moment as JSON. It can be loaded into any kind of store, whichever kind it comes
/// from. It has the world's seed (initial data), every table's rows in their order, values such as the clock and the
/// random generator, and the signing keys. It doesn't have the recorded requests.
///
///     {"snapshot": 1, "version": "0.1.0", "world": "default", "time": "2026-01-02T03:04:05Z", "seed": "{…}",
///      "keys": […], "values": {"clock": {…}, …}, "tables": {"people": […], …}}
///
/// `seed` is the whole seed as the text of one file. Rows and values are in the form in which files and databases store
/// them (see `Row`). Raw mails are in base64.
package struct WorldSnapshot: Sendable {
    /// The version of the snapshot format. It goes up with each change after which older versions of this program can't
    /// read new snapshots.
    static let format = 1
    /// The size of the largest snapshot that is written or read, in bytes.
    package static let sizeLimit = 32 << 20
    /// The limits on the JSON of a snapshot. Reading two million values takes some 90 megabytes of memory, besides the
    /// rows that are read.
    package static let limits: JSONLimits = {
        var limits = JSONLimits.answer
        (limits.bytes, limits.depth, limits.values) = (sizeLimit, 256, 2_000_000)
        return limits
    }()
    /// The largest number that a snapshot may contain. Counters continue from the numbers in a snapshot, and must not
    /// overflow 64 bits.
    static let numberLimit = 9_007_199_254_740_992.0
    /// The names of values that snapshots don't contain: the stored form of the seed (initial data), and the progress
    /// of the initial scenarios. The test world that loads a snapshot keeps its stored seed, and its initial scenarios
    /// count as run.
    static let keptOut: Set<String> = [StoredSeed.name, PreparedWorld.name]

    /// The test world's whole seed (initial data), as the text of a single seed file.
    package let seed: String
    let keys: [StoredKeys]
    let values: [any WorldValue]
    let tables: [Table]

    struct Table: Sendable {
        let type: any Row.Type
        let rows: [any Row]
    }
}

/// A value of test worlds that may become too large for them.
protocol BoundedValue: WorldValue {
    /// The reason why the value is larger than a test world allows, as a clause; `nil` if it isn't.
    var excess: String? { get }
}

/// A row of which test worlds can have only so many or so large ones, other than by the limits in `Table`.
package protocol BoundedRow: Row {
    /// Returns the reason why these rows are more than a test world allows, as a clause; `nil` if they aren't.
    static func excess(of rows: [Self]) -> String?
}

/// The reason why a snapshot can't be loaded.
package struct SnapshotIssue: Error, Sendable {
    /// The path of the mistake in the snapshot, such as `$.tables["github.token"][3].scopes`.
    package let path: String
    package let message: String
}

// MARK: - Taking one

extension World {
    /// Returns the test world's present state as the JSON of a snapshot. `version` is the version of this program. The
    /// time that this takes grows with the world's size. The world is locked for a part of this time.
    ///
    /// - Throws: The reason why a table row can't be written.
    package func snapshot(version: String) throws(StoreFailure) -> [UInt8] {
        let types = seed.format.stored
        let names = types.rows.keys.filter { $0 != StoredKeys.tableName }.sorted()
        let (values, tables, time) = read { snapshot in
            (
                types.values.keys.filter { !WorldSnapshot.keptOut.contains($0) }.sorted().compactMap {
                    types.values[$0].map { World.value($0, in: snapshot) }
                }, names.compactMap { types.rows[$0].map { World.rows($0, in: snapshot) } }, snapshot.now
            )
        }
        let coder = seed.coder
        var writer = SnapshotWriter()
        writer.member("snapshot", JSONValue.integer(Int64(WorldSnapshot.format)))
        writer.member("version", .string(version))
        writer.member("world", .string(name))
        writer.member("time", .string(time.text))
        writer.member("seed", .string(seed.document.text))
        try writer.list("keys", keys.stored.map { key throws(StoreFailure) in try coder.encode(key) })
        writer.begin("values")
        for value in values { try writer.member(World.name(of: value), json: coder.encode(value)) }
        writer.end()
        writer.begin("tables")
        for table in tables where !table.rows.isEmpty {
            try writer.list(
                World.name(of: table.type), table.rows.map { row throws(StoreFailure) in try coder.encode(row) })
        }
        writer.end()
        return writer.finished
    }

    private static func value<V: WorldValue>(_ type: V.Type, in snapshot: borrowing Snapshot) -> any WorldValue {
        let value = snapshot.value(type)
        return (value as? FaultQueue)?.withoutMark ?? value
    }

    private static func rows<R: Row>(_ type: R.Type, in snapshot: borrowing Snapshot) -> WorldSnapshot.Table {
        WorldSnapshot.Table(type: type, rows: snapshot.all(type))
    }

    private static func name<V: WorldValue>(of value: V) -> String { V.name }

    private static func name<R: Row>(of type: R.Type) -> String { type.tableName }
}

private struct SnapshotWriter {
    private var bytes: [UInt8] = Array("{".utf8)
    private var isFirst = true

    private mutating func name(_ name: String) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
        bytes += JSONValue.string(name).serialized()
        bytes.append(UInt8(ascii: ":"))
    }

    mutating func member(_ name: String, _ value: JSONValue) {
        self.name(name)
        bytes += value.serialized()
    }

    mutating func member(_ name: String, json: String) {
        self.name(name)
        bytes += json.utf8
    }

    mutating func list(_ name: String, _ elements: [String]) {
        self.name(name)
        bytes += Array("[\n".utf8)
        for (place, element) in elements.enumerated() {
            if place > 0 { bytes += Array(",\n".utf8) }
            bytes += element.utf8
        }
        bytes.append(UInt8(ascii: "]"))
    }

    mutating func begin(_ name: String) {
        self.name(name)
        bytes.append(UInt8(ascii: "{"))
        isFirst = true
    }

    mutating func end() {
        bytes.append(UInt8(ascii: "}"))
        isFirst = false
    }

    var finished: [UInt8] { bytes + Array("}\n".utf8) }
}

extension WorldSnapshot {
    /// The approximate number of bytes of all messages in the snapshot's inbox.
    package var mailBytes: Int {
        tables.reduce(0) { sum, table in
            table.rows.reduce(sum) { $0 + (($1 as? InboxMessage)?.message.size ?? 0) }
        }
    }

    package var rowCount: Int64 { Int64(tables.reduce(0) { $0 + $1.rows.count }) }
}

/// Finds numbers in a JSON text without decoding the text, because a decoder doesn't report numbers that are too large.
enum JSONNumbers {
    /// Returns the first number in the JSON text that is further from zero than `limit`, as it is written; `nil` when
    /// there is none. The text isn't checked for being JSON.
    static func first(beyond limit: Double, in bytes: [UInt8]) -> String? {
        var place = bytes.startIndex
        while place < bytes.endIndex {
            switch bytes[place] {
            case UInt8(ascii: "\""): place = endOfText(from: place, in: bytes)
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                let end = bytes[place...].firstIndex { !isPart($0) } ?? bytes.endIndex
                let number = String(decoding: bytes[place..<end], as: UTF8.self)
                if let value = Double(number), value.magnitude > limit { return number }
                place = end
            default: place += 1
            }
        }
        return nil
    }

    /// Returns the index behind the quotation mark that ends the JSON string which begins at `start`.
    private static func endOfText(from start: Int, in bytes: [UInt8]) -> Int {
        var place = start + 1
        while place < bytes.endIndex, bytes[place] != UInt8(ascii: "\"") {
            place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1
        }
        return place + 1
    }

    private static func isPart(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "e"), UInt8(ascii: "E"):
            true
        default: false
        }
    }
}
