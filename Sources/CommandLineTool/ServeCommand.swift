import ArgumentParser
import Glibc
import Understudy

struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Start the daemon.",
        discussion: "Prints one line on standard output when it accepts connections; logs go to standard error.")

    @OptionGroup var options: DaemonOptions

    func run() throws {
        var signals = Signals([SIGINT, SIGTERM])
        let server = try options.start(defaultPort: 9099) { $0.listeningSockets = SocketActivation.sockets() }
        let secure = server.tlsURL.map { $0 == server.url ? "" : " and \($0)" } ?? ""
        let proxy = server.proxyURL.map { ", proxy on \($0)" } ?? ""
        Terminal.print("understudy listening on \(server.url)\(secure)\(proxy)")
        ResidentMemory.releaseCode()
        _ = signals.wait()
        server.stop()
    }
}
