import Foundation
import Synchronization
import Testing

@testable import HTTPServer

@Suite("Timers")
struct TimerTests {
    private final class Fired: Sendable {
        let count = Atomic<Int>(0)
        let released: DispatchSemaphore

        init(_ released: DispatchSemaphore) { self.released = released }

        deinit { released.signal() }
    }

    @Test(
        "any duration is taken: none is too long or too short",
        arguments: [
            Duration(secondsComponent: .max, attosecondsComponent: 999_999_999_999_999_999),
            Duration(secondsComponent: .min, attosecondsComponent: -999_999_999_999_999_999), .seconds(Int64.max),
            .seconds(Int64.min), .milliseconds(Int64.max), .zero, .nanoseconds(-1), .seconds(365_250 * 86_400),
        ])
    func anyDuration(duration: Duration) {
        #expect((0...366 * 86_400 * 1_000_000_000).contains(Timer.nanoseconds(duration)))
        let timer = Timer.after(duration) {}
        timer.cancel()
    }

    @Test("what is past fires at once")
    func past() {
        let fired = DispatchSemaphore(value: 0)
        Timer.after(.seconds(Int64.min)) { fired.signal() }
        #expect(fired.wait(timeout: .now() + 300) == .success)
    }

    @Test("a cancelled timer doesn't fire, and lets its action go", arguments: [true, false])
    func letGo(isCancelled: Bool) {
        let released = DispatchSemaphore(value: 0)
        var fired: Fired? = Fired(released)
        let timer = Timer.after(.seconds(86_400)) { [fired] in fired?.count.add(1, ordering: .relaxed) }
        fired = nil
        if isCancelled { timer.cancel() } else { timer.fireNow() }
        #expect(released.wait(timeout: .now() + 300) == .success)
    }

    @Test("a hurried timer fires once")
    func once() {
        let count = Mutex(0)
        let fired = DispatchSemaphore(value: 0)
        let timer = Timer.after(.seconds(86_400)) {
            count.withLock { $0 += 1 }
            fired.signal()
        }
        for _ in 0..<100 { timer.fireNow() }
        #expect(fired.wait(timeout: .now() + 300) == .success)
        for _ in 0..<100 { timer.fireNow() }
        #expect(fired.wait(timeout: .now() + .milliseconds(200)) == .timedOut)
        #expect(count.withLock { $0 } == 1)
    }
}
