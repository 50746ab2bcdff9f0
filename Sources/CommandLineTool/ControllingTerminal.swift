import Platform

/// The terminal from which this process was started. It has one foreground process group, which reads the keyboard and
/// gets the signal of Ctrl-C.
struct ControllingTerminal {
    private let descriptor: Int32
    private let ownGroup = getpgrp()

    /// Opens the terminal; `nil` if there is none.
    init?() {
        descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
    }

    /// The terminal's descriptor if the command should be in the foreground from its start, or `nil`. In a pipeline,
    /// another process of this group may need the terminal, such as a pager. Then the command gets it when it asks.
    var offeredDescriptor: Int32? {
        isOurs && (STDIN_FILENO...STDERR_FILENO).allSatisfy { isatty($0) == 1 } ? descriptor : nil
    }

    /// Whether this process's group is in the foreground.
    var isOurs: Bool { tcgetpgrp(descriptor) == ownGroup }

    func give(to group: pid_t) { hand(to: group) }

    /// Puts this process's group into the foreground again, if `group` is in the foreground.
    func takeBack(from group: pid_t) {
        if tcgetpgrp(descriptor) == group { hand(to: ownGroup) }
    }

    private func hand(to group: pid_t) {
        // SIGTTOU would stop a background process that does this.
        var (blocked, before) = (sigset_t(), sigset_t())
        sigemptyset(&blocked)
        sigaddset(&blocked, SIGTTOU)
        pthread_sigmask(SIG_BLOCK, &blocked, &before)
        tcsetpgrp(descriptor, group)
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }
}
