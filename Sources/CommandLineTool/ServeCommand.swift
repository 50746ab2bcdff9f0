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
        let server = try options.start(defaultPort: 9099)
        Terminal.print("understudy listening on \(server.url)")
        ResidentMemory.releaseCode()
        _ = signals.wait()
        server.stop()
    }
}
