import JOSE

/// A key that signs, as stores that last keep it.
package struct StoredKey: Codable, Sendable {
    let id: String
    /// As JWTs name it.
    let algorithm: String
    /// PKCS#8.
    let pem: String

    /// `nil` for a key that OpenSSL can't write.
    init?(_ named: KeyGenerator.NamedKey) {
        guard let pem = try? named.key.pem() else { return nil }
        id = named.id
        algorithm = named.algorithm.rawValue
        self.pem = pem
    }

    /// `nil` when it can't be read.
    var named: KeyGenerator.NamedKey? { (try? KeyReader()).flatMap { named(by: $0) } }

    /// The same by a reader that has read keys before, which is much quicker.
    func named(by reader: KeyReader) -> KeyGenerator.NamedKey? {
        guard let algorithm = Algorithm(rawValue: algorithm),
            let key = try? Key(pem: Array(pem.utf8), reader: reader)
        else { return nil }
        return KeyGenerator.NamedKey(id: id, algorithm: algorithm, key: key)
    }
}

/// The keys of an owner for one algorithm, once they were rotated. Only stores that last have such rows.
struct StoredKeys: Row {
    static let table = Table<StoredKeys>("keys")

    /// The owner's name and the algorithm's.
    let key: String
    let published: [StoredKey]
    let before: [StoredKey]

    /// Whether all of them are keys of their algorithms.
    func isReadable(by reader: KeyReader) -> Bool {
        !published.isEmpty && (published + before).allSatisfy { $0.named(by: reader) != nil }
    }

    /// Whether they are these keys.
    func names(_ published: [KeyGenerator.NamedKey], before: [KeyGenerator.NamedKey]) -> Bool {
        self.published.lazy.map(\.id).elementsEqual(published.lazy.map(\.id))
            && self.before.lazy.map(\.id).elementsEqual(before.lazy.map(\.id))
    }
}
