import Platform

/// Waits for a command that has a process group of its own. Signals, stops and the terminal's foreground reach only this
/// process, and are passed on to the command's group.
struct JobControl {
    let process: ChildProcess
    let terminal: ControllingTerminal?

    /// The milliseconds that the command's other processes have to end, after the command was told to end.
    private static let grace = 1000
    /// The most milliseconds until a process notices that it was stopped.
    private static let stopDelay = 100

    /// Forwards signals to the command until it has ended; the second one becomes SIGKILL. Returns the command's exit
    /// code, or 128 plus the number of the signal that ended it.
    func wait(_ signals: inout Signals) -> Int32 {
        var asked = 0
        while true {
            switch signals.wait() {
            case SIGCHLD:
                switch process.change() {
                case .ended(let code):
                    // If a command ends by itself, the processes that it leaves running are meant to stay.
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
            // The terminal would also have stopped the other processes of this group, as in a pipeline.
            stop(0)
        default: return
        }
    }

    /// Stops this process until a shell continues it. Without a shell, as in a container, the process isn't stopped,
    /// and the command continues at once.
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
