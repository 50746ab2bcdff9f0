/// Keys stored as shared texts: an array of `StoredKey` as JSON.
extension SharedTexts {
    /// Returns the keys with this name; `nil` if none were stored.
    func keys(_ name: String) throws(StoreFailure) -> [KeyGenerator.NamedKey]? {
        guard let text = try text(name) else { return nil }
        return try read(text)
    }

    /// Stores keys unless others are stored already, and returns those that are.
    func keys(
        _ name: String, orKeep keys: [KeyGenerator.NamedKey]
    ) throws(StoreFailure) -> [KeyGenerator.NamedKey] {
        let stored = keys.compactMap { StoredKey($0) }
        guard stored.count == keys.count else { throw StoreFailure(.undeclared, "a key can't be written") }
        let text = try StoredCoder(profiles: []).encode(stored)
        let kept = try self.text(name, orKeep: text)
        return kept == text ? keys : try read(kept)
    }

    private func read(_ text: String) throws(StoreFailure) -> [KeyGenerator.NamedKey] {
        let stored = try StoredCoder(profiles: []).decode([StoredKey].self, from: text)
        let keys = stored.compactMap(\.named)
        guard keys.count == stored.count else { throw StoreFailure(.unreadable, "a key can't be read") }
        return keys
    }
}
