import ArgumentParser
import EmulatorCore
import Platform
import Understudy

struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Start the daemon.",
        discussion: "Prints a line on standard output when the daemon accepts connections; logs go to standard error.")

    @OptionGroup var options: DaemonOptions

    @Option(
        help: ArgumentHelp(
            "On termination, keep serving for this many seconds, with 503 for health checks, so that load balancers notice. (default: 0)",
            valueName: "seconds"))
    var drain: Int?

    func validate() throws {
        if let drain, !ServeCommand.drains.contains(drain) {
            throw ValidationError("--drain: expected seconds, 0 to \(ServeCommand.drains.upperBound).")
        }
    }

    private static let drains = 0...600

    private func drainSeconds() throws -> Int {
        let seconds = try drain ?? Environment.value("DRAIN", as: Int.self, expected: "seconds") ?? 0
        guard ServeCommand.drains.contains(seconds) else {
            throw ValidationError("UNDERSTUDY_DRAIN: expected seconds, 0 to \(ServeCommand.drains.upperBound).")
        }
        return seconds
    }

    func run() throws {
        try options.expectWorldPorts()
        var signals = Signals([SIGINT, SIGTERM, SIGHUP])
        let export = try options.exportDirectory()
        let drain = try drainSeconds()
        let server = try options.start(defaultPort: 9099) { $0.listeningSockets = SocketActivation.sockets() }
        let secure = server.tlsURL.map { $0 == server.url ? "" : " and \($0)" } ?? ""
        let proxy = server.proxyURL.map { ", proxy on \($0)" } ?? ""
        // The daemon also serves if this line can't be written.
        let output = LineWriter(STDOUT_FILENO)
        output.write("understudy listening on \(server.url)\(secure)\(proxy)")
        for (world, url) in server.worldURLs { output.write("understudy listening on \(url) for world \(world)") }
        if let address = server.smtpAddress { output.write("understudy takes mail on smtp://\(address)") }
        for (world, address) in server.worldMailAddresses {
            output.write("understudy takes mail on smtp://\(address) for world \(world)")
        }
        if let day = server.imitatedDay {
            let words = day == "next" ? "with announced changes" : "as of \(day)"
            output.write("understudy imitates the providers \(words)")
        }
        output.flush()
        ResidentMemory.releaseCodeLater()
        FreedMemory.giveBackFromNowOn()
        let signal = signals.wait()
        if drain > 0 {
            server.announceEnd()
            // At a second signal, the daemon ends at once.
            _ = Signals.comes(signal, withinMilliseconds: drain * 1_000)
        }
        server.stop()
        try options.reportRehearsal(of: server)
        let isExported = DaemonOptions.export(server, to: export)
        server.end()
        LineWriter.standardError.flush()
        if !isExported { throw ExitCode(1) }
    }
}

/// The reason why ports 80 and 443 can't be opened in the machine's own network.
struct PortObstacle: CustomStringConvertible {
    private let code: Int32

    /// Tries to open `ports`, and finds the reason why one of them can't be opened; `nil` if all can be opened.
    init?(address: String, ports: [UInt16]) {
        for port in ports {
            if let code = PortObstacle.failure(address, port) {
                self.code = code
                return
            }
        }
        return nil
    }

    private static func failure(_ address: String, _ port: UInt16) -> Int32? {
        let descriptor = understudy_socket(AF_INET, understudy_stream, 0)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_port = port.bigEndian
        inet_pton(AF_INET, address, &place.sin_addr)
        let result = withUnsafePointer(to: &place) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return result == 0 ? nil : errno
    }

    var description: String {
        let reason =
            switch code {
            case EACCES, EPERM: "this process has no permission to listen on ports 80 and 443"
            case EADDRINUSE: "port 80 or 443 is already in use on every address"
            default: "can't listen on ports 80 and 443 (\(String(cString: strerror(code))))"
            }
        let remedy =
            code == EACCES || code == EPERM
            ? "; after \"sudo sysctl net.ipv4.ip_unprivileged_port_start=80\", no isolated network is needed"
            : ""
        return
            "\(reason), so the command runs in an isolated network, where it can reach only the daemon, and no server "
            + "on this machine's loopback, such as a database: \"--share-port 5432\" lets the command reach that port "
            + "of the machine\(remedy)"
    }
}

/// Listening sockets that systemd has opened for this process:
/// <https://www.freedesktop.org/software/systemd/man/latest/sd_listen_fds.html>.
enum SocketActivation {
    private static let first: Int32 = 3

    /// Returns the descriptors of the sockets that systemd has opened. The list is empty if there are none, or if they
    /// are meant for another process.
    static func sockets() -> [Int32] {
        let count = Environment.variable("LISTEN_FDS").flatMap { Int32($0) } ?? 0
        guard Environment.variable("LISTEN_PID") == String(getpid()), (1...16).contains(count) else { return [] }
        // Commands that this process starts must not use the sockets.
        for name in ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"] { unsetenv(name) }
        return Array(first..<first + count)
    }
}

/// Frees memory after the daemon's start. Code that runs only at the start, such as the reading of options and seeds,
/// is half of the resident memory at rest, and would stay mapped until the kernel needs its pages.
enum ResidentMemory {
    /// Frees the memory of the program's code a second after the daemon's start. It isn't freed at once, because the
    /// first requests often come soon and need much of the code.
    static func releaseCodeLater() {
        _ = WorkThread.start {
            sleep(1)
            releaseCode()
        }
    }

    /// Unmaps the memory pages of the program's code. Pages that are needed again come from the page cache. This works
    /// only on Linux, because other systems don't list the pages.
    private static func releaseCode() {
        guard let maps = try? File.text(at: "/proc/self/maps") else { return }
        for line in maps.split(separator: "\n") {
            // The fields are: addresses, permissions, offset, device, inode, path. Only pages of code are freed; they
            // are never written to.
            let fields = line.split(separator: " ", omittingEmptySubsequences: true)
            guard fields.count >= 6, fields[1] == "r-xp", fields[5].hasPrefix("/") else { continue }
            let bounds = fields[0].split(separator: "-").compactMap { UInt(String($0), radix: 16) }
            guard bounds.count == 2, let start = UnsafeMutableRawPointer(bitPattern: bounds[0]) else { continue }
            madvise(start, Int(bounds[1] - bounds[0]), MADV_DONTNEED)
        }
    }
}
