import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The Swift types of all rows and values that a test world can hold, by the names under which a file or database
/// stores them.
package struct StoredTypes: Sendable {
    package let rows: [String: any Row.Type]
    package let values: [String: any WorldValue.Type]
    /// The names that more than one type of row or value uses, by mistake.
    package let ambiguous: Set<String>

    package init(rows rowTypes: [any Row.Type], values valueTypes: [any WorldValue.Type]) {
        var rows: [String: any Row.Type] = [:]
        var values: [String: any WorldValue.Type] = [:]
        var ambiguous: Set<String> = []
        for type in rowTypes {
            if let known = rows.updateValue(type, forKey: type.tableName), known != type {
                ambiguous.insert(type.tableName)
            }
        }
        for type in valueTypes {
            if let known = values.updateValue(type, forKey: type.name), known != type { ambiguous.insert(type.name) }
        }
        self.rows = rows
        self.values = values
        self.ambiguous = ambiguous
    }
}

extension Row {
    package static var tableName: String { table.name }
}

/// Encodes the rows and values of a test world as JSON, and decodes them.
package struct StoredCoder: Sendable {
    private let decoder: JSONDecoder
    private let encoder = JSONEncoder()

    /// Makes a coder for rows and values. `userInfo` is passed to the rows' own decoders.
    package init(decoding userInfo: [CodingUserInfoKey: any Sendable] = [:]) {
        decoder = JSONDecoder()
        decoder.userInfo = userInfo
        if let key = CodingUserInfoKey.jsonAsText { (decoder.userInfo[key], encoder.userInfo[key]) = (true, true) }
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    }

    package func encode(_ value: some Encodable) throws(StoreFailure) -> String {
        do { return String(decoding: try encoder.encode(value), as: UTF8.self) } catch {
            throw StoreFailure(.undeclared, "\(type(of: value)) can't be written: \(StoredCoder.reason(error))")
        }
    }

    package func decode<Value: Decodable>(_ type: Value.Type, from text: String) throws(StoreFailure) -> Value {
        do { return try decoder.decode(type, from: Data(text.utf8)) } catch {
            throw StoreFailure(.unreadable, "\(type) can't be read: \(StoredCoder.reason(error))")
        }
    }

    func archived<V: WorldValue>(_ value: V) throws(StoreFailure) -> ArchivedValue {
        ArchivedValue(name: V.name, value: try encode(value))
    }

    /// Returns the reason why encoding or decoding failed, with the path in the JSON if it is known. The text doesn't
    /// repeat the value, which may be a secret.
    private static func reason(_ error: any Error) -> String {
        let context: DecodingError.Context
        switch error as? DecodingError {
        case .typeMismatch(_, let found), .valueNotFound(_, let found), .keyNotFound(_, let found),
            .dataCorrupted(let found):
            context = found
        default: return "\(type(of: error))"
        }
        let path = context.codingPath.map(\.stringValue).joined(separator: ".")
        return path.isEmpty
            ? "the stored value isn't of the expected type or form"
            : "the stored value at \(path) isn't of the expected type or form"
    }
}
