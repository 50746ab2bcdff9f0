import Glibc

/// Waits for a command, and does for its group of processes what a terminal and a shell do for the group that we are in.
struct JobControl {
    let process: ChildProcess
    let terminal: ControllingTerminal?

    /// How long those whom the command leaves behind when it was told to end may take, in milliseconds.
    private static let grace = 1000
    /// Within which time, in milliseconds, a process that was stopped knows that it was.
    private static let moment = 100

    /// Hands signals on, a second one as SIGKILL, until the command has ended. Returns its exit code, or 128 and the number of
    /// the signal that ended it.
    func wait(_ signals: inout Signals) -> Int32 {
        var asked = 0
        while true {
            switch signals.wait() {
            case SIGCHLD:
                switch process.change() {
                case .ended(let code):
                    // What a command leaves running when it ends by itself is meant to stay.
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
        // It wants the terminal, and we can give it.
        case SIGTTIN where terminal.isOurs, SIGTTOU where terminal.isOurs:
            terminal.give(to: process.group)
            kill(-process.group, SIGCONT)
        case SIGTTIN, SIGTTOU: Signals.take(signal, to: 0)
        case SIGTSTP:
            terminal.takeBack(from: process.group)
            // Whoever was started with us, as in a pipeline, would have been stopped, too.
            stop(0)
        default: return
        }
    }

    /// Stops us, until a shell lets us go on. Where none does, as in a container, nothing has been stopped, and the command goes
    /// on, too.
    private func stop(_ target: pid_t) {
        Signals.take(SIGTSTP, to: target)
        _ = Signals.comes(SIGCONT, withinMilliseconds: JobControl.moment)
        resume()
    }

    private func resume() {
        if let terminal, terminal.offeredDescriptor != nil { terminal.give(to: process.group) }
        kill(-process.group, SIGCONT)
    }
}
