/// A change of a world, as daemons that share it tell one another: what was done, in its order.
///
/// Bytes: the number of the format, then for each operation its number and its texts and values, each with its length before it
/// (four bytes, the highest first).
struct WorldChange {
    enum Operation {
        /// The world begins afresh.
        case reset
        case put(table: String, value: [UInt8])
        case remove(table: String, key: String)
        case value(name: String, value: [UInt8])
    }

    private static let format: UInt8 = 1

    private(set) var bytes: [UInt8] = [WorldChange.format]

    init() {}

    mutating func append(_ operation: Operation) {
        switch operation {
        case .reset: bytes.append(0)
        case .put(let table, let value):
            bytes.append(1)
            append(table.utf8)
            append(value)
        case .remove(let table, let key):
            bytes.append(2)
            append(table.utf8)
            append(key.utf8)
        case .value(let name, let value):
            bytes.append(3)
            append(name.utf8)
            append(value)
        }
    }

    private mutating func append(_ part: some Collection<UInt8>) {
        withUnsafeBytes(of: UInt32(clamping: part.count).bigEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: part)
    }

    /// Reads a change.
    static func operations(_ bytes: [UInt8]) throws(StoreFailure) -> [Operation] {
        var reader = Reader(rest: bytes[...])
        guard reader.byte() == format else {
            throw StoreFailure(.newer, "a change that a newer version of this program has made can't be read")
        }
        var operations: [Operation] = []
        while let number = reader.byte() {
            switch number {
            case 0: operations.append(.reset)
            case 1: operations.append(.put(table: try reader.text(), value: try reader.part()))
            case 2: operations.append(.remove(table: try reader.text(), key: try reader.text()))
            case 3: operations.append(.value(name: try reader.text(), value: try reader.part()))
            default: throw Reader.damaged
            }
        }
        return operations
    }

    private struct Reader {
        static let damaged = StoreFailure(.unreadable, "a change of a world can't be read")

        var rest: ArraySlice<UInt8>

        mutating func byte() -> UInt8? { rest.popFirst() }

        mutating func part() throws(StoreFailure) -> [UInt8] {
            guard rest.count >= 4 else { throw Reader.damaged }
            let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(4)
            guard rest.count >= length else { throw Reader.damaged }
            defer { rest = rest.dropFirst(length) }
            return Array(rest.prefix(length))
        }

        mutating func text() throws(StoreFailure) -> String { String(decoding: try part(), as: UTF8.self) }
    }
}
