import ArgumentParser
import Platform
import Understudy

struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Start the daemon.",
        discussion: "Prints one line on standard output when it accepts connections; logs go to standard error.")

    @OptionGroup var options: DaemonOptions

    func run() throws {
        try options.expectWorldPorts()
        var signals = Signals([SIGINT, SIGTERM, SIGHUP])
        let export = try options.exportDirectory()
        let server = try options.start(defaultPort: 9099) { $0.listeningSockets = SocketActivation.sockets() }
        let secure = server.tlsURL.map { $0 == server.url ? "" : " and \($0)" } ?? ""
        let proxy = server.proxyURL.map { ", proxy on \($0)" } ?? ""
        // The daemon serves also when the line can't be written.
        let output = LineWriter(STDOUT_FILENO)
        output.write("understudy listening on \(server.url)\(secure)\(proxy)")
        for (world, url) in server.worldURLs { output.write("understudy listening on \(url) for world \(world)") }
        output.flush()
        ResidentMemory.releaseCode()
        _ = signals.wait()
        server.stop()
        let isExported = DaemonOptions.export(server, to: export)
        LineWriter.standardError.flush()
        if !isExported { throw ExitCode(1) }
    }
}
