import ArgumentParser
import Platform
import Understudy

struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Start the daemon.",
        discussion: "Prints one line on standard output when it accepts connections; logs go to standard error.")

    @OptionGroup var options: DaemonOptions

    @Option(
        help: ArgumentHelp(
            "Once told to end, answer for so long, while health says 503: a balancer needs a moment. (default: 0)",
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
        let isExported = DaemonOptions.export(server, to: export)
        server.end()
        LineWriter.standardError.flush()
        if !isExported { throw ExitCode(1) }
    }
}
