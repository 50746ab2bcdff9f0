import JOSE
import JSON
import Time

/// The key rings of a world, one for each owner, so that each provider publishes its own keys only.
package struct KeyRings: Sendable {
    private let rings: [KeyOwner: KeyRing]
    /// For an owner of which the seed's format doesn't know.
    private let others: KeyRing

    /// What is seeded, with the keys read; worlds share it.
    static func seeded(_ seed: Seed) -> [(SeededKeys, [KeyGenerator.NamedKey])] {
        seed.sections.flatMap { section in section.keys.map { ($0, $0.named(seed.keys)) } }
    }

    /// The rows of what was rotated by rings that don't go on.
    let endedRows: [String]

    /// `earlier` are the rings of another seed, which go on where that has the same keys. `store` keeps what is rotated; where
    /// `resumes`, it has kept it.
    init(
        _ seeded: [(SeededKeys, [KeyGenerator.NamedKey])], generator: KeyGenerator,
        keeping earlier: (rings: KeyRings, of: Seed)? = nil, in store: KeyStore? = nil, resumes: Bool = false
    ) {
        var rings: [KeyOwner: KeyRing] = [:]
        var ended: [String] = []
        let known = earlier?.of.sections.flatMap(\.keys) ?? []
        for (declared, keys) in seeded {
            if let ring = earlier?.rings.rings[declared.owner], known.contains(where: { $0.isSame(as: declared) }) {
                rings[declared.owner] = ring
                continue
            }
            if earlier != nil { ended += declared.algorithms.map { KeySequence.row(of: declared.owner, $0) } }
            let ring = KeyRing(
                keys, algorithms: declared.algorithms, rotation: declared.rotation, generator: generator,
                of: declared.owner, in: store, resumes: resumes)
            // All rings without keys of their own share the generator's, which are made before anybody asks.
            ring.prepare()
            rings[declared.owner] = ring
        }
        self.rings = rings
        endedRows = ended
        others = earlier?.rings.others ?? KeyRing([], algorithms: [.rs256], rotation: nil, generator: generator)
    }

    package subscript(owner: KeyOwner) -> KeyRing { rings[owner] ?? others }

    func areReady(_ owners: [KeyOwner]) -> Bool { owners.allSatisfy { self[$0].isReady } }

    /// Calls back once the owners' keys are there, or with what keeps them from being kept.
    func whenReady(_ owners: [KeyOwner], _ done: @escaping @Sendable (StoreFailure?) -> Void) {
        guard let missing = owners.first(where: { !self[$0].isReady }) else { return done(nil) }
        self[missing].whenReady { failure in failure == nil ? whenReady(owners, done) : done(failure) }
    }

    func reset() {
        rings.values.forEach { $0.reset() }
        others.reset()
    }

    /// What a snapshot of the world says of them.
    var stored: [StoredKeys] { rings.flatMap { owner, ring in ring.stored(of: owner) }.sorted { $0.key < $1.key } }

    /// The keys are those of a snapshot from now on.
    func restore(_ stored: [StoredKeys]) {
        for (owner, ring) in rings { ring.restore(stored, of: owner) }
    }
}

