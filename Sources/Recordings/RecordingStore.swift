import Dispatch
import Synchronization
import Worlds

/// The recorded requests of all test worlds. There is a limit for each world, and a limit for all worlds together. If
/// the common limit is exceeded, the oldest request of all worlds is dropped.
package final class RecordingStore: Sendable {
    /// The default limit for the recordings of all test worlds together, in bytes.
    package static let standardLimit = 64_000_000

    /// The recorded requests of one test world, in the sequence in which they were answered.
    private final class Log {
        var entries: [(exchange: RecordedExchange?, size: Int, place: Int)] = []
        /// The index, in `entries`, of the oldest request that hasn't been dropped. The array's earlier elements are
        /// obsolete.
        var first = 0
        var size = 0
        /// The number of requests that have been removed from this list so far: dropped because of a limit, or removed
        /// when the recording was emptied.
        var position = 0
        /// The number of all requests that were recorded in the test world before its recording was last emptied.
        var cleared = 0

        var count: Int { entries.count - first }
        var firstExchange: RecordedExchange? { first < entries.count ? entries[first].exchange : nil }

        var isOverfull: Bool { count > Recording.countLimit || (size > Recording.sizeLimit && count > 1) }

        func append(_ exchange: RecordedExchange, _ size: Int, at place: Int) {
            entries.append((exchange: exchange, size: size, place: place))
            self.size += size
        }

        func removeFirst() -> (exchange: RecordedExchange, size: Int, place: Int)? {
            guard first < entries.count, let exchange = entries[first].exchange else { return nil }
            let (size, place) = (entries[first].size, entries[first].place)
            // The request's memory is freed now, though its place in the array is freed later.
            entries[first].exchange = nil
            self.size -= size
            first += 1
            position += 1
            return (exchange, size, place)
        }

        func compact() {
            guard first > 256 || first == entries.count else { return }
            entries.removeFirst(first)
            first = 0
        }
    }

    private struct Ledger {
        var logs: [Int: Log] = [:]
        var lastLog = goneLog
        var added = 0
        /// The recorded requests of all test worlds, the oldest first. Each is listed as the number that identifies its
        /// world's list of requests.
        var order = ArrivalOrder()
        var size = 0
        var dropped = 0

        mutating func removeFirst(of log: Int, into removed: inout [RecordedExchange]) {
            guard let log = logs[log], let entry = log.removeFirst() else { return }
            log.compact()
            order.remove(entry.place)
            size -= entry.size
            removed.append(entry.exchange)
        }

        mutating func append(_ exchange: RecordedExchange, _ size: Int, to log: Int) {
            let place = order.append(log)
            self.log(log).append(exchange, size, at: place)
            self.size += size
        }

        private mutating func log(_ number: Int) -> Log {
            if let log = logs[number] { return log }
            let log = Log()
            logs[number] = log
            return log
        }

        mutating func removeOverfull(_ log: Int, into removed: inout [RecordedExchange]) {
            while logs[log]?.isOverfull ?? false { removeFirst(of: log, into: &removed) }
        }

        /// Empties the recording of a test world. The refused requests move to a separate list, which stays when worlds
        /// are deleted, dropped or reset.
        mutating func retire(_ log: Int, into removed: inout [RecordedExchange]) {
            let retired = logs[log]
            while let entry = retired?.removeFirst() {
                order.remove(entry.place)
                size -= entry.size
                if entry.exchange.diagnosis == nil {
                    removed.append(entry.exchange)
                } else {
                    append(entry.exchange, entry.size, to: goneLog)
                }
            }
            retired?.compact()
            removeOverfull(goneLog, into: &removed)
        }
    }

    /// Each log (list of recorded requests) has a number. This is the number of the log for refused requests whose test
    /// worlds have been deleted, dropped or reset.
    private static let goneLog = 0

    /// The most bytes that the recordings of all test worlds together may have.
    package let limit: Int
    let keepsRefusals: Bool
    private let notices: Notices
    private let ledger = Mutex(Ledger())
    /// The recordings that this daemon shares with others through a database; `nil` if it shares none.
    let shared: SharedRecordings?
    /// The queue on which several recordings are searched together.
    let queue = DispatchQueue(label: "understudy.recordings")

    /// Makes an empty store for the recorded requests of test worlds.
    ///
    /// - Parameters:
    ///   - keepingRefusals: Whether refused requests are kept after their test world has been removed or reset.
    ///   - keeper: The database in which several daemons share the recordings.
    package init(
        limit: Int = RecordingStore.standardLimit, keepingRefusals: Bool = false,
        keeper: (any RecordingKeeper)? = nil, notices: Notices
    ) {
        self.limit = limit
        shared = keeper.map { SharedRecordings($0, limit: limit, notices: notices) }
        keepsRefusals = keepingRefusals
        self.notices = notices
    }

    /// The number of bytes of all recorded requests, and the number of requests dropped because of the limit.
    package var usage: (bytes: Int, dropped: Int) {
        shared?.usage ?? ledger.withLock { (bytes: $0.size, dropped: $0.dropped) }
    }

    func makeLog() -> Int {
        ledger.withLock { ledger in
            ledger.lastLog += 1
            return ledger.lastLog
        }
    }

    func remove(_ log: Int) {
        // The exchanges are freed outside the lock.
        _ = ledger.withLock { ledger in
            var removed: [RecordedExchange] = []
            if keepsRefusals { ledger.retire(log, into: &removed) }
            while ledger.logs[log]?.count ?? 0 > 0 { ledger.removeFirst(of: log, into: &removed) }
            ledger.logs[log] = nil
            return removed
        }
    }

    /// Empties the recording of a test world. Later requests don't get the positions of the removed requests. If
    /// `forgetting` is true, all requests are deleted. If it is false, a store that keeps refused requests moves the
    /// refused ones to a separate list, and deletes the others.
    func clear(_ log: Int, forgetting: Bool) {
        _ = ledger.withLock { ledger in
            var removed: [RecordedExchange] = []
            if keepsRefusals, !forgetting { ledger.retire(log, into: &removed) }
            while ledger.logs[log]?.count ?? 0 > 0 { ledger.removeFirst(of: log, into: &removed) }
            if let log = ledger.logs[log] { log.cleared = log.position }
            return removed
        }
    }

    /// The refused requests that were kept when their test worlds were deleted, dropped or reset; empty if the store
    /// doesn't keep such requests. All of them together have the limits that one world's recording has.
    package var refusedByGoneWorlds: [RecordedExchange] {
        shared?.mirrors.refusedByGoneWorlds ?? exchanges(of: RecordingStore.goneLog).exchanges
    }

    package func forgetGoneWorlds() throws(StoreFailure) {
        if shared != nil { return try ask(.forgetGoneWorlds) }
        clear(RecordingStore.goneLog, forgetting: true)
    }

    func add(_ exchange: RecordedExchange, to log: Int) { add(exchange, to: log, isNumbered: false) }

    /// Adds a recorded request that already has its number. The number must not be lower than the numbers in the log.
    func copy(_ exchange: RecordedExchange, to log: Int) { add(exchange, to: log, isNumbered: true) }

    private func add(_ exchange: RecordedExchange, to log: Int, isNumbered: Bool) {
        let size = exchange.size
        // A shared recording is trimmed by its keeper, but only now and then.
        let limit = isNumbered ? limit + limit / 4 : limit
        let (removed, isFull) = ledger.withLock { ledger -> ([RecordedExchange], Bool) in
            var removed: [RecordedExchange] = []
            if !isNumbered {
                exchange.order = ledger.added
                ledger.added += 1
            }
            ledger.append(exchange, size, to: log)
            ledger.removeOverfull(log, into: &removed)
            let before = ledger.dropped
            while ledger.size > limit, let oldest = ledger.order.first, ledger.order.count > 1 {
                ledger.removeFirst(of: oldest, into: &removed)
                ledger.dropped += 1
            }
            return (removed, ledger.dropped > before)
        }
        if isFull, !isNumbered {
            notices.warnOncePerMinute(
                .recordings,
                "the recorded requests have reached \(limit) bytes: the oldest are removed (see --recording-limit)")
        }
        // The exchanges are freed outside the lock.
        _ = consume removed
    }

    /// Removes the recorded requests whose numbers are below `number` from a test world's log. Returns whether there
    /// were any.
    func drop(before number: Int, from log: Int) -> Bool {
        let removed = ledger.withLock { ledger in
            var removed: [RecordedExchange] = []
            while let first = ledger.logs[log]?.firstExchange, first.order < number {
                ledger.removeFirst(of: log, into: &removed)
            }
            return removed
        }
        return !removed.isEmpty
    }

    /// Returns the number of recorded requests of a test world that were dropped since the recording was last emptied.
    func dropped(of log: Int) -> Int {
        ledger.withLock { ledger in ledger.logs[log].map { $0.position - $0.cleared } ?? 0 }
    }

    func count(of log: Int) -> Int { ledger.withLock { $0.logs[log]?.count ?? 0 } }

    /// Returns at most `limit` recorded requests, beginning at `position`. In the result, `first` is the position of
    /// the first returned request, and `start` is the position of the oldest request in the recording.
    func exchanges(
        of log: Int, from position: Int = 0, limit: Int = .max
    ) -> (start: Int, first: Int, exchanges: [RecordedExchange]) {
        ledger.withLock { ledger in
            guard let log = ledger.logs[log] else { return (start: 0, first: position, exchanges: []) }
            let from = min(max(position, log.position), log.position + log.count)
            let begin = log.first + from - log.position
            let end = begin + min(limit, log.entries.count - begin)
            return (start: log.position, first: from, exchanges: log.entries[begin..<end].compactMap(\.exchange))
        }
    }
}

