import CPlatform
import Synchronization

/// Threads for work that may block.
package enum WorkThread {
    private final class Box {
        let work: @Sendable () -> Void

        init(_ work: @escaping @Sendable () -> Void) { self.work = work }
    }

    /// `false` when the system gives no thread.
    ///
    /// - Parameter stack: In bytes.
    package static func start(stack: Int = 256 << 10, _ work: @escaping @Sendable () -> Void) -> Bool {
        let context = Unmanaged.passRetained(Box(work)).toOpaque()
        let failure = understudy_start_thread(stack, run, context)
        if failure != 0 { Unmanaged<Box>.fromOpaque(context).release() }
        return failure == 0
    }

    /// Runs all of them at the same time, each on a thread of its own if the system gives one, and returns when all have ended.
    package static func doAll(_ works: [@Sendable () -> Void]) {
        let left = Countdown(works.count)
        for work in works {
            let counted: @Sendable () -> Void = {
                work()
                left.lower()
            }
            if !start(counted) { counted() }
        }
        left.wait()
    }

    /// Counts down to zero.
    private final class Countdown: Sendable {
        private let left: Atomic<Int>

        init(_ count: Int) { left = Atomic(count) }

        func lower() { left.subtract(1, ordering: .releasing) }

        func wait() { while left.load(ordering: .acquiring) > 0 { usleep(1000) } }
    }

    private static let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
        if let context { Unmanaged<Box>.fromOpaque(context).takeRetainedValue().work() }
        return nil
    }
}
