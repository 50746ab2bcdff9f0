import Dispatch
import Synchronization
import Worlds

/// Copies recorded requests of all daemons from the shared database into this process's memory, for test worlds whose
/// recording is being read or listened to. Concurrent calls share one read of the database.
final class RecordingMirrors: Sendable {
    /// The interval at which the shared database is read while a test world's recording is listened to.
    private static let poll = DispatchTimeInterval.milliseconds(100)

    /// A task for the shared database: to copy, count or empty recordings of test worlds.
    enum Question: Sendable {
        case worlds([String])
        /// Copies the recordings of all test worlds, and the refused requests of worlds that no longer exist, from the
        /// database into this process's memory. `make` makes an empty recording for a world that has none in memory.
        case all(make: @Sendable (String) -> Recording)
        /// Counts the recorded requests of each test world.
        case counts
        /// Empties the recordings of these test worlds.
        case clear([String], keepingRefusals: Bool)
        case forgetGoneWorlds
    }

    private struct Asked {
        let question: Question
        let done: @Sendable (StoreFailure?) -> Void
    }

    /// If more test worlds than this number are listed in memory, worlds whose recording nobody uses are removed from
    /// the list.
    private static let limit = 20_000

    private struct Mirror {
        weak var recording: Recording?
        var listeners = 0
    }

    private struct State {
        var asked: [Asked] = []
        var mirrors: [String: Mirror] = [:]
        var summaries: [String: RecordingSummary] = [:]
        /// The recordings of all test worlds; empty until all of them have been read from the database.
        var all: [Recording] = []
        var gone: [Int: RecordedExchange] = [:]
        var isPolling = false
        var isClosed = false
    }

    private let keeper: any RecordingKeeper
    private let notices: Notices
    /// The queue on which the shared database is called, because such a call blocks.
    private let queue = DispatchQueue(label: "understudy.recordings.mirrors")
    private let state = Mutex(State())

    init(_ keeper: any RecordingKeeper, notices: Notices) {
        self.keeper = keeper
        self.notices = notices
    }

    // MARK: - Recordings

    /// Returns the recording of a test world. As long as somebody keeps the returned object, each further call returns
    /// the same object.
    func recording(of world: String, make: () -> Recording) -> Recording {
        state.withLock { state in
            if let there = state.mirrors[world]?.recording { return there }
            let made = make()
            state.mirrors[world, default: Mirror()].recording = made
            if state.mirrors.count > RecordingMirrors.limit {
                state.mirrors = state.mirrors.filter { $0.value.recording != nil }
            }
            return made
        }
    }

    /// The recordings of all test worlds, as they were when this process last read all of them from the database.
    var all: [Recording] { state.withLock { $0.all } }

    var refusedByGoneWorlds: [RecordedExchange] {
        state.withLock { $0.gone.values.sorted { $0.order < $1.order } }
    }

    /// The names of the test worlds that had recorded requests when the database was last asked about all worlds.
    var names: [String] { state.withLock { Array($0.summaries.keys) } }

    /// Returns the summary of a test world's recording, as it was when the summaries of all test worlds were last read
    /// from the database.
    func summary(of world: String) -> RecordingSummary? { state.withLock { $0.summaries[world] } }

    // MARK: - Asking

    /// Carries out a task at the shared database, such as emptying a recording, and waits until it is done. Returns the
    /// failure, if any.
    func wait(_ question: Question) -> StoreFailure? {
        let answered = DispatchSemaphore(value: 0)
        let failure = Mutex<StoreFailure?>(nil)
        ask(question) { found in
            failure.withLock { $0 = found }
            answered.signal()
        }
        answered.wait()
        return failure.withLock { $0 }
    }

    /// Starts a task at the shared database, such as emptying a recording. Calls `done` after success or failure.
    func ask(_ question: Question, _ done: @escaping @Sendable (StoreFailure?) -> Void) {
        let isFirst = state.withLock { state in
            state.asked.append(Asked(question: question, done: done))
            return state.asked.count == 1
        }
        if isFirst { queue.async { [self] in serve() } }
    }

    private func serve() {
        let asked = state.withLock { state in
            defer { state.asked = [] }
            return state.asked
        }
        do throws(StoreFailure) {
            for asked in asked { try change(asked.question) }
            try pull(asked.map(\.question))
            for asked in asked { asked.done(nil) }
        } catch {
            for asked in asked { asked.done(error) }
        }
    }

