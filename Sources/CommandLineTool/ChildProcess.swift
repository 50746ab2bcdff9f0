import Platform

/// A command that runs as a child process, with this process's input and output and in a process group of its own.
/// Signals are sent to the whole group.
struct ChildProcess {
    struct LaunchFailure: Error, CustomStringConvertible {
        let description: String
        /// The exit code that shells use if a command can't be started: 127 if it isn't found, otherwise 126.
        let exitCode: Int32
    }

    enum Change {
        /// The command has ended with this exit code. If a signal ended it, the code is 128 plus the signal's number.
        case ended(Int32)
        /// Job control has stopped (suspended) the command by this signal.
        case stopped(Int32)
    }

    /// The ID of the command's process group, which is also the ID of the group's first process.
    let group: pid_t

    /// Starts a command, which is looked up in PATH. `environment` is added to this process's environment. `watcher` is
    /// told the command's process group before the command runs.
    init(
        _ command: [String], environment: [(name: String, value: String)], standardError: Int32,
        terminal: ControllingTerminal?, watcher: Watcher?
    ) throws(LaunchFailure) {
        var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        var variables = ChildProcess.variables(with: environment).map { strdup($0) } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var reason: Int32 = 0
        group = understudy_launch(
            &arguments, &variables, standardError, terminal?.offeredDescriptor ?? -1, watcher?.descriptor ?? -1,
            Watcher.Message.group.rawValue, &reason)
        guard group > 0 else {
            throw LaunchFailure(
                description: "can't run \(command[0]): \(String(cString: strerror(reason)))",
                exitCode: reason == ENOENT ? 127 : 126)
        }
    }

    private static func variables(with added: [(name: String, value: String)]) -> [String] {
        var variables: [String] = []
        var place = understudy_environment()
        while let text = place.pointee {
            variables.append(String(cString: text))
            place += 1
        }
        variables.removeAll { line in added.contains { line.hasPrefix("\($0.name)=") } }
        return variables + added.map { "\($0.name)=\($0.value)" }
    }

    /// Returns how the command's state has changed since this method was last called; `nil` if it hasn't.
    ///
    /// This also reaps orphaned processes, which become children of this process.
    func change() -> Change? {
        var status: Int32 = 0
        while true {
            let identifier = waitpid(-1, &status, WNOHANG | WUNTRACED)
            guard identifier > 0 else { return nil }
            guard identifier == group else { continue }
            if status & 0xFF == 0x7F { return .stopped(status >> 8 & 0xFF) }
            let signal = status & 0x7F
            return .ended(signal == 0 ? status >> 8 & 0xFF : 128 + signal)
        }
    }

    /// Sends a signal to the command's group. A stopped group is continued, so that it can handle the signal.
    func send(_ signal: Int32) { ChildProcess.send(signal, to: group) }

    static func send(_ signal: Int32, to group: pid_t) {
        guard group > 1 else { return }
        kill(-group, signal)
        if signal != SIGCONT { kill(-group, SIGCONT) }
    }

    /// Ends the processes of a group that still run. If `asking` is true, they get SIGTERM first. Processes that still
    /// run after `milliseconds` get SIGKILL.
    static func end(_ group: pid_t, within milliseconds: Int, asking: Bool) {
        guard group > 1 else { return }
        if asking { send(SIGTERM, to: group) }
        let step = 20
        for _ in 0..<(milliseconds / step) {
            // A process that has ended still exists until its parent has waited for it.
            while waitpid(-1, nil, WNOHANG) > 0 {}
            if kill(-group, 0) != 0 { return }
            usleep(UInt32(step) * 1000)
        }
        kill(-group, SIGKILL)
    }
}

/// Waits for a command that has a process group of its own. This process passes the signals that it gets on to the
/// command's group, and gives this group the terminal's foreground. If the terminal suspends the command, this process
/// is suspended, too.
struct JobControl {
    let process: ChildProcess
    let terminal: ControllingTerminal?

    /// The number of milliseconds after the command's end in which the other processes of the command's group must
    /// end. It matters only if the command was told to end.
    private static let grace = 1000
    /// The greatest number of milliseconds until a process notices that it was stopped (suspended).
    private static let stopDelay = 100

