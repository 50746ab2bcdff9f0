import CPlatform
import Synchronization

/// Starts threads for work that may block.
package enum WorkThread {
    private final class Box {
        let work: @Sendable () -> Void

        init(_ work: @escaping @Sendable () -> Void) { self.work = work }
    }

    /// Starts a thread that runs `work`. Returns `false` if the system can't provide a thread.
    ///
    /// - Parameter stack: the size of the thread's stack, in bytes.
    package static func start(stack: Int = 256 << 10, _ work: @escaping @Sendable () -> Void) -> Bool {
        let context = Unmanaged.passRetained(Box(work)).toOpaque()
        let failure = understudy_start_thread(stack, run, context)
        if failure != 0 { Unmanaged<Box>.fromOpaque(context).release() }
        return failure == 0
    }

    /// Runs all closures of `works` at the same time, each on its own thread if the system can provide one, and returns
    /// when all have ended.
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

    /// A counter that a thread can wait for until it is zero.
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
