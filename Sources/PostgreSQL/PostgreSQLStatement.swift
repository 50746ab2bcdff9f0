/// An SQL statement, which each database connection prepares at its first use.
package struct PostgreSQLStatement: Sendable {
    /// The name of an SQL statement. Statements with different SQL must have different names.
    package let name: String
    /// The SQL of one statement, in which `$1`, `$2` and so on stand for values.
    package let sql: String

    package init(_ name: String, _ sql: String) {
        self.name = name
        self.sql = sql
    }

    package func callAsFunction(_ values: PostgreSQLValue...) -> PostgreSQLCall {
        PostgreSQLCall(statement: self, values: values)
    }
}

/// An SQL statement and the values of its parameters.
package struct PostgreSQLCall: Sendable {
    package let statement: PostgreSQLStatement
    package let values: [PostgreSQLValue]

    package init(statement: PostgreSQLStatement, values: [PostgreSQLValue]) {
        self.statement = statement
        self.values = values
    }
}

/// The value of an SQL statement's parameter, in PostgreSQL's binary form.
package enum PostgreSQLValue: Sendable {
    case null
    /// An SQL value of the type `bigint`. Write `$1::bigint` in the SQL, unless the parameter is compared with a column
    /// of that type or stored in one.
    case integer(Int64)
    /// An SQL value of the type `text`. In PostgreSQL, it can't contain the character U+0000.
    case text(String)
    case bytes([UInt8])

    /// Appends the bytes of an SQL value, and returns the index of the first of them; `nil` for NULL.
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
