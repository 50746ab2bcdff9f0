import JOSE
import JSON
import Synchronization
import Time

/// Whose keys sign. Each provider that signs names its own.
package struct KeyOwner: Hashable, Sendable {
    package let name: String

    package init(_ name: String) { self.name = name }
}

/// The key rings of a world, one for each owner, so that each provider publishes its own keys only.
package struct KeyRings: Sendable {
    private let rings: [KeyOwner: KeyRing]
    /// For an owner of which the seed's format doesn't know.
    private let others: KeyRing

    /// The keys that a seed brings, in the order of its sections; worlds share them.
    static func seeded(_ seed: Seed) -> [[KeyGenerator.NamedKey]] {
        seed.sections.map { section in
            section.signingKeys.compactMap { named in
                seed.keys[named.privateKey].map { KeyGenerator.NamedKey(id: named.id, key: $0) }
            }
        }
    }

    init(seed: Seed, keys: [[KeyGenerator.NamedKey]], generator: KeyGenerator) {
        var rings: [KeyOwner: KeyRing] = [:]
        for (section, keys) in zip(seed.sections, keys) {
            guard let owner = type(of: section).keyOwner else { continue }
            let ring = KeyRing(keys: keys, rotation: section.keyRotation, generator: generator)
            // All rings without keys of their own share the generator's. They are made before anybody asks when the first
            // provider needs them.
            if rings.isEmpty { ring.prepare() }
            rings[owner] = ring
        }
        self.rings = rings
        others = KeyRing(keys: [], rotation: nil, generator: generator)
    }

    package subscript(owner: KeyOwner) -> KeyRing { rings[owner] ?? others }

    /// Calls back once the key is there that is never published: at once, if it is.
    package func whenUnpublishedIsReady(_ done: @escaping @Sendable () -> Void) { others.whenUnpublishedIsReady(done) }

    func areReady(_ owners: [KeyOwner]) -> Bool { owners.allSatisfy { self[$0].isReady } }

    func whenReady(_ owners: [KeyOwner], _ done: @escaping @Sendable () -> Void) {
        guard let missing = owners.first(where: { !self[$0].isReady }) else { return done() }
        self[missing].whenReady { whenReady(owners, done) }
    }

    func reset() {
        rings.values.forEach { $0.reset() }
        others.reset()
    }
}

/// The RSA keys of one owner in a world, oldest first: several are published at once, the last one signs.
/// <https://developer.apple.com/documentation/signinwithapplerestapi/fetch-apple_s-public-key-for-verifying-token-signature>
package final class KeyRing: Sendable {
    private let own: [KeyGenerator.NamedKey]
    private let rotation: TimeSpan?
    private let generator: KeyGenerator
    private let rotated = Mutex<Rotations>(Rotations())

    private struct Rotations: Sendable {
        var keys: Rotated?
        var resets = 0
    }

    private struct Rotated: Sendable {
        var published: [KeyGenerator.NamedKey]
        /// What was published before the last rotation.
        var before: [KeyGenerator.NamedKey]
    }

    /// Without `keys`, those that the generator makes are used; then all owners have the same.
    init(keys: [KeyGenerator.NamedKey], rotation: TimeSpan?, generator: KeyGenerator) {
        own = keys
        self.rotation = rotation.flatMap { $0 > .zero ? $0 : nil }
        self.generator = generator
    }

    /// Begins to make keys, if any have to be made.
    func prepare() {
        if own.isEmpty { generator.prepare() }
    }

    /// Whether `keys` and `signing` can answer; a key takes a tenth of a second to make.
    package var isReady: Bool { !own.isEmpty || generator.initial != nil }

    package func whenReady(_ done: @escaping @Sendable () -> Void) {
        if isReady { done() } else { generator.whenReady(done) }
    }

    /// The published keys. Empty only while they are being made.
    package var published: [KeyGenerator.NamedKey] {
        rotated.withLock { $0.keys?.published } ?? (own.isEmpty ? generator.initial ?? [] : own)
    }

    /// The key that signs at `time`: the newest, or with a rotation period each in turn.
    package func signing(at time: Instant) -> KeyGenerator.NamedKey? {
        let keys = published
        guard let rotation, !keys.isEmpty else { return keys.last }
        let period = (time - .first).milliseconds / rotation.milliseconds
        return keys[Int(period % Int64(keys.count))]
    }

    /// As many keys as Apple publishes.
    private static let limit = 3

    /// Publishes a new key, which signs from now on, and withdraws the oldest of three, or with `dropping` every other one.
    /// Calls back with the new key's ID: at once if a key is at hand, else when one has been made; with `nil` when none can be
    /// made, or too many rotations wait for one.
    package func rotate(dropping: Bool = false, then done: @escaping @Sendable (String?) -> Void) {
        let generation = rotated.withLock { $0.resets }
        generator.fresh { [self] fresh in
            guard let fresh else { return done(nil) }
            let initial = own.isEmpty ? generator.initial ?? [] : own
            rotated.withLock { rotated in
                // The world was reset meanwhile: it keeps the keys that it begins with.
                guard rotated.resets == generation else { return }
                let known = rotated.keys?.published ?? initial
                rotated.keys = Rotated(
                    published: (dropping ? [] : Array(known.suffix(KeyRing.limit - 1))) + [fresh], before: known)
            }
            done(fresh.id)
        }
    }

    /// The published keys as they were before the one that signs at `time` was among them.
    func stale(at time: Instant) -> [KeyGenerator.NamedKey] {
        let current = signing(at: time)?.id
        return (rotated.withLock { $0.keys?.before } ?? published).filter { $0.id != current }
    }

    /// A key that is never published; `nil` until it was first waited for.
    var unpublished: KeyGenerator.NamedKey? { generator.unpublished }

    /// Calls back once the unpublished key is there: at once, if it is.
    func whenUnpublishedIsReady(_ done: @escaping @Sendable () -> Void) {
        generator.whenUnpublishedIsReady(done)
    }

    func reset() {
        rotated.withLock { rotated in
            rotated.keys = nil
            rotated.resets += 1
        }
    }

    /// A JSON Web Key Set.
    static func jwks(_ keys: [KeyGenerator.NamedKey]) -> JSONValue {
        ["keys": .array(keys.map { $0.key.jwk(keyID: $0.id, algorithm: .rs256) })]
    }

    /// Signs `claims` with the key of the moment. The header is Apple's, `kid` and `alg` without `typ`, or the usual one.
    package func mint(_ claims: JSONObject, at time: Instant, withType: Bool = false) throws(KeyError) -> String {
        guard let named = signing(at: time) else { throw KeyError("no signing key is ready") }
        let header = KeyRing.header(named.id, withType: withType)
        return try JWS.mint(header: header, claims: claims, key: named.key, algorithm: .rs256)
    }
}

extension KeyRing {
    static func header(_ keyID: String, withType: Bool) -> JSONObject {
        withType
            ? JSONObject([("alg", "RS256"), ("kid", .string(keyID)), ("typ", "JWT")])
            : JSONObject([("kid", .string(keyID)), ("alg", "RS256")])
    }

    static let unsignedHeader = JSONObject([("alg", "none"), ("typ", "JWT")])

    /// How long certificates are valid: from 2020 to 2050, whatever the world's clock says.
    private static let validity = (
        from: Instant.first + .seconds(1_577_836_800), to: Instant.first + .seconds(2_524_608_000)
    )

    /// Keys as X.509 certificates by their IDs, as Google publishes them beside the key set.
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
