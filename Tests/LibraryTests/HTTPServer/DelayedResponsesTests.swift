import Synchronization
import Testing

@testable import HTTPServer

@Suite("Delayed responses")
struct DelayedResponsesTests {
    @Test("those that have waited longest are sent early if all together are too large")
    func limit() async {
        let responses = DelayedResponses(limit: 250)
        let sent = AsyncStream<Int> { stream in
            let left = Atomic<Int>(3)
            for number in 0..<5 {
                _ = responses.hold(100, for: .seconds(3_600)) {
                    stream.yield(number)
                    if left.subtract(1, ordering: .relaxed).newValue == 0 { stream.finish() }
                }
            }
        }
        var found: Set<Int> = []
        for await number in sent { found.insert(number) }
        #expect(found == [0, 1, 2])
    }

    @Test("after its delay, a response makes room for others")
    func room() async {
        let responses = DelayedResponses(limit: 100)
        for _ in 0..<3 {
            await withCheckedContinuation { done in
                _ = responses.hold(100, for: .milliseconds(1)) { done.resume() }
            }
        }
        let isEarly = Atomic<Bool>(false)
        let last = responses.hold(100, for: .seconds(3_600)) { isEarly.store(true, ordering: .relaxed) }
        let wasEarly = isEarly.load(ordering: .relaxed)
        #expect(!wasEarly)
        last.cancel()
    }
}
