import Glibc

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

    private static let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
        if let context { Unmanaged<Box>.fromOpaque(context).takeRetainedValue().work() }
        return nil
    }
}
