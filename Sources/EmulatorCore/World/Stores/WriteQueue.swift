import Dispatch
import HTTPServer
import Platform
import Synchronization

/// Writes what was changed in memory to where it is kept.
protocol ChangeWriter<Work>: AnyObject, Sendable {
    /// Something that is to be written.
    associatedtype Work: Sendable

    /// Runs `body` while nobody reads what is written.
    func exclusively<Result>(_ body: () -> Result) -> Result

    /// All of it or nothing.
    func write(_ works: [Work]) throws(StoreFailure)

    /// Nothing of this is written, nor will be. Returns what is to be done all the same, with the next change.
    func giveUp(_ works: [Work]) -> [Work]

    /// Nothing is written any more.
    func end()
}

/// What was changed in memory and isn't written yet to where worlds are kept. A thread of its own writes it: all that has gathered
/// meanwhile at once, for which so many answers wait.
///
/// Each change has a position, which counts up. A change, and whoever has seen it, waits until all up to it is written.
final class WriteQueue<Work: Sendable>: UnwrittenChanges {
    fileprivate struct Waiter {
        let position: Int
        let done: @Sendable (StoreFailure?) -> Void
    }

    fileprivate struct State {
        /// Of the last change.
        var position = 0
        /// All up to this one are written, or have failed.
        var settled = 0
        var works: [Work] = []
        /// The position with which the first of `works` came.
        var firstPosition: Int?
        /// Whether the thread that writes was told to look for work, and hasn't yet.
        var isTold = false
        var waiters: [Waiter] = []
        /// How many waited when the last changes were written: so many may soon wait again.
        var expected = 0
        /// Whether the thread that writes is to be told when so many wait.
        var isGathering = false
        /// How many times clients aren't waited for, after that was in vain.
        var pause = 0
        /// How many of these times are left.
        var pauseLeft = 0
        /// What couldn't be written, and why: what still waits must be told.
        var failed: [(positions: ClosedRange<Int>, failure: StoreFailure)] = []
        /// Up to this position, what failed isn't known any more.
        var forgotten = 0
        /// Whether there is a thread that writes.
        var hasBegun = false
        var isClosed = false
        /// Nothing is written any more, for this reason.
        var end: StoreFailure?
    }

    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    private let gathered = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let settled = Atomic<Int>(0)
    /// Whether there were changes that couldn't be written.
    private let hasFailed = Atomic<Bool>(false)

    /// Begins to write. `false` when the system gives no thread.
    func begin(_ writer: some ChangeWriter<Work>) -> Bool {
        let hasBegun = WorkThread.start(stack: 512 << 10) { [self] in run(writer) }
        state.withLock { $0.hasBegun = hasBegun }
        return hasBegun
    }

    // MARK: - Changes

    /// Something has been changed, for which `work` is to be done, if that isn't known already. Returns the change's position.
    func add(_ work: Work?) -> Int {
        let position = state.withLock { state in
            state.position += 1
            if let work {
                state.works.append(work)
                state.firstPosition = state.firstPosition ?? state.position
            }
            return state.position
        }
        // A request's changes are written once it is done, all of them.
        if StoreCall.current?.isAnswered ?? true { tell() }
        return position
    }

    /// The thread that writes is to look for work.
    private func tell() {
        let isNews = state.withLock { state in
            defer { state.isTold = true }
            return !state.isTold
        }
        if isNews { wake.signal() }
    }

    /// Whoever asks has seen, or made, the change at this position.
    func note(_ position: Int) {
        if position > settled.load(ordering: .acquiring) { StoreCall.current?.note(position, of: self) }
    }

    // MARK: - Waiting

    /// Whether the change at this position is written, or has failed, and is no longer on its way.
    func isSettled(_ position: Int) -> Bool { position <= settled.load(ordering: .acquiring) }

    func isWritten(_ position: Int) -> Bool {
        position <= settled.load(ordering: .acquiring) && !hasFailed.load(ordering: .relaxed)
    }

    /// Calls `done` once the change at this position is written, or can't be.
    func whenWritten(_ position: Int, _ done: @escaping @Sendable (StoreFailure?) -> Void) {
        let (failure, isEnough) = state.withLock { state -> (StoreFailure??, Bool) in
            guard position > state.settled else { return (.some(state.failure(of: position)), false) }
            if let end = state.end { return (.some(end), false) }
            return (nil, state.add(Waiter(position: position, done: done)))
        }
        if let failure { return done(failure) }
        if isEnough { gathered.signal() }
        tell()
    }

    func waitUntilWritten(_ position: Int) -> StoreFailure? {
        let semaphore = DispatchSemaphore(value: 0)
        let outcome = Mutex<StoreFailure?>(nil)
        whenWritten(position) { failure in
            outcome.withLock { $0 = failure }
            semaphore.signal()
        }
        semaphore.wait()
        return outcome.withLock { $0 }
    }

    /// Waits until all that was changed before is written, or has failed.
    func flush() { _ = waitUntilWritten(add(nil)) }

    /// Writes what is left, and then nothing more.
    func close() {
        let isFirst = state.withLock { state in
            defer { state.isClosed = true }
            return state.hasBegun && !state.isClosed
        }
        guard isFirst else { return }
        tell()
        ended.wait()
    }

