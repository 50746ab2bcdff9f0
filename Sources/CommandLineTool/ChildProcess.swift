import Platform

/// A command with this process's input and output, in a process group of its own. Signals are sent to the whole group.
struct ChildProcess {
    struct LaunchFailure: Error, CustomStringConvertible {
        let description: String
        /// The exit code that shells use: 127 if the command isn't found, otherwise 126.
        let exitCode: Int32
    }

    enum Change {
        /// The command has ended, with this exit code, or with 128 plus the number of the signal that ended it.
        case ended(Int32)
        /// Job control has stopped the command, by this signal.
        case stopped(Int32)
    }

    /// The process group. Its identifier is that of its first process.
    let group: pid_t

    /// Starts a command, which is searched in PATH. `environment` is added to this process's environment. `watcher`
    /// learns the group before the command runs.
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

    /// Returns what has happened to the command since the last call, or `nil`.
    ///
    /// It also reaps other children: orphaned processes become children of this process.
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

    /// Ends the remaining processes of the group: with SIGTERM if `asking`, and after `milliseconds` with SIGKILL.
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
