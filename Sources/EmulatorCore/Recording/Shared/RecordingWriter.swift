import Dispatch
import Synchronization
import Time

/// Appends what this replica has answered to the shared recordings, some time after the answer: exchanges wait here for as long as
/// a few of them take to gather. It also looks whether another replica wants to see them.
final class RecordingWriter: Sendable {
    /// How many exchanges may wait, and how many bytes they may take.
    static let countLimit = 20_000
    static let sizeLimit = 32 << 20
    /// How many are appended at once, and how many bytes they may take, but for a single one.
    private static let batchCount = 500
    private static let batchSize = 2 << 20
    /// Between two looks, while there are other replicas.
    private static let pause = DispatchTimeInterval.milliseconds(20)
    /// While there are none, and after a failure.
    private static let longPause = DispatchTimeInterval.milliseconds(500)

    private struct State {
        var waiting: [(exchange: RecordedExchange, size: Int)] = []
        /// The index of the first that is still waiting.
        var first = 0
        var size = 0
        /// How many have come, and how many of these wait no longer.
        var added = 0
        var removed = 0
        /// Those for which there was no room.
        var lost = 0
        var status: RecordingStatus?
        var isFlushDue = false
        var whenAppended: (@Sendable (Set<String>) -> Void)?
        var isClosing = false

        mutating func removeFirst() -> (exchange: RecordedExchange, size: Int)? {
            guard first < waiting.count else { return nil }
            let entry = waiting[first]
            first += 1
            removed += 1
            size -= entry.size
            if first > 1_024 || first == waiting.count {
                waiting.removeFirst(first)
                first = 0
            }
            return entry
        }
    }

    /// What only the queue uses.
    private struct Progress {
        /// Encoded, but perhaps not appended yet.
        var batch: RecordingBatch?
        var batches = 0
        /// The last request to flush that is fulfilled.
        var flushed = 0
        /// One that isn't yet, and how many exchanges had come when it was seen.
        var goal: (request: Int, added: Int)?
        var isSlow = true
        /// Counts the looks that were planned: of two plans, the later one counts.
        var plan = 0
    }

    private let keeper: any RecordingKeeper
    private let limit: Int
    private let notices: Notices
    private let queue = DispatchQueue(label: "understudy.recordings.writer")
    private let state = Mutex(State())
    private let progress = Mutex(Progress())

    /// `limit` is what all recordings together may take, in bytes.
    init(_ keeper: any RecordingKeeper, limit: Int, notices: Notices) {
        self.keeper = keeper
        self.limit = limit
        self.notices = notices
    }

    /// The size of all recordings as it was last known, and how many exchanges were dropped: to keep to the limit of all, or here.
    var usage: (bytes: Int, dropped: Int) {
        state.withLock { (bytes: $0.status?.size ?? 0, dropped: ($0.status?.dropped ?? 0) + $0.lost) }
    }

    /// Begins to look what others want. `whenAppended` is told the worlds of what was appended.
    func begin(whenAppended: @escaping @Sendable (Set<String>) -> Void) {
        state.withLock { $0.whenAppended = whenAppended }
        queue.async { [self] in look() }
    }

    func add(_ exchange: RecordedExchange) {
        let size = exchange.size
        let (isDue, lost) = state.withLock { state in
            var lost: [RecordedExchange] = []
            state.waiting.append((exchange: exchange, size: size))
            state.added += 1
            state.size += size
            while state.waiting.count - state.first > RecordingWriter.countLimit
                || state.size > RecordingWriter.sizeLimit && state.waiting.count - state.first > 1
            {
                guard let oldest = state.removeFirst() else { break }
                lost.append(oldest.exchange)
            }
            state.lost += lost.count
            defer { state.isFlushDue = true }
            return (!state.isFlushDue, lost)
        }
        if !lost.isEmpty {
            notices.tell(
                .recordings,
                "the recordings can't be written: the oldest of \(RecordingWriter.countLimit) exchanges that wait for it go"
            )
        }
        // Others gather meanwhile, and are appended with it.
        if isDue { queue.asyncAfter(deadline: .now() + RecordingWriter.pause) { [self] in flushIfDue() } }
    }

