import JOSE
import JSON
import Worlds

/// The seed that a world got while the daemon ran, as archives keep it.
struct StoredSeed: WorldValue {
    static let name = "seed"

    /// The whole seed as the text of one file; `nil` for the daemon's.
    private(set) var document: String?
    /// The seed with whose rows the world began, before it was extended; `nil` for the daemon's.
    private(set) var rows: String?
    /// A digest of both; `nil` where `document` is.
    private(set) var digest: String?

    init() {}

    /// `rows` is the seed with which the world began; `nil` for the daemon's.
    init(of seed: Seed, rows: Seed?) {
        let document = seed.document.text
        self.init(document, rows: rows.map { $0.document.text })
    }

    private init(_ document: String, rows: String?) {
        self.document = document
        self.rows = rows
        let digests = [document, rows ?? ""].map { Hex.encode(Array(Digest.sha256($0))) }
        digest = String(Hex.encode(Array(Digest.sha256(digests.joined()))).prefix(32))
    }

    /// Returns a copy with the extended seed.
    func extended(to seed: Seed) -> StoredSeed { StoredSeed(seed.document.text, rows: rows) }

    /// Reads the seed, and the one with whose rows the world began, which is `nil` for the daemon's. Returns `nil` if
    /// the world has the daemon's seed.
    ///
    /// - Throws: The mistakes in it.
    func read(
        _ seeds: RuntimeSeeds, world: String
    ) throws(Issues) -> (seed: Seed, rows: Seed?, size: Int)? {
        guard let document else { return nil }
        let seed = try seeds.check([source(document, of: world)])
        guard let rows else { return (seed, nil, document.utf8.count) }
        let begun = rows == document ? seed : try seeds.check([source(rows, of: world)])
        return (seed, begun, document.utf8.count)
    }

    private func source(_ text: String, of world: String) -> SeedSource {
        SeedSource(name: "the seed of the world \(world)", sent: Array(text.utf8), isChecked: true)
    }
}

extension WorldRegistry {
    /// Loads all worlds that the archive has, once, before any request is served. Shared worlds are loaded on first use
    /// instead.
    ///
    /// - Throws: `Issues` if a world's seed has mistakes, or a `StoreFailure`.
    package func resume(_ seeds: RuntimeSeeds) throws {
        guard !isShared else { return share(seeds) }
        for name in try archive?.worlds() ?? [] {
            guard let world = try world(name), world.own == nil else { continue }
            let stored = world.read { $0.value(StoredSeed.self) }
            guard let (seed, rows, size) = try stored.read(seeds, world: name) else { continue }
            let played = seeds.play(seed)
            guard let lease = budget.seeds.take(size, playing: played) else { continue }
            try world.state.store.resume(seed, rows: rows ?? world.seed)
            let own = OwnSeed(played, lease, stored.digest)
            _ = replace(world, with: World(world, resuming: own, or: seed, generator: generator))
        }
    }
}

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

    /// Returns whether this value has exactly these keys, compared by their IDs.
    func names(_ published: [KeyGenerator.NamedKey], before: [KeyGenerator.NamedKey]) -> Bool {
        self.published.lazy.map(\.id).elementsEqual(published.lazy.map(\.id))
            && self.before.lazy.map(\.id).elementsEqual(before.lazy.map(\.id))
    }
}

/// Keys stored as shared texts: an array of `StoredKey` as JSON.
extension SharedTexts {
    /// Returns the keys with this name; `nil` if none were stored.
    func keys(_ name: String) throws(StoreFailure) -> [KeyGenerator.NamedKey]? {
        guard let text = try text(name) else { return nil }
        return try read(text)
    }

    /// Stores keys under a name, unless the name has keys already. Returns the keys that the name has afterwards.
    func keys(
        _ name: String, orKeep keys: [KeyGenerator.NamedKey]
    ) throws(StoreFailure) -> [KeyGenerator.NamedKey] {
        let stored = keys.compactMap { StoredKey($0) }
        guard stored.count == keys.count else { throw StoreFailure(.undeclared, "a key can't be written") }
        let text = try StoredCoder().encode(stored)
        let kept = try self.text(name, orKeep: text)
        return kept == text ? keys : try read(kept)
    }

    private func read(_ text: String) throws(StoreFailure) -> [KeyGenerator.NamedKey] {
        let stored = try StoredCoder().decode([StoredKey].self, from: text)
        let keys = stored.compactMap(\.named)
        guard keys.count == stored.count else { throw StoreFailure(.unreadable, "a key can't be read") }
        return keys
    }
}
