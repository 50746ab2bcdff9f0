import HTTPServer
import JOSE
import JSON

/// The providers of a seed, and what they and the daemon serve.
package final class PlayedSeed: Sendable {
    package let seed: Seed
    let providers: [any Provider]
    let operations: OperationTable

    /// `own` and `controlRefusal` as ``Dispatcher`` has them, `refusePage` as ``OperationTable``.
    package init(
        _ seed: Seed, providers: [any Provider], own: [Operation],
        controlRefusal: @escaping @Sendable (Request) -> Response? = { _ in nil },
        refusePage: (@Sendable (Exchange, PageRefusal) -> Response?)? = nil
    ) {
        self.seed = seed
        self.providers = providers
        operations = OperationTable(
            providers: providers, own: own, control: controlRefusal, refusePage: refusePage)
    }
}

/// How a world gets a seed of its own while the daemon runs.
package struct RuntimeSeeds: Sendable {
    /// Merges files in order, and checks the whole.
    package let check: @Sendable ([SeedSource]) throws(Issues) -> Seed
    package let play: @Sendable (Seed) -> PlayedSeed

    package init(
        check: @escaping @Sendable ([SeedSource]) throws(Issues) -> Seed, play: @escaping @Sendable (Seed) -> PlayedSeed
    ) {
        self.check = check
        self.play = play
    }
}

/// A seed that one world alone has.
final class OwnSeed: Sendable {
    let played: PlayedSeed
    private let lease: SeedBudget.Lease

    init(_ played: PlayedSeed, _ lease: SeedBudget.Lease) {
        self.played = played
        self.lease = lease
    }
}

extension WorldRegistry {
    /// Gives a world a seed of its own. The world begins afresh from it, or, where `addition` is what was merged in, goes on with
    /// all that it has. `false` when the world has got another seed meanwhile, or is gone: then nothing has changed.
    package func give(
        _ played: PlayedSeed, _ lease: SeedBudget.Lease, to world: World, adding addition: LocatedJSON? = nil
    ) -> Bool {
        let changed = World(
            world, with: OwnSeed(played, lease), generator: generator, isAfresh: addition == nil)
        guard replace(world, with: changed) else { return false }
        changed.noteChange()
        if let addition { changed.takeIn(addition, after: world.seed) } else { changed.reset() }
        return true
    }
}

extension World {
    /// Whether as many outcomes and faults more would fit its queues.
    package func hasRoom(outcomes: Int, faults: Int) -> Bool {
        read { tables in
            tables.value(OutcomeQueue.self).queued.count + outcomes <= OutcomeQueue.limit
                && tables.value(FaultQueue.self).queued.count + faults <= FaultQueue.limit
        }
    }

    /// Brings to the tables what `addition`, which is part of the seed now, says of people, outcomes, faults, time and
    /// randomness. The rest is the providers'.
    fileprivate func takeIn(_ addition: LocatedJSON, after earlier: Seed) {
        let people = (addition["accounts"]?.items ?? []).compactMap { $0["id"]?.string }.compactMap {
            seed.people.find($0)
        }
        state.store.adopt(seed)
        update { tables in
            for account in people { tables.put(account) }
            for outcome in seed.outcomes.dropFirst(earlier.outcomes.count) { _ = tables.outcomes.add(outcome) }
            for fault in seed.faults.dropFirst(earlier.faults.count) { _ = tables.faults.add(fault) }
            if addition["clock"] != nil { tables.clock = WorldClock(seed) }
            if addition["randomSeed"] != nil { tables.random = RandomSource(seed).generator }
        }
        if !seed.faults.isEmpty { state.mayHaveFaults.store(true, ordering: .relaxed) }
        for provider in own?.played.providers ?? [] { provider.seedExtended(in: self, after: earlier) }
    }
}
