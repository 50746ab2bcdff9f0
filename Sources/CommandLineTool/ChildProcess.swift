import Glibc

/// A command that runs with our input and output.
struct ChildProcess {
    struct LaunchFailure: Error, CustomStringConvertible {
        let description: String
        /// As shells have it: 127 when it isn't found, else 126.
        let exitCode: Int32
    }

    private let identifier: pid_t

    /// Looks the command up in PATH. `environment` is added to our own.
    init(
        _ command: [String], environment: [(name: String, value: String)], standardError: Int32
    ) throws(LaunchFailure) {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // What we block is ours to wait for; the command begins with nothing blocked.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        // Writing to a closed pipe ends a command, as it does without us.
        var ordinary = sigset_t()
        sigemptyset(&ordinary)
        sigaddset(&ordinary, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &ordinary)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, standardError, STDERR_FILENO)
        var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        var variables = ChildProcess.variables(with: environment).map { strdup($0) } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var identifier: pid_t = 0
        let result = posix_spawnp(&identifier, command[0], &actions, &attributes, &arguments, &variables)
        guard result == 0 else {
            let reason = String(cString: strerror(result))
            throw LaunchFailure(
                description: "can't run \(command[0]): \(reason)", exitCode: result == ENOENT ? 127 : 126)
        }
        self.identifier = identifier
    }

    private static func variables(with added: [(name: String, value: String)]) -> [String] {
        var variables: [String] = []
        var place = environ
        while let text = place.pointee {
            variables.append(String(cString: text))
            place += 1
        }
        variables.removeAll { line in added.contains { line.hasPrefix("\($0.name)=") } }
        return variables + added.map { "\($0.name)=\($0.value)" }
    }

    func send(_ signal: Int32) { kill(identifier, signal) }

    /// The exit code, or 128 and the number of the signal that ended it; `nil` while it runs.
    var exitCode: Int32? {
        var status: Int32 = 0
        guard waitpid(identifier, &status, WNOHANG) == identifier else { return nil }
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }
}
