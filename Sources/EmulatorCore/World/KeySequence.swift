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

    init(
        _ algorithm: Algorithm, keys: [KeyGenerator.NamedKey], rotation: TimeSpan?, generator: KeyGenerator
    ) {
        self.algorithm = algorithm
        own = keys
        self.rotation = rotation.flatMap { $0 > .zero ? $0 : nil }
        self.generator = generator
    }

    func prepare() {
        if own.isEmpty { generator.prepare(algorithm) }
    }

    var isReady: Bool { !own.isEmpty || generator.initial(algorithm) != nil }

    func whenReady(_ done: @escaping @Sendable () -> Void) {
        if isReady { done() } else { generator.whenReady(algorithm, done) }
    }

    /// What the world begins with.
    private var initial: [KeyGenerator.NamedKey] { own.isEmpty ? generator.initial(algorithm) ?? [] : own }

    var published: [KeyGenerator.NamedKey] { rotated.withLock { $0.keys?.published } ?? initial }

    /// What was published before: what the world began with, and what there was before the last rotation.
    var withdrawn: [KeyGenerator.NamedKey] {
        let current = Set(published.map(\.id))
        return (initial + (rotated.withLock { $0.keys?.before } ?? [])).filter { !current.contains($0.id) }
    }

    func signing(at time: Instant) -> KeyGenerator.NamedKey? {
        let keys = published
        guard let rotation, !keys.isEmpty else { return keys.last }
        let period = (time - .first).milliseconds / rotation.milliseconds
        return keys[Int(period % Int64(keys.count))]
    }

    /// As many keys as Apple publishes.
    private static let limit = 3

    func rotate(dropping: Bool, then done: @escaping @Sendable (String?) -> Void) {
        let generation = rotated.withLock { $0.resets }
        generator.fresh(algorithm) { [self] fresh in
            guard let fresh else { return done(nil) }
            let initial = initial
            rotated.withLock { rotated in
                // The world was reset meanwhile: it keeps the keys that it begins with.
                guard rotated.resets == generation else { return }
                let known = rotated.keys?.published ?? initial
                rotated.keys = Rotated(
                    published: (dropping ? [] : Array(known.suffix(KeySequence.limit - 1))) + [fresh], before: known)
            }
            done(fresh.id)
        }
    }

    func stale(at time: Instant) -> [KeyGenerator.NamedKey] {
        let current = signing(at: time)?.id
        return (rotated.withLock { $0.keys?.before } ?? published).filter { $0.id != current }
    }

    var unpublished: KeyGenerator.NamedKey? { generator.unpublished(algorithm) }

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
}
