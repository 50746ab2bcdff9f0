import Platform

/// Sockets opened by systemd: <https://www.freedesktop.org/software/systemd/man/latest/sd_listen_fds.html>.
enum SocketActivation {
    private static let first: Int32 = 3

    /// Returns the sockets' descriptors, or none if there are none or if they are meant for another process.
    static func sockets() -> [Int32] {
        let count = Environment.variable("LISTEN_FDS").flatMap { Int32($0) } ?? 0
        guard Environment.variable("LISTEN_PID") == String(getpid()), (1...16).contains(count) else { return [] }
        // Commands that this process starts must not use the sockets.
        for name in ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"] { unsetenv(name) }
        return Array(first..<first + count)
    }
}
