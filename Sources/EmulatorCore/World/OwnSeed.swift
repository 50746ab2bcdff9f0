import HTTPServer
import JOSE
import JSON
import Worlds

/// A seed (initial data) together with the providers that use it, and the endpoints that these providers and the daemon
/// serve.
package final class PlayedSeed: Sendable {
    package let seed: Seed
    let providers: [any Provider]
    let endpoints: EndpointTable

    /// Makes the endpoints for a seed (initial data). `own` are the daemon's own endpoints. `controlRefusal` returns
    /// the refusal of a request whose client may not control the daemon. `refusePage` returns the refusal of a request
    /// for one of the daemon's own pages.
    package init(
        _ seed: Seed, providers: [any Provider], own: [Endpoint],
        controlRefusal: @escaping ControlRefusal.Check = { _, _ in nil },
        refusePage: (@Sendable (Exchange, PageRefusal) -> Response?)? = nil
    ) {
        self.seed = seed
        self.providers = providers
        endpoints = EndpointTable(
            providers: providers, own: own, control: controlRefusal, refusePage: refusePage)
    }
}

/// The functions by which a test world gets its own seed (initial data) while the daemon runs.
package struct RuntimeSeeds: Sendable {
    /// Merges seed files (initial data) in order, and checks the merged seed.
    package let check: @Sendable ([SeedSource]) throws(Issues) -> Seed
    package let play: @Sendable (Seed) -> PlayedSeed

    package init(
        check: @escaping @Sendable ([SeedSource]) throws(Issues) -> Seed, play: @escaping @Sendable (Seed) -> PlayedSeed
    ) {
        self.check = check
        self.play = play
    }
}

/// A seed (initial data) that only one test world uses, in place of the seed that the daemon was started with.
final class OwnSeed: Sendable {
    let played: PlayedSeed
    /// The digest of the test world's own seed (initial data) in the file or database; `nil` for worlds that are only
    /// in memory.
    let digest: String?
    private let lease: SeedBudget.Lease

    init(_ played: PlayedSeed, _ lease: SeedBudget.Lease, _ digest: String?) {
        self.played = played
        self.digest = digest
        self.lease = lease
    }
}

extension WorldRegistry {
    /// Gives a test world the seed (initial data) `played`, which only this world uses. If `addition` is `nil`, the
    /// world begins anew. Otherwise, `played` must include `addition`, and the world keeps its data and gets the data
    /// of `addition`. Returns `false`, and changes nothing, when the world has been removed or its seed has been
    /// replaced meanwhile.
    package func give(
        _ played: PlayedSeed, _ lease: SeedBudget.Lease, to world: World, adding addition: LocatedJSON? = nil
    ) throws(StoreFailure) -> Bool {
        try turn(of: world.name) { () throws(StoreFailure) in
            try replace(world, played, lease, adding: addition)
        }
    }

    private func replace(
        _ world: World, _ played: PlayedSeed, _ lease: SeedBudget.Lease, adding addition: LocatedJSON?
    ) throws(StoreFailure) -> Bool {
        let earlier = world.state.store.lasts ? world.read { $0.value(StoredSeed.self) } : nil
        // Another replica was faster. Without one, a reset may have changed the stored seed.
        guard !isShared || earlier == nil || earlier?.digest == world.own?.digest else { return false }
        let stored = earlier.map {
            addition == nil ? StoredSeed(of: played.seed, rows: played.seed) : $0.extended(to: played.seed)
        }
        let changed = World(
            world, with: OwnSeed(played, lease, stored?.digest), generator: generator, isAfresh: addition == nil)
        guard replace(world, with: changed) else { return false }
        changed.markChanged()
        do throws(StoreFailure) {
            guard let addition else {
                try changed.reset()
                return true
            }
            guard try changed.applyAddition(addition, after: world, keeping: stored) else {
                _ = replace(changed, with: world)
                return false
            }
        } catch {
            // Give the store its earlier seed again.
            _ = replace(changed, with: world)
            throw error
        }
        for case let provider as any ExtendsWorlds in played.providers {
            try provider.seedExtended(in: changed, after: world.seed)
        }
        return true
    }
}

extension World {
    /// Returns whether `outcomes` more sign-in results and `faults` more faults may be queued in the test world.
    package func hasRoom(outcomes: Int, faults: Int) -> Bool {
        read { tables in
            tables.value(OutcomeQueue.self).queued.count + outcomes <= OutcomeQueue.limit
                && tables.value(FaultQueue.self).queued.count + faults <= FaultQueue.limit
        }
    }

    /// Adds the people, sign-in results, faults, time and random seed of `addition` to the test world's tables, and
    /// stores `stored`, the extended seed, with them. Returns `false`, and changes nothing, when another daemon that
    /// shares the world has replaced its seed meanwhile.
    fileprivate func applyAddition(
        _ addition: LocatedJSON, after world: World, keeping stored: StoredSeed?
    ) throws(StoreFailure) -> Bool {
        let earlier = world.seed
        let people = (addition["accounts"]?.items ?? []).compactMap { $0["id"]?.string }.compactMap {
            seed.people.find($0)
        }
        func change(_ tables: inout Transaction) -> Bool {
            guard stored == nil || !state.store.isShared || tables[StoredSeed.self].digest == world.own?.digest else {
                return false
            }
            if let stored { tables[StoredSeed.self] = stored }
            for row in keys.endedRows where stored != nil { tables.remove(StoredKeys.self, row) }
            for account in people { tables.put(account) }
            for outcome in seed.outcomes.dropFirst(earlier.outcomes.count) { _ = tables.outcomes.add(outcome) }
            for fault in seed.faults.dropFirst(earlier.faults.count) { _ = tables.faults.add(fault) }
            if addition["clock"] != nil { tables.clock = WorldClock(seed) }
            if addition["randomSeed"] != nil { tables.random = seed.value(RandomSource.self).generator }
            return true
        }
        guard try update(change) else { return false }
        try state.store.adopt(seed)
        return true
    }
}
