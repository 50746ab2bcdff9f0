import Platform

/// Waits for a command, and does for its process group what the terminal and the shell do for the group of this process.
struct JobControl {
    let process: ChildProcess
    let terminal: ControllingTerminal?

    /// How long processes that outlive the command have to end after it was told to end, in milliseconds.
    private static let grace = 1000
    /// How long it takes at most until a process learns that it was stopped, in milliseconds.
    private static let stopDelay = 100

    /// Sends the signals that this process gets to the command, the second one as SIGKILL, until the command has ended.
    /// Returns its exit code, or 128 and the number of the signal that ended it.
    func wait(_ signals: inout Signals) -> Int32 {
        var asked = 0
        while true {
            switch signals.wait() {
            case SIGCHLD:
                switch process.change() {
                case .ended(let code):
                    // Processes that a command leaves running when it ends by itself are meant to stay.
                    if asked > 0 { ChildProcess.end(process.group, within: JobControl.grace, asking: false) }
                    terminal?.takeBack(from: process.group)
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
        case SIGTTIN, SIGTTOU: Signals.take(signal, to: 0)
        case SIGTSTP:
            terminal.takeBack(from: process.group)
            // The terminal would have stopped the processes that were started with this one, as in a pipeline, too.
            stop(0)
        default: return
        }
    }

    /// Stops this process until a shell continues it. Where no shell does, as in a container, the process isn't stopped,
    /// and the command is continued at once.
    private func stop(_ target: pid_t) {
        Signals.take(SIGTSTP, to: target)
        _ = Signals.comes(SIGCONT, withinMilliseconds: JobControl.stopDelay)
        resume()
    }

    private func resume() {
        if let terminal, terminal.offeredDescriptor != nil { terminal.give(to: process.group) }
        kill(-process.group, SIGCONT)
    }
}
