extension Schema {
    /// Converts a query's fields into the object that this schema describes. Texts become numbers or Booleans if the
    /// schema has these. If several fields have the same name, the first counts.
    package func object(ofQuery fields: [(name: String, value: String)]) -> JSONValue {
        guard case .object(let known) = self else { return [:] }
        return .object(
            JSONObject(fields.map { ($0.name, known[$0.name]?.schema.value(ofText: $0.value) ?? .string($0.value)) }))
    }

    private func value(ofText text: String) -> JSONValue {
        switch self {
        case .nullable(let schema): schema.value(ofText: text)
        case .integer: Int64(text).map { .integer($0) } ?? .string(text)
        case .boolean: Bool(text).map { .bool($0) } ?? .string(text)
        default: .string(text)
        }
    }
}
