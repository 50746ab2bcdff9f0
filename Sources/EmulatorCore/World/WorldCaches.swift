import Synchronization

/// The caches of a world, one of each type, for results that providers can compute again. They aren't under the world's
/// lock.
package final class WorldCaches: Sendable {
    private let caches = Mutex<[ObjectIdentifier: any WorldCache]>([:])

    /// The world's cache of this type, made empty on first use.
    package subscript<Cache: WorldCache>(_ type: Cache.Type) -> Cache {
        caches.withLock { caches in
            if let cache = caches[ObjectIdentifier(type)] as? Cache { return cache }
            let cache = Cache()
            caches[ObjectIdentifier(type)] = cache
            return cache
        }
    }

    /// The caches that don't follow from the seed, such as leases.
    var kept: WorldCaches {
        let others = WorldCaches()
        let kept = caches.withLock { $0.filter { !$1.followsSeed } }
        others.caches.withLock { $0 = kept }
        return others
    }

    func removeAll() { caches.withLock { $0 = [:] } }
}

/// A cache that belongs to a world.
package protocol WorldCache: AnyObject, Sendable {
    init()
    /// Whether the cache is dropped when the world's seed is extended.
    var followsSeed: Bool { get }
}

extension WorldCache {
    package var followsSeed: Bool { true }
}
