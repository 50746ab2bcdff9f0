import JOSE
import JSON
import Time
import Worlds

/// The signing keys of a test world: a key ring for each owner (a provider or an OpenID issuer). All owners without
/// keys in the seed (initial data) begin with the same generated keys.
package struct KeyRings: Sendable {
    private let rings: [KeyOwner: KeyRing]
    /// The key ring that all owners (providers or issuers) without a key ring in `rings` share.
    private let others: KeyRing

    /// Returns the signing keys that the seed (initial data) sets for each owner, together with the same keys parsed.
    /// All test worlds with the seed share the parsed keys.
    static func seeded(_ seed: Seed) -> [(SeededKeys, [KeyGenerator.NamedKey])] {
        seed.sections.flatMap { section in section.keys.map { ($0, $0.named(seed.keys)) } }
    }

    /// The identifiers of table rows to remove. The rows contain rotated signing keys that the test world's new seed
    /// (initial data) has replaced.
    let endedRows: [String]

    /// Makes the key rings of a test world.
    ///
    /// - Parameters:
    ///   - seeded: The signing keys in the world's seed (initial data).
    ///   - earlier: The key rings of the world's previous seed. A ring stays in use if the new seed has the same keys.
    ///   - store: The store that keeps the keys of key rotations. If `resumes` is true, it may have such keys already.
    init(
        _ seeded: [(SeededKeys, [KeyGenerator.NamedKey])], generator: KeyGenerator,
        keeping earlier: (rings: KeyRings, of: Seed)? = nil, in store: WorldStore? = nil, resumes: Bool = false
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
            // All rings without keys of their own share the generator's, which are made in advance.
            ring.prepare()
            rings[declared.owner] = ring
        }
        self.rings = rings
        endedRows = ended
        others = earlier?.rings.others ?? KeyRing([], algorithms: [.rs256], rotation: nil, generator: generator)
    }

    package subscript(owner: KeyOwner) -> KeyRing { rings[owner] ?? others }

    func areReady(_ owners: [KeyOwner]) -> Bool { owners.allSatisfy { self[$0].isReady } }

    /// Calls `done` once the signing keys of all `owners` are ready. Calls it with a failure if they can't be stored.
    func whenReady(_ owners: [KeyOwner], _ done: @escaping @Sendable (StoreFailure?) -> Void) {
        guard let missing = owners.first(where: { !self[$0].isReady }) else { return done(nil) }
        self[missing].whenReady { failure in failure == nil ? whenReady(owners, done) : done(failure) }
    }

    func reset() {
        rings.values.forEach { $0.reset() }
        others.reset()
    }

    /// The test world's signing keys in the form in which a snapshot contains them.
    var stored: [StoredKeys] { rings.flatMap { owner, ring in ring.stored(of: owner) }.sorted { $0.key < $1.key } }

    /// Replaces the test world's signing keys by those of a snapshot.
    func restore(_ stored: [StoredKeys]) {
        for (owner, ring) in rings { ring.restore(stored, of: owner) }
    }
}

/// The signing keys of one token issuer in a test world, with a sequence of keys for each of the issuer's algorithms.
/// Keys of all algorithms are published.
package struct KeyRing: Sendable {
    /// The sequences of signing keys, one for each of the token issuer's algorithms. The first algorithm's keys sign
    /// unless a caller asks for another algorithm.
    private let sequences: [KeySequence]

    /// Makes the signing keys of one token issuer. For an algorithm without a key in `keys`, the issuer begins with
    /// keys of `generator`, which gives the same ones to all issuers.
    init(
        _ keys: [KeyGenerator.NamedKey], algorithms: [Algorithm], rotation: TimeSpan?, generator: KeyGenerator,
        of owner: KeyOwner? = nil, in store: WorldStore? = nil, resumes: Bool = false
    ) {
        sequences = algorithms.map { algorithm in
            KeySequence(
                algorithm, keys: keys.filter { $0.algorithm == algorithm }, rotation: rotation, generator: generator,
                of: owner, in: store, resumes: resumes)
        }
    }

    package var algorithms: [Algorithm] { sequences.map(\.algorithm) }

    func prepare() { sequences.forEach { $0.prepare() } }

    /// Whether the token issuer's signing keys have been made. An RSA key takes a tenth of a second to make.
    package var isReady: Bool { sequences.allSatisfy(\.isReady) }

    package func whenReady(_ done: @escaping @Sendable (StoreFailure?) -> Void) {
        guard let missing = sequences.first(where: { !$0.isReady }) else { return done(nil) }
        missing.whenReady { failure in failure == nil ? whenReady(done) : done(failure) }
    }

    /// The token issuer's published keys, sorted by algorithm and then from the oldest to the newest. The list is empty
    /// only while the keys are being made.
    package var published: [KeyGenerator.NamedKey] { sequences.flatMap(\.published) }

    /// Returns the token issuer's published signing key whose ID is the `kid` of `token`; `nil` if there is none.
    package func key(of token: JWS) -> KeyGenerator.NamedKey? { published.first { $0.id == token.keyID } }

    package enum KeyState: Sendable {
        case published
        case withdrawn
        /// The key isn't published. It signs a token when a test, or a fault, requests a token with an unknown key.
        case neverPublished
    }

    /// Returns the token issuer's key with this `kid`, and whether the key is published, withdrawn or never published.
    /// Returns `nil` if no key has this ID, or if the key was withdrawn before the last rotation and wasn't one of the
    /// first keys. This may wait for the store.
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

    /// Returns the sequence of the token issuer's keys for `algorithm`, or for the issuer's first algorithm if
    /// `algorithm` is `nil`. Returns `nil` when the issuer doesn't sign with `algorithm`.
    private func sequence(_ algorithm: Algorithm?) -> KeySequence? {
        algorithm.map { algorithm in sequences.first { $0.algorithm == algorithm } } ?? sequences.first
    }

    /// Returns the key that signs at `time`: the newest key or, if the seed (initial data) sets a rotation period, the
    /// published key whose turn it is.
    package func signing(at time: Instant, with algorithm: Algorithm? = nil) -> KeyGenerator.NamedKey? {
        sequence(algorithm)?.signing(at: time)
    }

    /// Publishes a new signing key for each algorithm in the test world of this name. At most three keys of an algorithm
    /// stay published; if `dropping` is true, only the new key stays published. Returns the new keys' IDs, or `nil` when
    /// a key can't be made or too many rotations wait for new keys.
    package func rotate(in world: String, dropping: Bool = false) async throws(StoreFailure) -> [String]? {
        var made: [String] = []
        for sequence in sequences {
            guard let keyID = try await sequence.rotate(in: world, dropping: dropping) else { return nil }
            made.append(keyID)
        }
        return made
    }

    /// Returns an outdated key set, which lacks the keys that sign at `time`. After a key rotation, it has the keys
    /// that were published before the rotation.
    func stale(at time: Instant) -> [KeyGenerator.NamedKey] { sequences.flatMap { $0.stale(at: time) } }

    /// Returns a key for tokens that nobody should trust; `nil` if no such key has been made. The key is never
    /// published. It is made when a caller waits for it by `whenUnpublishedIsReady`.
    func unpublished(_ algorithm: Algorithm? = nil) -> KeyGenerator.NamedKey? { sequence(algorithm)?.unpublished }

    /// Calls `done` as soon as each algorithm has a key for tokens that nobody should trust. Such keys are never
    /// published. If one of them can't be made, calls `done` without waiting for the others.
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
    /// Waits until each algorithm has a key for tokens that nobody should trust, or until one of these keys can't be
    /// made. Such keys are never published.
    package func unpublishedIsReady() async {
        await withCheckedContinuation { continuation in whenUnpublishedIsReady { continuation.resume() } }
    }
}

