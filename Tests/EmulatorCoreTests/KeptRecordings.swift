import Synchronization

@testable import EmulatorCore

/// Something that keeps recordings for several replicas.
protocol SharedKeeping: Sendable {
    func keeper(of replica: Int) throws -> any RecordingKeeper
}

/// Recordings that several replicas of one process share, kept in memory.
final class KeptRecordings: SharedKeeping {
    struct Kept {
        let number: Int
        let entry: RecordingBatch.Entry
    }

    struct State {
        var last = 0
        var worlds: [String: [Kept]] = [:]
        var dropped: [String: Int] = [:]
        var droppedOfAll = 0
        var gone: [Kept] = []
        var wanted = 0
        /// The last request to flush that each replica has fulfilled.
        var replicas: [Int: Int] = [:]
        var batches: [Int: Int] = [:]
        var failure: StoreFailure?
        /// Appends the next batch, but says that it has failed.
        var losesAnswer = false
        var reads = 0
        /// How often somebody asked who hasn't fulfilled a request to flush.
        var looks = 0

        var size: Int { worlds.values.joined().reduce(0) { $0 + $1.entry.size } }

        mutating func trim(to limit: Int) {
            for (world, kept) in worlds {
                var kept = kept
                while kept.count > Recording.countLimit
                    || kept.reduce(0, { $0 + $1.entry.size }) > Recording.sizeLimit && kept.count > 1
                {
                    kept.removeFirst()
                    dropped[world, default: 0] += 1
                }
                worlds[world] = kept
            }
            while size > limit, let oldest = worlds.values.compactMap(\.first).min(by: { $0.number < $1.number }) {
                worlds[oldest.entry.world]?.removeFirst()
                dropped[oldest.entry.world, default: 0] += 1
                droppedOfAll += 1
            }
        }
    }

    let state = Mutex(State())

    func keeper(of replica: Int) -> any RecordingKeeper { Keeper(replica: replica, kept: self) }

    /// Lets all calls fail, until it is `nil`.
    func fail(_ failure: StoreFailure?) { state.withLock { $0.failure = failure } }

    private struct Keeper: RecordingKeeper {
        let replica: Int
        let kept: KeptRecordings

        private func locked<Value: Sendable>(_ body: (inout State) -> Value) throws(StoreFailure) -> Value {
            let (value, failure) = kept.state.withLock { state -> (Value?, StoreFailure?) in
                if let failure = state.failure { return (nil, failure) }
                return (body(&state), nil)
            }
            if let value { return value }
            throw failure ?? StoreFailure(.gone, "")
        }

        private func status(_ state: State) -> RecordingStatus {
            RecordingStatus(
                wanted: state.wanted, hasOthers: state.replicas.count > 1, size: state.size,
                dropped: state.droppedOfAll)
        }

        func append(_ batch: RecordingBatch, _ presence: WriterPresence) throws(StoreFailure) -> RecordingStatus {
            let (status, isLost) = try locked { state -> (RecordingStatus, Bool) in
                state.replicas[replica] = presence.flushed
                if state.batches[replica, default: 0] < batch.number {
                    state.batches[replica] = batch.number
                    for entry in batch.entries {
                        state.last += 1
                        state.worlds[entry.world, default: []].append(Kept(number: state.last, entry: entry))
                    }
                    state.trim(to: presence.limit)
                }
                defer { state.losesAnswer = false }
                return (self.status(state), state.losesAnswer)
            }
            if isLost { throw StoreFailure(.gone, "the answer is lost") }
            return status
        }

        func attend(_ presence: WriterPresence) throws(StoreFailure) -> RecordingStatus {
            try locked { state in
                state.replicas[replica] = presence.flushed
                return status(state)
            }
        }

        func requestFlush() throws(StoreFailure) -> FlushRequest? {
            try locked { state in
                let others = Set(state.replicas.keys).subtracting([replica])
                guard !others.isEmpty else { return nil }
                state.wanted += 1
                return FlushRequest(number: state.wanted, others: others)
            }
        }

        func lacking(_ request: Int) throws(StoreFailure) -> Set<Int> {
            try locked { state in
                state.looks += 1
                return Set(state.replicas.filter { $0.key != replica && $0.value < request }.keys)
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
            KeptExchange(number: kept.number, world: kept.entry.world, bytes: kept.entry.bytes)
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
                    if keepingRefusals { state.gone += kept.filter(\.entry.isRefused) }
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

        func leave() { kept.state.withLock { $0.replicas[replica] = nil } }
    }
}