/// The keys of one owner in a world: a sequence for each algorithm that it signs with. All are published.
package struct KeyRing: Sendable {
    /// Never empty; the first signs where no algorithm is asked for.
    private let sequences: [KeySequence]

    /// For an algorithm without `keys`, those that the generator makes are used; then all owners have the same.
    init(
        _ keys: [KeyGenerator.NamedKey], algorithms: [Algorithm], rotation: TimeSpan?, generator: KeyGenerator,
        of owner: KeyOwner? = nil, in store: KeyStore? = nil, resumes: Bool = false
    ) {
        sequences = algorithms.map { algorithm in
            KeySequence(
                algorithm, keys: keys.filter { $0.algorithm == algorithm }, rotation: rotation, generator: generator,
                of: owner, in: store, resumes: resumes)
        }
    }

    /// What it signs with.
    package var algorithms: [Algorithm] { sequences.map(\.algorithm) }

    /// Begins to make keys, if any have to be made.
    func prepare() { sequences.forEach { $0.prepare() } }

    /// Whether `published` and `signing` can answer; an RSA key takes a tenth of a second to make.
    package var isReady: Bool { sequences.allSatisfy(\.isReady) }

    package func whenReady(_ done: @escaping @Sendable (StoreFailure?) -> Void) {
        guard let missing = sequences.first(where: { !$0.isReady }) else { return done(nil) }
        missing.whenReady { failure in failure == nil ? whenReady(done) : done(failure) }
    }

    /// The published keys, of each algorithm the oldest first. Empty only while they are being made.
    package var published: [KeyGenerator.NamedKey] { sequences.flatMap(\.published) }

    /// The published key by which `token` says that it is signed; `nil` when there is none.
    package func key(of token: JWS) -> KeyGenerator.NamedKey? { published.first { $0.id == token.keyID } }

    /// What has become of a key in its world.
    package enum KeyState: Sendable {
        case published
        case withdrawn
        /// It signs what an order asked to be signed by an unknown key.
        case neverPublished
    }

    /// The key with this `kid`; `nil` when the owner has, and had, none. May ask the store.
    package func known(
        _ keyID: String
    ) throws(StoreFailure) -> (key: KeyGenerator.NamedKey, state: KeyState)? {
        let all: [(KeyState, [KeyGenerator.NamedKey])] = [
            (.published, published), (.withdrawn, sequences.flatMap(\.withdrawn)),
            (.neverPublished, sequences.compactMap(\.unpublished)),
        ]
        for (state, keys) in all {
            if let key = keys.first(where: { $0.id == keyID }) { return (key, state) }
        }
        // Another replica may have made it.
        for sequence in sequences {
            if let key = try sequence.knownUnpublished(), key.id == keyID { return (key, .neverPublished) }
        }
        return nil
    }

    /// The keys of `algorithm`, or of the first; `nil` when the owner doesn't sign with it.
    private func sequence(_ algorithm: Algorithm?) -> KeySequence? {
        algorithm.map { algorithm in sequences.first { $0.algorithm == algorithm } } ?? sequences.first
    }

    /// The key that signs at `time`: the newest, or with a rotation period each in turn.
    package func signing(at time: Instant, with algorithm: Algorithm? = nil) -> KeyGenerator.NamedKey? {
        sequence(algorithm)?.signing(at: time)
    }

    /// Publishes a new key of each algorithm, which signs from now on, and withdraws the oldest of three, or with `dropping`
    /// every other one. Returns the new keys' IDs; `nil` when one can't be made, or too many rotations wait for one.
    package func rotate(dropping: Bool = false) async throws(StoreFailure) -> [String]? {
        var made: [String] = []
        for sequence in sequences {
            guard let keyID = try await sequence.rotate(dropping: dropping) else { return nil }
            made.append(keyID)
        }
        return made
    }

    /// The published keys as they were before the ones that sign at `time` were among them.
    func stale(at time: Instant) -> [KeyGenerator.NamedKey] { sequences.flatMap { $0.stale(at: time) } }

    /// A key that is never published; `nil` until it was first waited for.
    func unpublished(_ algorithm: Algorithm? = nil) -> KeyGenerator.NamedKey? { sequence(algorithm)?.unpublished }

    /// Calls back once there is a key of each algorithm that is never published: at once, if there is.
    func whenUnpublishedIsReady(_ done: @escaping @Sendable () -> Void) {
        guard let missing = sequences.first(where: { $0.unpublished == nil }) else { return done() }
        missing.whenUnpublishedIsReady { isMade in isMade ? whenUnpublishedIsReady(done) : done() }
    }

    func reset() { sequences.forEach { $0.reset() } }

    fileprivate func stored(of owner: KeyOwner) -> [StoredKeys] {
        sequences.compactMap { $0.stored(as: KeySequence.row(of: owner, $0.algorithm)) }
    }

    fileprivate func restore(_ stored: [StoredKeys], of owner: KeyOwner) {
        for sequence in sequences {
            let key = KeySequence.row(of: owner, sequence.algorithm)
            sequence.restore(stored.first { $0.key == key })
        }
    }
}

extension KeyRing {
    /// Returns once the keys that are never published are there.
    package func unpublishedIsReady() async {
        await withCheckedContinuation { continuation in whenUnpublishedIsReady { continuation.resume() } }
    }
}
