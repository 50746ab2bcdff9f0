import JOSE
import Synchronization
import Time
import Worlds

/// The keys with which a token issuer signs by one algorithm in a test world, oldest first. Several keys can be
/// published at the same time. The newest one signs, unless a rotation period is set; then, the published keys take
/// turns.
/// <https://developer.apple.com/documentation/signinwithapplerestapi/fetch-apple_s-public-key-for-verifying-token-signature>
final class KeySequence: Sendable {
    let algorithm: Algorithm
    private let own: [KeyGenerator.NamedKey]
    private let rotation: TimeSpan?
    private let generator: KeyGenerator
    private let rotated: Mutex<Rotations>
    /// The store that keeps rotated keys; `nil` if they are lost at the end of the process.
    private let kept: Kept?
    /// A lock that is held while a key rotation is written to the store and then read into memory. Otherwise, memory
    /// could keep the keys of an earlier rotation.
    private let turn = Mutex(())

    private struct Kept {
        let store: WorldStore
        /// The identifier of the table row that contains the rotated signing keys.
        let key: String
    }

    private struct Rotations: Sendable {
        var keys: Rotated?
        var resets = 0
    }

    private struct Rotated: Sendable {
        let published: [KeyGenerator.NamedKey]
        /// The keys that were published before the last rotation of signing keys.
        let before: [KeyGenerator.NamedKey]
    }

    /// Makes the sequence of signing keys that a token issuer uses with one algorithm. `store` keeps the keys of key
    /// rotations. If `resumes` is true, the keys of earlier rotations are read from the store.
    init(
        _ algorithm: Algorithm, keys: [KeyGenerator.NamedKey], rotation: TimeSpan?, generator: KeyGenerator,
        of owner: KeyOwner? = nil, in store: WorldStore? = nil, resumes: Bool = false
    ) {
        kept =
            if let store, store.lasts, let owner {
                Kept(store: store, key: KeySequence.row(of: owner, algorithm))
            } else {
                nil
            }
        rotated = Mutex(Rotations())
        self.algorithm = algorithm
        own = keys
        self.rotation = rotation.flatMap { $0 > .zero ? $0 : nil }
        self.generator = generator
        if resumes, let kept { readAgain(kept) }
    }

    /// Returns the identifier of the table row that contains a token issuer's rotated signing keys for an algorithm.
    static func row(of owner: KeyOwner, _ algorithm: Algorithm) -> String { "\(owner.name) \(algorithm.rawValue)" }

    /// Reads the signing keys that the last key rotation wrote to the store, and returns them; `nil` if the store has
    /// none. If the IDs of the keys in memory are the same, the keys in memory are returned, and nothing is parsed.
    @discardableResult
    private func readAgain(_ kept: Kept) -> Rotated? {
        guard let row = kept.store.read({ $0.find(StoredKeys.self, kept.key) }) else { return nil }
        return rotated.withLock { rotated in
            if let known = rotated.keys, row.names(known.published, before: known.before) { return known }
            let read = Rotated(
                published: row.published.compactMap(\.named), before: row.before.compactMap(\.named))
            rotated.keys = read
            return read
        }
    }

    /// The signing keys as the last key rotation or loaded snapshot left them; `nil` before that.
    private var current: Rotated? {
        guard let kept else { return rotated.withLock { $0.keys } }
        return readAgain(kept)
    }

    func prepare() {
        if own.isEmpty { generator.prepare(algorithm, turns: rotation != nil) }
    }

    var isReady: Bool { !own.isEmpty || generator.initial(algorithm, turns: rotation != nil) != nil }

    func whenReady(_ done: @escaping @Sendable (StoreFailure?) -> Void) {
        if isReady { done(nil) } else { generator.whenReady(algorithm, turns: rotation != nil, done) }
    }

    /// The signing keys with which the test world begins.
    private var initial: [KeyGenerator.NamedKey] {
        own.isEmpty ? generator.initial(algorithm, turns: rotation != nil) ?? [] : own
    }

    var published: [KeyGenerator.NamedKey] { current?.published ?? initial }

    /// The keys that the test world doesn't publish any more, but published at its beginning or just before the last
    /// rotation.
    var withdrawn: [KeyGenerator.NamedKey] {
        let rotated = current
        let published = Set((rotated?.published ?? initial).map(\.id))
        return (initial + (rotated?.before ?? [])).filter { !published.contains($0.id) }
    }

