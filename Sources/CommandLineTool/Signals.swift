import Glibc

/// Signals that are waited for in one place.
struct Signals {
    private var set = sigset_t()

    /// Blocks them. Done before any thread exists, every thread inherits it, and only `wait` sees them.
    ///
    /// A SIGHUP or SIGTSTP that is ignored already, as nohup arranges, stays so.
    init(_ signals: [Int32]) {
        // A write to a closed pipe is an error like any other.
        signal(SIGPIPE, SIG_IGN)
        sigemptyset(&set)
        for signal in signals where ![SIGHUP, SIGTSTP].contains(signal) || !Signals.isIgnored(signal) {
            sigaddset(&set, signal)
        }
        // Whoever ignores SIGCHLD never learns how a child ended.
        if signals.contains(SIGCHLD) { signal(SIGCHLD, SIG_DFL) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    private static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(signal, nil, &action) == 0 else { return false }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// The next one.
    mutating func wait() -> Int32 {
        var signal: Int32 = 0
        sigwait(&set, &signal)
        return signal
    }

    /// Whether `signal` comes within so many milliseconds; it is taken then.
    static func comes(_ signal: Int32, withinMilliseconds milliseconds: Int) -> Bool {
        var only = sigset_t()
        sigemptyset(&only)
        sigaddset(&only, signal)
        var limit = timespec(tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000)
        return sigtimedwait(&only, nil, &limit) == signal
    }

    /// Has `signal` do to `target`, our own process or group, what it does by itself, although we wait for it otherwise.
    static func take(_ signal: Int32, to target: pid_t) {
        var (only, before) = (sigset_t(), sigset_t())
        sigemptyset(&only)
        sigaddset(&only, signal)
        pthread_sigmask(SIG_UNBLOCK, &only, &before)
        kill(target, signal)
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }
}
