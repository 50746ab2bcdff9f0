import ArgumentParser
import Assistants
import EmulatorCore
import ModelContextProtocol
import Platform
import Understudy

struct ModelContextCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mcp", abstract: "Offer the control API to coding assistants, as a Model Context Protocol server.",
        usage: "understudy mcp [--url <url>] [--world <name>] | --start [<serve's options>]",
        discussion: """
            Reads messages from standard input and answers on standard output, until the input ends. Its tools ask the daemon at \
            --url, which may be started later; with --start, a daemon is started in this process where none answers, and ends with \
            it. The control token, if the daemon has one, comes from UNDERSTUDY_CONTROL_TOKEN.
            """)

    @Option(help: "The daemon's address. (default: UNDERSTUDY_URL, or \(DaemonClient.defaultURL))")
    var url: String?

    @Flag(help: "Start a daemon with serve's options, unless a daemon already runs on the port.")
    var start = false

    @OptionGroup var options: DaemonOptions

    func validate() throws {
        guard start else {
            let isDaemons = !options.seeds.isEmpty || !options.scenarios.isEmpty || options.port != nil
            guard !isDaemons else { throw ValidationError("--seed, --scenario and --port go with --start.") }
            return
        }
        guard url == nil else { throw ValidationError("--url and --start: give one of them.") }
    }

    func run() throws {
        let output = LineOutput(STDOUT_FILENO)
        let export = try start ? options.exportDirectory() : nil
        let daemon = try supply()
        do { try daemon.prepare() } catch is Unstarted { throw ExitCode(1) }
        let server = ModelContextServer(
            DaemonTools.identity, tools: DaemonTools(daemon).all, resources: DaemonTools.resources,
            prompts: DaemonTools.prompts
        ) { output.send($0) }
        server.serve(LineReader(STDIN_FILENO))
        var isExported = true
        daemon.end { isExported = DaemonOptions.export($0, to: export) }
        LineWriter.standardError.flush()
        if !isExported { throw ExitCode(1) }
    }

    private func supply() throws -> DaemonSupply {
        let world = try options.ownWorld()
        guard start else {
            let place = url ?? Environment.value("URL") ?? DaemonClient.defaultURL
            return DaemonSupply(url: place, world: world, token: try options.chosenControlToken())
        }
        let port =
            try options.port ?? Environment.port()
            ?? ModelContextCommand.port
        return DaemonSupply(
            url: "http://localhost:\(port)", world: world, token: try options.chosenControlToken(),
            start: { [options] in
                do { return try options.start(defaultPort: ModelContextCommand.port) } catch is ExitCode {
                    throw Unstarted()
                }
            })
    }

    /// The error that the daemon couldn't be started. The reason has already been printed to standard error.
    private struct Unstarted: Error, CustomStringConvertible {
        let description = "standard error says why"
    }

    private static let port: UInt16 = 9099
}
