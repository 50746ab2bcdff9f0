import JOSE

/// A key that signs, as archives keep it.
package struct StoredKey: Codable, Sendable {
    let id: String
    /// The algorithm's name in JWTs.
    let algorithm: String
    /// The private key in PKCS#8, as PEM.
    let pem: String

    /// Encodes a key. Returns `nil` for a key that OpenSSL can't write.
    init?(_ named: KeyGenerator.NamedKey) {
        guard let pem = try? named.key.pem() else { return nil }
        id = named.id
        algorithm = named.algorithm.rawValue
        self.pem = pem
    }

    /// The decoded key; `nil` when it can't be read.
    var named: KeyGenerator.NamedKey? { (try? KeyReader()).flatMap { named(by: $0) } }

    /// Returns the decoded key. A reader that has read keys before is much quicker.
    func named(by reader: KeyReader) -> KeyGenerator.NamedKey? {
        guard let algorithm = Algorithm(rawValue: algorithm),
            let key = try? Key(pem: Array(pem.utf8), reader: reader)
        else { return nil }
        return KeyGenerator.NamedKey(id: id, algorithm: algorithm, key: key)
    }
}

/// The rotated keys of an owner for one algorithm. Only worlds in an archive have such rows.
struct StoredKeys: Row {
    static let table = Table<StoredKeys>("keys")

    /// The names of the owner and of the algorithm.
    let key: String
    let published: [StoredKey]
    let before: [StoredKey]

    /// Returns whether all of these keys are keys of their algorithms.
    func isReadable(by reader: KeyReader) -> Bool {
        !published.isEmpty && (published + before).allSatisfy { $0.named(by: reader) != nil }
    }

    /// Returns whether these are the same keys, by their IDs.
    func names(_ published: [KeyGenerator.NamedKey], before: [KeyGenerator.NamedKey]) -> Bool {
        self.published.lazy.map(\.id).elementsEqual(published.lazy.map(\.id))
            && self.before.lazy.map(\.id).elementsEqual(before.lazy.map(\.id))
    }
}