    func signing(at time: Instant) -> KeyGenerator.NamedKey? {
        let keys = published
        guard let rotation, !keys.isEmpty else { return keys.last }
        let period = (time - .first).milliseconds / rotation.milliseconds
        return keys[Int(period % Int64(keys.count))]
    }

    /// The largest number of keys that stay published after a key rotation, as many as Apple publishes.
    private static let limit = 3

    /// Publishes a new signing key in the test world of this name, and returns its ID; `nil` when none could be made. If
    /// `dropping` is true, all earlier keys are withdrawn.
    func rotate(in world: String, dropping: Bool) async throws(StoreFailure) -> String? {
        let generation = rotated.withLock { $0.resets }
        let fresh = await withCheckedContinuation { continuation in
            generator.fresh(algorithm, for: world) { continuation.resume(returning: $0) }
        }
        guard let fresh, try publish(fresh, dropping, generation) else { return nil }
        return fresh.id
    }

    private func publish(
        _ fresh: KeyGenerator.NamedKey, _ dropping: Bool, _ generation: Int
    ) throws(StoreFailure) -> Bool {
        guard let kept else {
            let initial = initial
            rotated.withLock { rotated in
                // If the world was reset meanwhile, it keeps the keys with which it begins.
                guard rotated.resets == generation else { return }
                let known = rotated.keys?.published ?? initial
                rotated.keys = Rotated(published: KeySequence.rotated(known, dropping) + [fresh], before: known)
            }
            return true
        }
        let begun = initial.compactMap { StoredKey($0) }
        guard let written = StoredKey(fresh) else { return false }
        // A lock doesn't pass typed errors on for a value that can't be copied.
        let result: Result<Void, StoreFailure> = turn.withLock { _ in
            do throws(StoreFailure) {
                try kept.store.update { tables in
                    guard rotated.withLock({ $0.resets }) == generation else { return }
                    let known = tables.find(StoredKeys.self, kept.key)?.published ?? begun
                    let published = KeySequence.rotated(known, dropping) + [written]
                    tables.put(StoredKeys(key: kept.key, published: published, before: known))
                }
            } catch { return .failure(error) }
            readAgain(kept)
            return .success(())
        }
        try result.get()
        return true
    }

    /// Returns the elements of `keys` that stay published when a new key is added: the newest ones, or none if
    /// `dropping` is true.
    private static func rotated<Key>(_ keys: [Key], _ dropping: Bool) -> [Key] {
        dropping ? [] : Array(keys.suffix(limit - 1))
    }

    func stale(at time: Instant) -> [KeyGenerator.NamedKey] {
        let signing = signing(at: time)?.id
        return (current?.before ?? published).filter { $0.id != signing }
    }

    var unpublished: KeyGenerator.NamedKey? { generator.unpublished(algorithm) }

    /// Returns the key for tokens that nobody should trust, which is never published; `nil` when it hasn't been made
    /// yet. This may wait for the store, because another daemon that shares the store may have made the key.
    func knownUnpublished() throws(StoreFailure) -> KeyGenerator.NamedKey? { try generator.knownUnpublished(algorithm) }

    /// Calls `done` with `true` once there is a key for tokens that nobody should trust, which is never published.
    /// Calls `done` with `false` when this key can't be made.
    func whenUnpublishedIsReady(_ done: @escaping @Sendable (Bool) -> Void) {
        generator.whenUnpublishedIsReady(algorithm) { [self] in done(unpublished != nil) }
    }

    func reset() {
        rotated.withLock { rotated in
            rotated.keys = nil
            rotated.resets += 1
        }
    }

    /// Returns the signing keys as a table row for a snapshot, with the identifier `key`. Returns `nil` if all keys are
    /// those of the seed (initial data), or none were made.
    func stored(as key: String) -> StoredKeys? {
        let rotated = current
        let published = rotated?.published ?? initial
        guard !published.isEmpty, rotated != nil || own.isEmpty else { return nil }
        return StoredKeys(
            key: key, published: published.compactMap { StoredKey($0) },
            before: (rotated?.before ?? []).compactMap { StoredKey($0) })
    }

    /// Replaces the present keys by the keys of a snapshot, or, if `stored` is `nil`, by the keys with which the test
    /// world begins.
    func restore(_ stored: StoredKeys?) {
        let keys = stored.map { stored in
            Rotated(published: stored.published.compactMap(\.named), before: stored.before.compactMap(\.named))
        }
        rotated.withLock { rotated in
            rotated.keys = keys
            // A rotation that still runs belongs to the keys before.
            rotated.resets += 1
        }
    }
}
