import JOSE
import JSON

/// The seed that a world got while the daemon ran, as archives keep it.
struct StoredSeed: WorldValue {
    static let name = "seed"

    /// The whole seed as the text of one file; `nil` for the daemon's.
    private(set) var document: String?
    /// The seed with whose rows the world began, before it was extended; `nil` for the daemon's.
    private(set) var rows: String?
    /// A digest of both; `nil` where `document` is.
    private(set) var digest: String?

    init(_ seed: Seed) {}

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
