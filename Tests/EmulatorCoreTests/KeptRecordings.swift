@testable import Recordings
import Synchronization
@testable import Worlds

@testable import EmulatorCore

/// Keeps recordings in memory, for several replicas of one process.
final class KeptRecordings: RecordingKeeper {
    struct Kept {
        let number: Int
        let exchange: AppendedExchange
    }

    struct State {
        var last = 0
        var worlds: [String: [Kept]] = [:]
        var dropped: [String: Int] = [:]
        var droppedOfAll = 0
        var gone: [Kept] = []
        /// The failure that all calls throw; `nil` when they work.
        var failure: StoreFailure?
        var reads = 0

        var size: Int { worlds.values.joined().reduce(0) { $0 + $1.exchange.size } }

        mutating func trim(to limit: Int) {
            for (world, kept) in worlds {
                let excess = max(0, kept.count - Recording.countLimit)
                worlds[world] = Array(kept.dropFirst(excess))
                dropped[world, default: 0] += excess
            }
            while size > limit, let oldest = worlds.values.compactMap(\.first).min(by: { $0.number < $1.number }) {
                worlds[oldest.exchange.world]?.removeFirst()
                dropped[oldest.exchange.world, default: 0] += 1
                droppedOfAll += 1
            }
        }
    }

    let state = Mutex(State())

    /// Makes all calls fail, or work again with `nil`.
    func fail(_ failure: StoreFailure?) { state.withLock { $0.failure = failure } }

    private func locked<Value: Sendable>(_ body: (inout State) -> Value) throws(StoreFailure) -> Value {
        try state.withLock { (state) throws(StoreFailure) in
            if let failure = state.failure { throw failure }
            return body(&state)
        }
    }

    func append(_ exchange: AppendedExchange, limit: Int) throws(StoreFailure) -> (bytes: Int, dropped: Int)? {
        try locked { state in
            guard state.worlds[exchange.world]?.contains(where: { $0.exchange.id == exchange.id }) != true else {
                return nil
            }
            state.last += 1
            state.worlds[exchange.world, default: []].append(Kept(number: state.last, exchange: exchange))
            state.trim(to: limit)
            return (bytes: state.size, dropped: state.droppedOfAll)
        }
    }

    func read(_ worlds: [(name: String, after: Int)]) throws(StoreFailure) -> RecordingNews {
        try locked { state in
            state.reads += 1
            let names = worlds.map(\.name)
            let found = worlds.flatMap { world in
                (state.worlds[world.name] ?? []).filter { $0.number > world.after }
            }.sorted { $0.number < $1.number }
            return RecordingNews(
                worlds: summaries(state).filter { names.contains($0.world) },
                exchanges: found.prefix(100).map { exchange($0) }, hasMore: found.count > 100)
        }
    }

    private func exchange(_ kept: Kept) -> KeptExchange {
        KeptExchange(number: kept.number, world: kept.exchange.world, bytes: kept.exchange.bytes)
    }

    private func summaries(_ state: State) -> [RecordingSummary] {
        state.worlds.compactMap { world, kept in
            kept.first.map { first in
                RecordingSummary(
                    world: world, first: first.number, count: kept.count, dropped: state.dropped[world] ?? 0)
            }
        }
    }

    func summaries() throws(StoreFailure) -> [RecordingSummary] { try locked { summaries($0) } }

    func clear(_ worlds: [String], keepingRefusals: Bool) throws(StoreFailure) {
        try locked { state in
            for world in worlds {
                let kept = state.worlds.removeValue(forKey: world) ?? []
                state.dropped[world] = nil
                if keepingRefusals { state.gone += kept.filter(\.exchange.isRefused) }
            }
            state.gone = state.gone.suffix(Recording.countLimit)
        }
    }

    func refusedByGoneWorlds(
        known: Set<Int>
    ) throws(StoreFailure) -> (numbers: [Int], exchanges: [KeptExchange]) {
        try locked { state in
            (state.gone.map(\.number), state.gone.filter { !known.contains($0.number) }.map { exchange($0) })
        }
    }

    func forgetGoneWorlds() throws(StoreFailure) { try locked { $0.gone = [] } }
}
