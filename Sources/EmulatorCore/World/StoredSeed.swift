import JOSE
import JSON
import Worlds

/// The seed (initial data) that a test world got while the daemon was running, as a file or database keeps it.
struct StoredSeed: WorldValue {
    static let name = "seed"

    /// The test world's whole seed (initial data), as the text of a single seed file; `nil` if the world uses the
    /// daemon's seed.
    private(set) var document: String?
    /// The text of the seed (initial data) with which the test world began, before its seed was extended; `nil` if the
    /// world began with the daemon's seed.
    private(set) var rows: String?
    /// The value of `Seed.isFromElsewhere`.
    private(set) var isFromElsewhere = false
    /// A digest of both texts, `document` and `rows`, and of `isFromElsewhere`; `nil` if the test world uses the
    /// daemon's seed (initial data).
    private(set) var digest: String?

    init() {}

    /// Makes the stored form of the seed (initial data) that a test world has now. `rows` is the seed with which the
    /// world began, without later extensions; `nil` if that was the daemon's seed.
    init(of seed: Seed, rows: Seed?) {
        self.init(seed, rows: rows.map { $0.document.text })
    }

    private init(_ seed: Seed, rows: String?) {
        let document = seed.document.text
        self.document = document
        self.rows = rows
        isFromElsewhere = seed.isFromElsewhere
        let digests = [document, rows ?? "", isFromElsewhere ? "elsewhere" : ""].map {
            Hex.encode(Array(Digest.sha256($0)))
        }
        digest = String(Hex.encode(Array(Digest.sha256(digests.joined()))).prefix(32))
    }

    func extended(to seed: Seed) -> StoredSeed { StoredSeed(seed, rows: rows) }

    /// Returns the test world's own seed (initial data), with all later extensions; `nil` if the world uses the
    /// daemon's seed. In the result, `rows` is the seed with which the world began, without the extensions; `nil` if
    /// that was the daemon's seed.
    ///
    /// - Throws: The mistakes in the stored seeds.
    func read(
        _ seeds: RuntimeSeeds, world: String
    ) throws(Issues) -> (seed: Seed, rows: Seed?, size: Int)? {
        guard let document else { return nil }
        var seed = try seeds.check([source(document, of: world)])
        seed.isFromElsewhere = isFromElsewhere
        guard let rows else { return (seed, nil, document.utf8.count) }
        let begun = rows == document ? seed : try seeds.check([source(rows, of: world)])
        return (seed, begun, document.utf8.count)
    }

    private func source(_ text: String, of world: String) -> SeedSource {
        SeedSource(name: "the seed of the test world \(world)", sent: Array(text.utf8), isChecked: true)
    }
}

extension WorldRegistry {
    /// Loads all test worlds that are kept in a file or database, once, before any request is served. Worlds that are
    /// shared with other daemons are loaded on first use instead.
    ///
    /// - Throws: `Issues` if a world's seed (initial data) has mistakes, or a `StoreFailure`.
    package func resume(_ seeds: RuntimeSeeds) throws {
        guard !isShared else { return share(seeds) }
        for name in try archive?.worlds() ?? [] {
            guard let world = try world(name), world.own == nil else { continue }
            let stored = world.read { $0.value(StoredSeed.self) }
            guard let (seed, rows, size) = try stored.read(seeds, world: name) else { continue }
            let played = seeds.play(seed)
            guard let lease = budget.seeds.reserve(size, playing: played) else { continue }
            try world.state.store.resume(seed, rows: rows ?? world.seed)
            let own = OwnSeed(played, lease, stored.digest)
            _ = replace(world, with: World(world, resuming: own, or: seed, generator: generator))
        }
    }
}

/// A signing key in the form in which a file or database keeps it.
package struct StoredKey: Codable, Sendable {
    let id: String
    /// The name of the key's algorithm, as in a JWT's `alg`.
    let algorithm: String
    /// The private key as PEM text, in PKCS#8.
    let pem: String

    /// Encodes a signing key for a file or database. Returns `nil` for a key that OpenSSL can't write.
    init?(_ named: KeyGenerator.NamedKey) {
        guard let pem = try? named.key.pem() else { return nil }
        id = named.id
        algorithm = named.algorithm.rawValue
        self.pem = pem
    }

    /// The decoded signing key; `nil` when the stored key can't be read.
    var named: KeyGenerator.NamedKey? { (try? KeyReader()).flatMap { named(by: $0) } }

    /// Returns the decoded signing key; `nil` when the stored key can't be read. Using the same `reader` for many keys
    /// is much quicker.
    func named(by reader: KeyReader) -> KeyGenerator.NamedKey? {
        guard let algorithm = Algorithm(rawValue: algorithm),
            let key = try? Key(pem: Array(pem.utf8), reader: reader)
        else { return nil }
        return KeyGenerator.NamedKey(id: id, algorithm: algorithm, key: key)
    }
}

/// The signing keys of one owner (a provider or an OpenID issuer) for one algorithm. Such a table row exists only in
/// test worlds that are kept in a file or database, after a key rotation or after a snapshot was loaded. A snapshot has
/// the signing keys in this form, too.
struct StoredKeys: Row {
    static let table = Table<StoredKeys>("keys")

    /// The row's identifier, which consists of the name of the signing keys' owner and the algorithm's name.
    let key: String
    let published: [StoredKey]
    let before: [StoredKey]

    /// Returns whether all signing keys in the row can be decoded, and at least one of them is published.
    func isReadable(by reader: KeyReader) -> Bool {
        !published.isEmpty && (published + before).allSatisfy { $0.named(by: reader) != nil }
    }

    /// Returns whether the row has exactly the signing keys `published` and `before`, compared by their IDs.
    func names(_ published: [KeyGenerator.NamedKey], before: [KeyGenerator.NamedKey]) -> Bool {
        self.published.lazy.map(\.id).elementsEqual(published.lazy.map(\.id))
            && self.before.lazy.map(\.id).elementsEqual(before.lazy.map(\.id))
    }
}

/// Signing keys that several daemons with the same store share. The store keeps them as texts, each of which is a JSON
/// array of `StoredKey`.
extension SharedTexts {
    /// Returns the signing keys that are stored under this name; `nil` if there are none.
    func keys(_ name: String) throws(StoreFailure) -> [KeyGenerator.NamedKey]? {
        guard let text = try text(name) else { return nil }
        return try read(text)
    }

    /// Stores signing keys under a name, unless keys are stored under it already. Returns the keys that are stored
    /// under the name afterwards.
    func keys(
        _ name: String, orKeep keys: [KeyGenerator.NamedKey]
    ) throws(StoreFailure) -> [KeyGenerator.NamedKey] {
        let stored = keys.compactMap { StoredKey($0) }
        guard stored.count == keys.count else {
            throw StoreFailure(
                .undeclared,
                "a signing key can't be written as PEM: restart the daemon, which then makes new signing keys")
        }
        let text = try StoredCoder().encode(stored)
        let kept = try self.text(name, orKeep: text)
        return kept == text ? keys : try read(kept)
    }

    private func read(_ text: String) throws(StoreFailure) -> [KeyGenerator.NamedKey] {
        let stored = try StoredCoder().decode([StoredKey].self, from: text)
        let keys = stored.compactMap(\.named)
        guard keys.count == stored.count else { throw StoreFailure(.unreadable, "a stored signing key can't be read") }
        return keys
    }
}
