import Glibc

/// The terminal from which the process was started. One group of processes has it in the foreground: that one reads what is
/// typed and gets its Ctrl-C.
struct ControllingTerminal {
    private let descriptor: Int32
    private let ownGroup = getpgrp()

    /// `nil` without a terminal.
    init?() {
        descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
    }

    /// Its descriptor, when our group has it and a command that we start is to have it from the beginning. In a pipeline others
    /// of our group may read it, such as a pager: then the command gets it when it asks.
    var offeredDescriptor: Int32? {
        isOurs && (STDIN_FILENO...STDERR_FILENO).allSatisfy { isatty($0) == 1 } ? descriptor : nil
    }

    /// Whether our group has it.
    var isOurs: Bool { tcgetpgrp(descriptor) == ownGroup }

    func give(to group: pid_t) { hand(to: group) }

    /// Takes it back from `group`, if that still has it.
    func takeBack(from group: pid_t) {
        if tcgetpgrp(descriptor) == group { hand(to: ownGroup) }
    }

    private func hand(to group: pid_t) {
        // Whoever does this from the background is stopped by SIGTTOU.
        var (blocked, before) = (sigset_t(), sigset_t())
        sigemptyset(&blocked)
        sigaddset(&blocked, SIGTTOU)
        pthread_sigmask(SIG_BLOCK, &blocked, &before)
        tcsetpgrp(descriptor, group)
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }
}
