import JOSE
import JSON

/// The seed that a world got while the daemon ran, as stores that last keep it.
struct StoredSeed: WorldValue {
    static let name = "seed"

    /// The whole seed, as one file would have it; `nil` for the daemon's.
    private(set) var document: String?
    /// The seed whose rows the world began with, which was extended since; `nil` for the daemon's.
    private(set) var rows: String?
    /// Unlike that of any other seed or rows; `nil` where `document` is.
    private(set) var digest: String?

    init(_ seed: Seed) {}

    /// `rows` is the seed that the world began with; `nil` for the daemon's.
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

    /// The same, extended to another seed.
    func extended(to seed: Seed) -> StoredSeed { StoredSeed(seed.document.text, rows: rows) }

    /// The seed, and the one whose rows the world began with, which is `nil` for the daemon's; `nil` where it has the daemon's.
    ///
    /// - Throws: What is wrong with it.
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
    /// Takes up the worlds that the store has kept, once, before anybody is served. Where they are shared, each is taken up when it
    /// is first asked for.
    ///
    /// - Throws: `Issues`, where something is wrong with a seed that a world had, or a `StoreFailure`.
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