    /// Calls back when what was answered before is appended, or with the failure.
    func flush(_ done: @escaping @Sendable (StoreFailure?) -> Void) {
        queue.async { [self] in
            do throws(StoreFailure) {
                try write()
                done(nil)
            } catch { done(error) }
        }
    }

    /// Appends what waits, and ends. Returns after a second at the latest.
    func close() {
        state.withLock { $0.isClosing = true }
        let done = DispatchSemaphore(value: 0)
        queue.async { [self] in
            try? write()
            keeper.leave()
            done.signal()
        }
        if done.wait(timeout: .now() + 1) == .timedOut {
            notices.warn("not all of the recording could be written within a second")
        }
    }

    // MARK: - On the queue

    private func flushIfDue() {
        guard state.withLock({ $0.isFlushDue && !$0.isClosing }), progress.withLock({ $0.batch == nil }) else { return }
        work()
    }

    private func look() {
        guard !state.withLock({ $0.isClosing }) else { return }
        work()
        let (plan, isSlow) = progress.withLock { progress in
            progress.plan += 1
            return (progress.plan, progress.isSlow)
        }
        queue.asyncAfter(deadline: .now() + (isSlow ? RecordingWriter.longPause : RecordingWriter.pause)) { [self] in
            if progress.withLock({ $0.plan }) == plan { look() }
        }
    }

    private func work() {
        do throws(StoreFailure) { try write() } catch {
            progress.withLock { $0.isSlow = true }
            notices.tell(.stores, "the recording can't be written: \(error.detail)")
        }
    }

    /// Appends all that waits now; when others want to see what was answered before they asked, says that they can.
    private func write() throws(StoreFailure) {
        let due = state.withLock { $0.added }
        var hasFulfilled = false
        while true {
            let presence = WriterPresence(flushed: progress.withLock { $0.flushed }, limit: limit)
            let status: RecordingStatus
            if let batch = nextBatch() {
                status = try keeper.append(batch, presence)
                progress.withLock { $0.batch = nil }
                state.withLock { $0.whenAppended }?(Set(batch.entries.map(\.world)))
            } else {
                status = try keeper.attend(presence)
            }
            if fulfil(status), !hasFulfilled {
                // The next round says so.
                hasFulfilled = true
                continue
            }
            if state.withLock({ $0.removed >= due }) { return }
        }
    }

    /// Whether one more request to flush is fulfilled: all that had come when it was seen is appended.
    private func fulfil(_ status: RecordingStatus) -> Bool {
        let (added, removed) = state.withLock { state in
            state.status = status
            return (state.added, state.removed)
        }
        return progress.withLock { progress in
            progress.isSlow = !status.hasOthers
            if progress.goal == nil, status.wanted > progress.flushed { progress.goal = (status.wanted, added) }
            guard let goal = progress.goal, removed >= goal.added else { return false }
            progress.flushed = goal.request
            progress.goal = nil
            return true
        }
    }

    private func nextBatch() -> RecordingBatch? {
        if let batch = progress.withLock({ $0.batch }) { return batch }
        let exchanges = state.withLock { state in
            state.isFlushDue = false
            var exchanges: [(exchange: RecordedExchange, size: Int)] = []
            var size = 0
            while exchanges.count < RecordingWriter.batchCount, size < RecordingWriter.batchSize,
                let next = state.removeFirst()
            {
                exchanges.append(next)
                size += next.size
            }
            return exchanges
        }
        guard !exchanges.isEmpty else { return nil }
        return progress.withLock { progress in
            progress.batches += 1
            let batch = RecordingBatch(
                number: progress.batches,
                entries: exchanges.map { exchange, size in
                    RecordingBatch.Entry(
                        world: exchange.world, size: size, isRefused: exchange.diagnosis != nil,
                        bytes: exchange.encoded)
                })
            progress.batch = batch
            return batch
        }
    }
}
