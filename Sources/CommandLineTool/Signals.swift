import Glibc

/// Signals that are waited for in one place.
struct Signals {
    private var set = sigset_t()

    /// Blocks them. Done before any thread exists, every thread inherits it, and only `wait` sees them.
    init(_ signals: [Int32]) {
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// The next one.
    mutating func wait() -> Int32 {
        var signal: Int32 = 0
        sigwait(&set, &signal)
        return signal
    }
}
