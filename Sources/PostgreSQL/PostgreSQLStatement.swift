/// An SQL statement, which each connection prepares at its first use.
package struct PostgreSQLStatement: Sendable {
    /// A name that no statement with other SQL has.
    package let name: String
    /// The SQL of one statement; its values are `$1`, `$2` and so on.
    package let sql: String

    package init(_ name: String, _ sql: String) {
        self.name = name
        self.sql = sql
    }

    package func callAsFunction(_ values: PostgreSQLValue...) -> PostgreSQLCall {
        PostgreSQLCall(statement: self, values: values)
    }
}

/// A statement and the values of its parameters.
package struct PostgreSQLCall: Sendable {
    package let statement: PostgreSQLStatement
    package let values: [PostgreSQLValue]

    package init(statement: PostgreSQLStatement, values: [PostgreSQLValue]) {
        self.statement = statement
        self.values = values
    }
}

/// A value of a statement, in PostgreSQL's binary form.
package enum PostgreSQLValue: Sendable {
    case null
    /// A `bigint`. Write `$1::bigint` for a parameter that isn't compared with, or stored in, a column of that type.
    case integer(Int64)
    /// A `text`. In PostgreSQL, it can't contain the character U+0000.
    case text(String)
    /// A `bytea`.
    case bytes([UInt8])

    /// Appends the value's bytes and returns their position; `nil` for NULL.
    func append(to bytes: inout [UInt8]) -> Int? {
        let start = bytes.count
        switch self {
        case .null: return nil
        case .integer(let number): withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
        case .text(let text): bytes.append(contentsOf: text.utf8)
        case .bytes(let value): bytes.append(contentsOf: value)
        }
        return start
    }
}
