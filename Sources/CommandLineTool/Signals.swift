import Platform

/// Blocks the signals that this process handles, and waits for them in one place.
struct Signals {
    private var set = sigset_t()

    /// Blocks the signals. This must happen before other threads start, because they inherit it; then only `wait`
    /// receives these signals.
    ///
    /// A SIGHUP or SIGTSTP that is already ignored, as by nohup, stays ignored.
    init(_ signals: [Int32]) {
        // Writing to a closed pipe should be an error, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        sigemptyset(&set)
        for signal in signals where ![SIGHUP, SIGTSTP].contains(signal) || understudy_is_ignored(signal) == 0 {
            sigaddset(&set, signal)
        }
        // If SIGCHLD were ignored, the process wouldn't learn how a child has ended.
        for signal in [SIGCHLD, SIGCONT] where signals.contains(signal) { understudy_keep_signal(signal) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Waits for the next signal.
    mutating func wait() -> Int32 {
        var signal: Int32 = 0
        sigwait(&set, &signal)
        return signal
    }

    /// Whether `signal` comes within this time. If it does, it is consumed.
    static func comes(_ signal: Int32, withinMilliseconds milliseconds: Int) -> Bool {
        understudy_take_signal(signal, Int32(milliseconds)) == 1
    }

    /// Lets `signal` have its default effect on `target`, which is this process or its group, although the signal is
    /// otherwise blocked.
    static func take(_ signal: Int32, to target: pid_t) {
        var (only, before) = (sigset_t(), sigset_t())
        sigemptyset(&only)
        sigaddset(&only, signal)
        pthread_sigmask(SIG_UNBLOCK, &only, &before)
        kill(target, signal)
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }
}