    private func change(_ question: Question) throws(StoreFailure) {
        switch question {
        case .clear(let worlds, let keepingRefusals):
            try keeper.clear(worlds, keepingRefusals: keepingRefusals)
        case .forgetGoneWorlds: try keeper.forgetGoneWorlds()
        case .worlds, .all, .counts: break
        }
    }

    private func pull(_ questions: [Question]) throws(StoreFailure) {
        var worlds: Set<String> = []
        for question in questions {
            switch question {
            case .worlds(let names): worlds.formUnion(names)
            case .all(let make): worlds.formUnion(try pullAll(make))
            case .counts: _ = try pullSummaries()
            case .clear(let names, _): worlds.formUnion(names)
            case .forgetGoneWorlds: break
            }
        }
        try pull(worlds)
    }

    /// The names of the test worlds whose `Recording` objects are in this process's memory.
    private var held: [String] {
        state.withLock { state in state.mirrors.filter { $0.value.recording != nil }.map(\.key) }
    }

    private func pullSummaries() throws(StoreFailure) -> [String] {
        let summaries = try keeper.summaries()
        state.withLock { state in state.summaries = Dictionary(summaries.map { ($0.world, $0) }) { $1 } }
        return summaries.map(\.world)
    }

    private func pullAll(_ make: (String) -> Recording) throws(StoreFailure) -> [String] {
        let names = Set(try pullSummaries() + held)
        let all = names.map { name in recording(of: name) { make(name) } }
        let known = state.withLock { Set($0.gone.keys) }
        let gone = try keeper.refusedByGoneWorlds(known: known)
        let new = gone.exchanges.compactMap { kept in
            let exchange = RecordedExchange.decoded(kept.bytes)
            exchange?.order = kept.number
            return exchange
        }
        let kept = Set(gone.numbers)
        let before = state.withLock { state in
            defer { state.all = all }
            state.gone = state.gone.filter { kept.contains($0.key) }
            for exchange in new { state.gone[exchange.order] = exchange }
            return state.all
        }
        // The recordings are freed outside the lock.
        _ = consume before
        return Array(names)
    }

    private func pull(_ worlds: Set<String>) throws(StoreFailure) {
        let recordings = state.withLock { state in worlds.compactMap { state.mirrors[$0]?.recording } }
        guard !recordings.isEmpty else { return }
        var reached = recordings.map(\.reached)
        var exchanges: [String: [KeptExchange]] = [:]
        while true {
            let news = try keeper.read(zip(recordings, reached).map { (name: $0.world, after: $1) })
            exchanges.merge(Dictionary(grouping: news.exchanges) { $0.world }) { $0 + $1 }
            if news.hasMore {
                for place in reached.indices {
                    reached[place] = exchanges[recordings[place].world]?.last?.number ?? reached[place]
                }
                continue
            }
            let summaries = Dictionary(news.worlds.map { ($0.world, $0) }) { $1 }
            for recording in recordings {
                recording.copy(exchanges[recording.world] ?? [], summaries[recording.world])
            }
            return
        }
    }

    // MARK: - Listening

    /// Records that a listener to a test world's recording has begun or has stopped.
    func listen(to world: String, isBeginning: Bool) {
        let begins = state.withLock { state in
            state.mirrors[world, default: Mirror()].listeners += isBeginning ? 1 : -1
            guard isBeginning, !state.isPolling else { return false }
            state.isPolling = true
            return true
        }
        if begins { queue.async { [self] in pollListened() } }
    }

    private var listened: Set<String> {
        state.withLock { state in Set(state.mirrors.filter { $0.value.listeners > 0 }.map(\.key)) }
    }

    private func pollListened() {
        let worlds = listened
        let goesOn = state.withLock { state in
            state.isPolling = !worlds.isEmpty && !state.isClosed
            return state.isPolling
        }
        guard goesOn else { return }
        pullOrWarn(worlds)
        queue.asyncAfter(deadline: .now() + RecordingMirrors.poll) { [self] in pollListened() }
    }

    private func pullOrWarn(_ worlds: Set<String>) {
        do throws(StoreFailure) {
            try pull(worlds)
        } catch {
            notices.warnOncePerMinute(
                .stores, "the requests that other daemons have recorded can't be read: \(error.detail)")
        }
    }

    /// Stops reading new recorded requests from the shared database, and releases the recordings that this object
    /// holds.
    func close() {
        let all = state.withLock { state in
            defer { state.all = [] }
            state.isClosed = true
            return state.all
        }
        _ = consume all
    }
}
