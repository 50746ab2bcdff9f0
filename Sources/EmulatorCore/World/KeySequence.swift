import JOSE
import Synchronization
import Time

/// The keys of one owner in a world for one algorithm, oldest first: several are published at once, the last one signs.
/// <https://developer.apple.com/documentation/signinwithapplerestapi/fetch-apple_s-public-key-for-verifying-token-signature>
final class KeySequence: Sendable {
    let algorithm: Algorithm
    private let own: [KeyGenerator.NamedKey]
    private let rotation: TimeSpan?
    private let generator: KeyGenerator
    private let rotated: Mutex<Rotations>
    /// Where rotations last; `nil` where they end with the process.
    private let kept: Kept?
    /// Held while a rotation is written, and so that what was written last is what is known here.
    private let turn = Mutex(())

    private struct Kept {
        let store: WorldStore
        /// The row's key.
        let key: String
        /// Whether others may rotate the keys, too.
        let isShared: Bool
    }

    private struct Rotations: Sendable {
        var keys: Rotated?
        var resets = 0
    }

    private struct Rotated: Sendable {
        let published: [KeyGenerator.NamedKey]
        /// What was published before the last rotation.
        let before: [KeyGenerator.NamedKey]
    }

    /// `store` keeps what is rotated, and has kept it where `resumes`.
    init(
        _ algorithm: Algorithm, keys: [KeyGenerator.NamedKey], rotation: TimeSpan?, generator: KeyGenerator,
        of owner: KeyOwner? = nil, in store: KeyStore? = nil, resumes: Bool = false
    ) {
        kept =
            if let store, store.tables.lasts, let owner {
                Kept(
                    store: store.tables, key: KeySequence.row(of: owner, algorithm), isShared: store.isShared)
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

    /// The key of the row that keeps what an owner's keys were rotated to.
    static func row(of owner: KeyOwner, _ algorithm: Algorithm) -> String { "\(owner.name) \(algorithm.rawValue)" }

    /// What the store says, read as far as it isn't known.
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

    /// What the keys were rotated to, if they were.
    private var current: Rotated? {
        guard let kept, kept.isShared else { return rotated.withLock { $0.keys } }
        return readAgain(kept)
    }

    func prepare() {
        if own.isEmpty { generator.prepare(algorithm, turns: rotation != nil) }
    }

    var isReady: Bool { !own.isEmpty || generator.initial(algorithm, turns: rotation != nil) != nil }

    func whenReady(_ done: @escaping @Sendable (StoreFailure?) -> Void) {
        if isReady { done(nil) } else { generator.whenReady(algorithm, turns: rotation != nil, done) }
    }

    /// What the world begins with.
    private var initial: [KeyGenerator.NamedKey] {
        own.isEmpty ? generator.initial(algorithm, turns: rotation != nil) ?? [] : own
    }

    var published: [KeyGenerator.NamedKey] { current?.published ?? initial }

    /// What was published before: what the world began with, and what there was before the last rotation.
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

    /// As many keys as Apple publishes.
    private static let limit = 3

    /// Publishes a new key, and returns its ID; `nil` when there is none.
    func rotate(dropping: Bool) async throws(StoreFailure) -> String? {
        let generation = rotated.withLock { $0.resets }
        let fresh = await withCheckedContinuation { continuation in
            generator.fresh(algorithm) { continuation.resume(returning: $0) }
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
                // The world was reset meanwhile: it keeps the keys that it begins with.
                guard rotated.resets == generation else { return }
                let known = rotated.keys?.published ?? initial
                rotated.keys = Rotated(published: KeySequence.rotated(known, dropping) + [fresh], before: known)
            }
            return true
        }
        let begun = initial.compactMap { StoredKey($0) }
        guard let written = StoredKey(fresh) else { return false }
        // Typed errors don't come through the lock of a value that isn't there.
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

    /// Those of the published keys that stay.
    private static func rotated<Key>(_ keys: [Key], _ dropping: Bool) -> [Key] {
        dropping ? [] : Array(keys.suffix(limit - 1))
    }

    func stale(at time: Instant) -> [KeyGenerator.NamedKey] {
        let signing = signing(at: time)?.id
        return (current?.before ?? published).filter { $0.id != signing }
    }

    var unpublished: KeyGenerator.NamedKey? { generator.unpublished(algorithm) }

    /// The same, or the one that another replica made. Asks the store, and may wait.
    func knownUnpublished() throws(StoreFailure) -> KeyGenerator.NamedKey? { try generator.knownUnpublished(algorithm) }

    /// Calls back with `false` when none can be made.
    func whenUnpublishedIsReady(_ done: @escaping @Sendable (Bool) -> Void) {
        generator.whenUnpublishedIsReady(algorithm) { [self] in done(unpublished != nil) }
    }

    func reset() {
        rotated.withLock { rotated in
            rotated.keys = nil
            rotated.resets += 1
        }
    }

    /// What a snapshot of the world says of them: `nil` where the seed says all, and where none were made. `key` is the row's.
    func stored(as key: String) -> StoredKeys? {
        let rotated = current
        let published = rotated?.published ?? initial
        guard !published.isEmpty, rotated != nil || own.isEmpty else { return nil }
        return StoredKeys(
            key: key, published: published.compactMap { StoredKey($0) },
            before: (rotated?.before ?? []).compactMap { StoredKey($0) })
    }

    /// The keys are these from now on; without any, those with which the world begins.
    func restore(_ stored: StoredKeys?) {
        let keys = stored.map { stored in
            Rotated(published: stored.published.compactMap(\.named), before: stored.before.compactMap(\.named))
        }
        rotated.withLock { rotated in
            rotated.keys = keys
            // A rotation that is under way is of keys that have gone.
            rotated.resets += 1
        }
    }
}

/// The store of a world's tables, as far as keys are concerned.
struct KeyStore {
    let tables: WorldStore
    /// Whether other daemons may rotate the keys.
    let isShared: Bool
}