/// The sequence in which requests were recorded in all test worlds: a doubly linked list in an array. Adding and
/// removing take constant time.
struct ArrivalOrder: Sendable {
    private struct Node {
        var log: Int
        var previous: Int
        var next: Int
    }

    private static let none = -1
    private var nodes: [Node] = []
    private var head = none
    private var tail = none
    private var free = none
    private(set) var count = 0

    /// The number that identifies the list of requests with the oldest recorded request. Each test world has a list.
    /// `nil` if no request is recorded.
    var first: Int? { head == ArrivalOrder.none ? nil : nodes[head].log }

    mutating func append(_ log: Int) -> Int {
        let place: Int
        let node = Node(log: log, previous: tail, next: ArrivalOrder.none)
        if free == ArrivalOrder.none {
            place = nodes.count
            nodes.append(node)
        } else {
            place = free
            free = nodes[place].next
            nodes[place] = node
        }
        if tail == ArrivalOrder.none { head = place } else { nodes[tail].next = place }
        tail = place
        count += 1
        return place
    }

    mutating func remove(_ place: Int) {
        let node = nodes[place]
        if node.previous == ArrivalOrder.none { head = node.next } else { nodes[node.previous].next = node.next }
        if node.next == ArrivalOrder.none { tail = node.previous } else { nodes[node.next].previous = node.previous }
        nodes[place].next = free
        free = place
        count -= 1
    }
}
