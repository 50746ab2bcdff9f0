import JOSE
import Synchronization

/// The RSA keys that sign for a world, oldest first: several are published at once, the last one signs.
/// <https://developer.apple.com/documentation/signinwithapplerestapi/fetch-apple_s-public-key-for-verifying-token-signature>
package final class KeyRing: Sendable {
    private let own: [KeyForge.NamedKey]
    private let rotation: Int64?
    private let forge: KeyForge
    private let rotated = Mutex<[KeyForge.NamedKey]?>(nil)

    init(seed: Seed, forge: KeyForge) {
        own = seed.apple.signingKeys.compactMap { named in
            seed.keys[named.privateKey].map { KeyForge.NamedKey(id: named.id, key: $0) }
        }
        rotation = seed.apple.keyRotation.flatMap(Durations.milliseconds).flatMap { $0 > 0 ? $0 : nil }
        self.forge = forge
        if own.isEmpty { forge.prepare() }
    }

    /// Whether `keys` and `signing` can answer; a key takes a tenth of a second to make.
    package var isReady: Bool { !own.isEmpty || forge.initial != nil }

    package func whenReady(_ done: @escaping @Sendable () -> Void) {
        if isReady { done() } else { forge.whenReady(done) }
    }

    /// The published keys. Empty only while they are being made.
    package var published: [KeyForge.NamedKey] {
        rotated.withLock { $0 } ?? (own.isEmpty ? forge.initial ?? [] : own)
    }

    /// The key that signs at `time` (milliseconds): the newest, or with a rotation period each in turn.
    package func signing(at time: Int64) -> KeyForge.NamedKey? {
        let keys = published
        guard let rotation, !keys.isEmpty else { return keys.last }
        return keys[Int(((time / rotation) % Int64(keys.count) + Int64(keys.count)) % Int64(keys.count))]
    }

    /// Publishes a new key, which signs from now on, and withdraws the oldest. Returns the new key's ID.
    package func rotate() throws(KeyError) -> String {
        let fresh = try forge.fresh()
        let before = published
        rotated.withLock { $0 = Array(($0 ?? before).dropFirst()) + [fresh] }
        return fresh.id
    }

    func reset() { rotated.withLock { $0 = nil } }

    /// The JSON Web Key Set.
    package var jwks: JSONValue {
        ["keys": .array(published.map { $0.key.jwk(keyID: $0.id, algorithm: .rs256) })]
    }

    /// Signs `claims` with the key of the moment. The header is Apple's: `kid` and `alg`, no `typ`.
    package func mint(_ claims: JSONObject, at time: Int64) throws(KeyError) -> String {
        guard let named = signing(at: time) else { throw KeyError("no signing key is ready") }
        let header = JSONObject([("kid", .string(named.id)), ("alg", "RS256")])
        return try JWS.mint(header: header, claims: claims, key: named.key, algorithm: .rs256)
    }
}