    // MARK: - Writing

    /// How long clients are waited for that may come again. A transaction costs as much as ten changes in it, and those who were
    /// answered together have their next requests ready soon: most often, all are there long before.
    private static var gatheringLimit: DispatchTimeInterval { .milliseconds(2) }

    private func gather() {
        guard state.withLock({ $0.beginsToGather() }) else { return }
        let isEnough = gathered.wait(timeout: .now() + WriteQueue.gatheringLimit) == .success
        state.withLock { $0.endGathering(isEnough) }
    }

    private func run(_ writer: some ChangeWriter<Work>) {
        while true {
            wake.wait()
            gather()
            let (works, isClosed) = state.withLock { (works: $0.take(), isClosed: $0.isClosed) }
            if let works { process(works, writer) }
            if isClosed { break }
        }
        writer.end()
        let stopped = StoreFailure(.gone, "the daemon has stopped")
        hasFailed.store(true, ordering: .relaxed)
        let left = state.withLock { state in
            state.fail(stopped)
            settled.store(.max, ordering: .releasing)
            state.end = stopped
            return state.takeWaiters()
        }
        for waiter in left { waiter.done(stopped) }
        ended.signal()
    }

    private func process(_ works: [Work], _ writer: some ChangeWriter<Work>) {
        let (done, failure) = writer.exclusively { () -> ([Waiter], StoreFailure?) in
            do throws(StoreFailure) {
                try writer.write(works)
                return (settle(), nil)
            } catch { return (fail(works, error, writer), error) }
        }
        guard let failure else {
            ResumedConnections.together { for waiter in done { waiter.done(nil) } }
            return
        }
        // What they do now may have to wait.
        for waiter in done { WorkThreads.shared.run { waiter.done(failure) } }
    }

    /// All that was to be written is. Returns those that need wait no longer.
    private func settle() -> [Waiter] {
        state.withLock { state in
            // What came after the work was taken, and before it was done, is written with it: a change that isn't has brought work
            // of its own.
            state.settled = state.firstPosition.map { $0 - 1 } ?? state.position
            settled.store(state.settled, ordering: .releasing)
            state.expected = state.waiters.count
            return state.takeWaiters()
        }
    }

    /// Nothing that was changed since the last time is written, what came meanwhile neither: it builds upon the rest.
    private func fail(_ works: [Work], _ failure: StoreFailure, _ writer: some ChangeWriter<Work>) -> [Waiter] {
        hasFailed.store(true, ordering: .relaxed)
        var works = works
        var left: [Work] = []
        while true {
            left += writer.giveUp(works)
            let waiters = state.withLock { state -> [Waiter]? in
                guard state.works.isEmpty else {
                    (works, state.works, state.firstPosition) = (state.works, [], nil)
                    return nil
                }
                state.fail(failure)
                state.works = left
                settled.store(state.settled, ordering: .releasing)
                return state.takeWaiters()
            }
            if let waiters { return waiters }
        }
    }
}

extension WriteQueue.State {
    /// Returns whether somebody waits for so many.
    fileprivate mutating func add(_ waiter: WriteQueue.Waiter) -> Bool {
        waiters.append(waiter)
        guard isGathering, waiters.count >= expected else { return false }
        isGathering = false
        return true
    }

    /// Whether more are to be waited for.
    fileprivate mutating func beginsToGather() -> Bool {
        guard expected > 1, !waiters.isEmpty, waiters.count < expected, !isClosed else { return false }
        guard pauseLeft == 0 else {
            pauseLeft -= 1
            return false
        }
        isGathering = true
        return true
    }

    private static var longestPause: Int { 32 }

    /// Clients that take their time aren't waited for often: each time in vain makes for a longer pause.
    fileprivate mutating func endGathering(_ isEnough: Bool) {
        isGathering = false
        pause = isEnough ? 0 : min(max(1, pause * 2), Self.longestPause)
        pauseLeft = pause
    }

    /// What is to be written now; `nil` for nothing.
    fileprivate mutating func take() -> [Work]? {
        isTold = false
        guard position > settled || isClosed && !works.isEmpty else { return nil }
        defer { (works, firstPosition) = ([], nil) }
        return works
    }

    private static var failedLimit: Int { 1_000 }

    /// Why the change at this position couldn't be written; `nil` when it was.
    fileprivate func failure(of position: Int) -> StoreFailure? {
        guard forgotten == 0 || position > forgotten else {
            return StoreFailure(.unknown, "too much has failed since")
        }
        return failed.first { $0.positions.contains(position) }?.failure
    }

    /// All that isn't settled can't be written.
    fileprivate mutating func fail(_ failure: StoreFailure) {
        if position > settled { failed.append((positions: settled + 1...position, failure: failure)) }
        if failed.count > Self.failedLimit { forgotten = failed.removeFirst().positions.upperBound }
        settled = position
    }

    /// Those whose changes are settled.
    fileprivate mutating func takeWaiters() -> [WriteQueue.Waiter] {
        let place = waiters.partition { $0.position <= settled }
        defer { waiters.removeSubrange(place...) }
        return Array(waiters[place...])
    }
}