    /// Forwards signals to the command until it has ended. A second signal that asks the command to end becomes
    /// SIGKILL. Returns the command's exit code, or 128 plus the number of the signal that ended it.
    func wait(_ signals: inout Signals) -> Int32 {
        var asked = 0
        while true {
            switch signals.wait() {
            case SIGCHLD:
                switch process.change() {
                case .ended(let code):
                    // If a command ends by itself, the processes that it leaves running are meant to stay.
                    if asked > 0 { ChildProcess.end(process.group, within: JobControl.grace, asking: false) }
                    terminal?.reclaimForeground(from: process.group)
                    return code
                case .stopped(let signal): stopped(by: signal)
                case nil: continue
                }
            case SIGCONT: resume()
            case SIGTSTP:
                kill(-process.group, SIGTSTP)
                stop(getpid())
            case let signal:
                process.send(asked == 0 ? signal : SIGKILL)
                asked += 1
            }
        }
    }

    private func stopped(by signal: Int32) {
        guard let terminal else { return }
        switch signal {
        // The command wants to use the terminal, and this process can give it.
        case SIGTTIN where terminal.isOurs, SIGTTOU where terminal.isOurs:
            terminal.give(to: process.group)
            kill(-process.group, SIGCONT)
        case SIGTTIN, SIGTTOU: Signals.sendUnblocked(signal, to: 0)
        case SIGTSTP:
            terminal.reclaimForeground(from: process.group)
            // The terminal would also have stopped the other processes of this group, as in a pipeline.
            stop(0)
        default: return
        }
    }

    /// Stops (suspends) this process until a shell continues it. Without a shell, as in a container, nothing is
    /// stopped, and the command continues at once.
    private func stop(_ target: pid_t) {
        Signals.sendUnblocked(SIGTSTP, to: target)
        _ = Signals.comes(SIGCONT, withinMilliseconds: JobControl.stopDelay)
        resume()
    }

    private func resume() {
        if let terminal, terminal.offeredDescriptor != nil { terminal.give(to: process.group) }
        kill(-process.group, SIGCONT)
    }
}

/// Blocks the signals that this process handles, so that it can wait for them in one place.
struct Signals {
    private var set = sigset_t()

    /// Blocks the signals that `wait` will receive. This must happen before other threads start, because threads
    /// inherit the block.
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

    /// Waits for the next of the blocked signals, and returns its number.
    mutating func wait() -> Int32 {
        var signal: Int32 = 0
        sigwait(&set, &signal)
        return signal
    }

    /// Waits for `signal` at most this number of milliseconds, and returns whether it has arrived. A signal that has
    /// arrived is consumed.
    static func comes(_ signal: Int32, withinMilliseconds milliseconds: Int) -> Bool {
        understudy_take_signal(signal, Int32(milliseconds)) == 1
    }

    /// Sends `signal` to `target`: this process or its group. This process blocks the signal at other times, but not
    /// during this call, so that the signal has its default effect.
    static func sendUnblocked(_ signal: Int32, to target: pid_t) {
        var (only, before) = (sigset_t(), sigset_t())
        sigemptyset(&only)
        sigaddset(&only, signal)
        pthread_sigmask(SIG_UNBLOCK, &only, &before)
        kill(target, signal)
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }
}

/// The terminal from which this process was started. It has one foreground process group, which reads the keyboard and
/// gets the signal of Ctrl-C.
struct ControllingTerminal {
    private let descriptor: Int32
    private let ownGroup = getpgrp()

    /// Opens the terminal from which this process was started; `nil` if there is none.
    init?() {
        descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
    }

    /// The terminal's descriptor if the command is to begin in the terminal's foreground. It is `nil` if this process
    /// is in the background. It is also `nil` if this process is part of a pipeline, because another process of the
    /// pipeline, such as a pager, may need the foreground. The command then gets the foreground only when it tries to
    /// use the terminal.
    var offeredDescriptor: Int32? {
        isOurs && (STDIN_FILENO...STDERR_FILENO).allSatisfy { isatty($0) == 1 } ? descriptor : nil
    }

    /// Whether this process's group is in the terminal's foreground.
    var isOurs: Bool { tcgetpgrp(descriptor) == ownGroup }

    func give(to group: pid_t) { hand(to: group) }

    /// Puts this process's group into the terminal's foreground, if the command's group `group` is in the foreground.
    func reclaimForeground(from group: pid_t) {
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
