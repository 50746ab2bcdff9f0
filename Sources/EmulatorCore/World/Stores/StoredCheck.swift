/// Whether what is put is declared, and can be written down and read back.
struct StoredCheck {
    let types: StoredTypes
    let coder: StoredCoder

    init(_ format: SeedFormat) {
        types = format.stored
        coder = StoredCoder(profiles: format.profiles)
    }

    func copy<R: Row>(_ row: R) -> R {
        guard let type = types.rows[R.table.name], type == R.self else { return undeclared(row, R.table.name) }
        return written(row)
    }

    func copy<V: WorldValue>(_ value: V) -> V {
        guard let type = types.values[V.name], type == V.self else { return undeclared(value, V.name) }
        return written(value)
    }

    private func undeclared<Value>(_ value: Value, _ name: String) -> Value {
        StoreCall.current?.note(StoreFailure(.undeclared, "no provider declares \(name)"))
        return value
    }

    private func written<Value: Codable>(_ value: Value) -> Value {
        do throws(StoreFailure) { return try coder.copy(value) } catch {
            StoreCall.current?.note(error)
            return value
        }
    }
}
