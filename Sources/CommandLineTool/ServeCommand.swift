import ArgumentParser
import Glibc
import Logging
import Understudy

struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Start the daemon.",
        discussion: "Prints one line on standard output when it accepts connections; logs go to standard error.")

    @Option(
        name: .customLong("seed"),
        help: ArgumentHelp("A seed file, or a directory of them. May be repeated.", valueName: "path"))
    var seeds: [String] = []

    @Option(help: "The IP address to listen on, or localhost. (default: 127.0.0.1 and ::1)")
    var host: String?

    @Option(help: "The port; 0 takes a free one. (default: 9099)")
    var port: UInt16?

    @Option(
        name: .customLong("control-host"),
        help: ArgumentHelp("Another host name at which the control API answers. May be repeated.", valueName: "name"))
    var controlHosts: [String] = []

    @Option(help: "trace, debug, info, notice, warning, error or critical. (default: info)")
    var logLevel: Logger.Level?

    @Option(help: "text or json. (default: text)")
    var logFormat: LogFormat?

    func run() throws {
        // Blocked before any thread exists, so that every thread inherits it and only the wait below sees them.
        let signals = blockSignals()
        let level =
            try logLevel ?? Environment.value("LOG_LEVEL", as: Logger.Level.self, expected: "a log level") ?? .info
        let format =
            try logFormat ?? Environment.value("LOG_FORMAT", as: LogFormat.self, expected: "text or json") ?? .text
        var options = Understudy.Options(logger: format.logger(level: level))
        options.host = host ?? Environment.value("HOST") ?? options.host
        options.port = try port ?? Environment.value("PORT", as: UInt16.self, expected: "a port, 0 to 65535") ?? 9099
        options.controlHosts = controlHosts.isEmpty ? Environment.list("CONTROL_HOST") : controlHosts
        let paths = seeds.isEmpty ? Environment.list("SEED") : seeds
        let server: RunningServer
        do {
            server = try Understudy.start(seeds: paths.isEmpty ? [.builtIn] : paths.map { .path($0) }, options: options)
        } catch {
            Terminal.complain("understudy: \(error)")
            throw ExitCode(1)
        }
        if !["127.0.0.1", "::1", "localhost"].contains(options.host), !options.host.hasPrefix("127.") {
            Terminal.complain(
                "WARNING: listening on \(options.host), which other machines can reach. Understudy signs anyone in as anyone: "
                    + "it is for tests only, never for production.")
        }
        Terminal.print("understudy listening on \(server.url)")
        ResidentMemory.releaseCode()
        var set = signals
        var signal: Int32 = 0
        sigwait(&set, &signal)
        server.stop()
    }

    private func blockSignals() -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGINT)
        sigaddset(&set, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &set, nil)
        return set
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
