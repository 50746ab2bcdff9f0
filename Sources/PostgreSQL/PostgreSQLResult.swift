import CPostgreSQL
import Platform

/// The result of an SQL statement. Rows and columns count from 0.
package final class PostgreSQLResult {
    private let pointer: OpaquePointer
    private let libpq: UnsafePointer<understudy_libpq>
    /// The number of rows in the result of an SQL statement.
    package let count: Int

    init(_ pointer: OpaquePointer, _ libpq: UnsafePointer<understudy_libpq>) {
        self.pointer = pointer
        self.libpq = libpq
        count = Int(libpq.pointee.ntuples(pointer))
    }

    deinit { libpq.pointee.clear(pointer) }

    var status: Int32 { libpq.pointee.resultStatus(pointer) }

    func error(_ address: PostgreSQLAddress) -> PostgreSQLError {
        let field = { (name: Int32) in
            self.libpq.pointee.resultErrorField(self.pointer, name).map { String(cString: $0) }
        }
        let message = field(understudy_pg_message_primary) ?? "the statement failed"
        return PostgreSQLError(
            .refused, address.line(message), state: field(understudy_pg_sqlstate) ?? "")
    }

    /// The number of rows that the SQL statement has added, changed or removed.
    package var changed: Int { Int(String(cString: libpq.pointee.cmdTuples(pointer))) ?? 0 }

    package func isNull(_ row: Int, _ column: Int) -> Bool {
        guard row >= 0, row < count else { return true }
        return libpq.pointee.getisnull(pointer, Int32(row), Int32(column)) == 1
    }

    /// Returns a whole number of 2, 4 or 8 bytes from the result of an SQL statement; 0 for NULL, and for a row that
    /// doesn't exist.
    package func integer(_ row: Int, _ column: Int) -> Int64 {
        withBytes(row, column) { bytes in
            guard let first = bytes.first, bytes.count <= 8 else { return 0 }
            // The sign is extended to the missing bytes.
            return bytes.reduce(Int64(Int8(bitPattern: first)) >> 7) { $0 << 8 | Int64($1) }
        }
    }

    package func text(_ row: Int, _ column: Int) -> String {
        withBytes(row, column) { String(decoding: $0, as: UTF8.self) }
    }

    package func bytes(_ row: Int, _ column: Int) -> [UInt8] { withBytes(row, column) { Array($0) } }

    /// Calls `body` with the bytes of a value in the result of an SQL statement; NULL has no bytes. The bytes are valid
    /// only within `body`.
    package func withBytes<Value>(_ row: Int, _ column: Int, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        guard !isNull(row, column), let start = libpq.pointee.getvalue(pointer, Int32(row), Int32(column)) else {
            return body(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        let length = libpq.pointee.getlength(pointer, Int32(row), Int32(column))
        return body(UnsafeRawBufferPointer(start: start, count: Int(length)))
    }
}
