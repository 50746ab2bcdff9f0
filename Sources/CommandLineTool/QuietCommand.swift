import Platform

/// A program of the system that is run to its end, without input and output.
enum QuietCommand {
    /// The exit code; `nil` when the program isn't installed or didn't end by itself.
    static func run(_ command: [String]) -> Int32? {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
        }
        var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        defer { for text in arguments { free(text) } }
        var process: pid_t = 0
        guard posix_spawnp(&process, command.first ?? "", &actions, nil, &arguments, understudy_environment()) == 0
        else { return nil }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { return nil }
        }
        // Where posix_spawn can't tell that there is no such program, its process ends with 127.
        let code = status >> 8 & 0xFF
        return status & 0x7F == 0 && code != 127 ? code : nil
    }
}
