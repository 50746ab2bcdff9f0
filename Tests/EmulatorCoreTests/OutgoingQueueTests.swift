import Dispatch
import Testing

@testable import EmulatorCore

@Suite("Requests to clients' servers")
struct OutgoingQueueTests {
    /// Work that waits, each time it runs, until the test lets one go on.
    private final class Work: Sendable {
        let begun = DispatchSemaphore(value: 0)
        let goOn = DispatchSemaphore(value: 0)
        let ended = DispatchSemaphore(value: 0)

        func run() {
            begun.signal()
            goOn.wait()
            ended.signal()
        }

        func hasBegun(within time: DispatchTimeInterval) -> Bool { begun.wait(timeout: .now() + time) == .success }
    }

    @Test("a world's queue sends as many at a time as it may, and the others afterwards")
    func width() {
        let work = Work()
        let queue = OutgoingQueue(width: 2)
        for _ in 0..<5 { queue.run { work.run() } }
        for _ in 0..<2 { #expect(work.hasBegun(within: .seconds(20))) }
        #expect(!work.hasBegun(within: .milliseconds(100)))
        for _ in 0..<3 {
            work.goOn.signal()
            #expect(work.hasBegun(within: .seconds(20)))
            #expect(!work.hasBegun(within: .milliseconds(20)))
        }
        for _ in 0..<2 { work.goOn.signal() }
        for _ in 0..<5 { #expect(work.ended.wait(timeout: .now() + 20) == .success) }
        queue.run { work.run() }
        #expect(work.hasBegun(within: .seconds(20)))
        work.goOn.signal()
    }

    @Test("work that has been done isn't kept")
    func released() {
        final class Message: Sendable {}
        let queue = OutgoingQueue(width: 1)
        let (work, later) = (Work(), Work())
        weak var kept: Message?
        do {
            let message = Message()
            kept = message
            queue.run { work.run() }
            queue.run { _ = message }
        }
        for _ in 0..<3 { queue.run { later.run() } }
        work.goOn.signal()
        #expect(later.hasBegun(within: .seconds(20)))
        #expect(kept == nil)
        for _ in 0..<3 { later.goOn.signal() }
        for _ in 0..<3 { #expect(later.ended.wait(timeout: .now() + 20) == .success) }
    }

    @Test("a world whose servers are silent doesn't delay another")
    func worlds() {
        let (silent, prompt) = (Work(), Work())
        let (first, second) = (OutgoingQueues(), OutgoingQueues())
        for _ in 0..<200 { first.questions.run { silent.run() } }
        for _ in 0..<200 { first.notifications.run { silent.run() } }
        second.questions.run { prompt.run() }
        second.notifications.run { prompt.run() }
        for _ in 0..<2 { #expect(prompt.hasBegun(within: .seconds(20))) }
        for _ in 0..<2 { prompt.goOn.signal() }
        for _ in 0..<400 { silent.goOn.signal() }
    }
}
