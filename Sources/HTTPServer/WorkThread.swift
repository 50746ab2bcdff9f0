import Glibc
import Synchronization

/// A thread of its own, for what waits as long as it likes.
package enum WorkThread {
    private final class Box {
        let work: @Sendable () -> Void

        init(_ work: @escaping @Sendable () -> Void) { self.work = work }
    }

    /// `false` when the system gives no thread.
    package static func start(_ work: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        pthread_attr_setstacksize(&attributes, 256 << 10)
        let context = Unmanaged.passRetained(Box(work)).toOpaque()
        var thread = pthread_t()
        let failure = pthread_create(&thread, &attributes, run, context)
        if failure != 0 { Unmanaged<Box>.fromOpaque(context).release() }
        return failure == 0
    }

    /// Does all of it at once, each on a thread of its own as far as the system gives threads, and returns when all is done.
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
