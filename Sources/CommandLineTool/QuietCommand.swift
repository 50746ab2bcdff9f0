import Platform
import Understudy

enum QuietCommand {
    /// Runs a program of the system without any input and output. Returns its exit code, or `nil` if the program isn't
    /// installed or a signal ended it.
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
        // If posix_spawn can't report that the program doesn't exist, its process ends with 127.
        let code = status >> 8 & 0xFF
        return status & 0x7F == 0 && code != 127 ? code : nil
    }
}

/// The hint that is shown if a command has failed without having sent any request to the daemon.
struct Silence: CustomStringConvertible {
    enum Way {
        case address
        case proxy
        case interception
    }

    let way: Way

    private var reason: String {
        switch way {
        case .address:
            "perhaps the command uses a built-in address of the provider and ignores UNDERSTUDY_URL and "
                + "\(Silence.variables): try --intercept, or --proxy-port 0"
        case .proxy:
            "perhaps the command ignores HTTPS_PROXY: try --intercept"
        case .interception:
            "perhaps the command calls a host that \"understudy hosts\" doesn't list, ignores /etc/hosts (as DNS over "
                + "HTTPS does), uses a proxy (HTTPS_PROXY), or has rejected the certificate"
        }
    }

    private static let variables =
        Providers.variables(daemon: "").map(\.name).first { $0.hasSuffix("_BASE_URL") }.map { "\($0)…" } ?? "its like"

    var description: String {
        "no request reached the daemon: the command failed before its first request, or sent its requests elsewhere: "
            + "\(reason). Clients that run in a container or on another machine don't get the command's settings"
    }
}