extension KeyRing {
    static func jwks(_ keys: [KeyGenerator.NamedKey]) -> JSONValue {
        ["keys": .array(keys.map { $0.key.jwk(keyID: $0.id, algorithm: $0.algorithm) })]
    }

    /// Returns a token with `claims`. If `algorithm` is HS256, the token is signed with the client's `secret`.
    /// Otherwise, it is signed with the key with which the token issuer signs at `time`. If `type` is `nil`, the header
    /// has only `kid` and `alg`, as in Apple's tokens.
    package func mint(
        _ claims: JSONObject, at time: Instant, type: String? = nil, algorithm: Algorithm? = nil, secret: String? = nil
    ) throws(KeyError) -> String {
        let named = try signer(at: time, with: algorithm, secret)
        return try JWS.mint(
            header: KeyRing.header(named, type: type), claims: claims, key: named.key, algorithm: named.algorithm)
    }

    /// Returns the key that signs tokens at `time` with `algorithm`. For HS256, this is the client's `secret`.
    func signer(
        at time: Instant, with algorithm: Algorithm?, _ secret: String?
    ) throws(KeyError) -> KeyGenerator.NamedKey {
        if algorithm == .hs256, let secret { return .shared(try Key(secret: Array(secret.utf8))) }
        guard let named = signing(at: time, with: algorithm) else { throw KeyRing.noKey(algorithm) }
        return named
    }

    private static func noKey(_ algorithm: Algorithm?) -> KeyError {
        KeyError(algorithm.map { "no signing key is ready yet for \($0.rawValue)" } ?? "no signing key is ready yet")
    }

    static func header(_ named: KeyGenerator.NamedKey, type: String?) -> JSONObject {
        let algorithm = JSONValue.string(named.algorithm.rawValue)
        guard let type else { return JSONObject([("kid", .string(named.id)), ("alg", algorithm)]) }
        var header = JSONObject([("alg", algorithm)])
        header["kid"] = named.algorithm == .hs256 ? nil : .string(named.id)
        header["typ"] = .string(type)
        return header
    }

    static let unsignedHeader = JSONObject([("alg", "none"), ("typ", "JWT")])

    /// The period in which the certificates of signing keys are valid: from 2020 to 2050, whatever the test world's
    /// clock says.
    private static let validity = (
        from: Instant.first + .seconds(1_577_836_800), to: Instant.first + .seconds(2_524_608_000)
    )

    package static var endOfCertificates: Instant { validity.to }

    /// Returns signing keys as X.509 certificates by key ID, which is a form that Google publishes besides the key set.
    static func certificates(_ keys: [KeyGenerator.NamedKey], commonName: String) throws(KeyError) -> JSONValue {
        var certificates = JSONObject()
        for named in keys {
            certificates[named.id] = .string(
                try Certificate.selfSigned(
                    named.key, commonName: commonName, serial: Array(Digest.sha256(named.id).prefix(8)),
                    from: validity.from, to: validity.to))
        }
        return .object(certificates)
    }
}

extension KeyGenerator.NamedKey {
    /// Returns the key for HS256 that is made from a client's secret. It is in no key set.
    static func shared(_ key: Key) -> KeyGenerator.NamedKey {
        KeyGenerator.NamedKey(id: "", algorithm: .hs256, key: key)
    }

    /// Returns whether `token` was signed by this key with the key's algorithm.
    package func hasSigned(_ token: JWS) -> Bool {
        token.algorithm == algorithm.rawValue && token.verify(with: key, algorithm: algorithm) == .valid
    }
}
