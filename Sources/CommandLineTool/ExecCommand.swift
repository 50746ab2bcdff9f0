import ArgumentParser
import Platform
import Understudy

struct ExecCommand: ParsableCommand {
    private static let variables = Providers.variables(daemon: "").map(\.name)

    static let configuration = CommandConfiguration(
        commandName: "exec", abstract: "Start the daemon for one command, on a free port, and stop it afterwards.",
        usage:
            "understudy exec [<serve's options>] [--intercept] [--mcp <issuer>] [--log-file <path>] -- <command> [<argument> ...]",
        discussion: """
            The command finds the daemon in its environment: UNDERSTUDY_URL, UNDERSTUDY_CONTROL_URL, UNDERSTUDY_SMTP_HOST, UNDERSTUDY_SMTP_PORT, \
            \(variables.dropLast().joined(separator: ", ")) and \
            \(variables.last ?? ""), and GCLOUD_PROJECT and GOOGLE_CLOUD_PROJECT if --project or the seed names a Firebase project. With --proxy-port it gets the proxy instead, and with \
            --intercept the real host names themselves lead to the daemon: for this command alone. Input and output are the \
            command's own. Exits with its exit code; 127 when there is no such command, 128 and the signal when a signal \
            ended it.
            """)

    @OptionGroup var options: DaemonOptions

    @OptionGroup var evidence: EvidenceOptions

    @Flag(
        help:
            "Let the command reach the daemon under the providers' real host names (Linux: user and mount namespaces).")
    var intercept = false

    @Flag(help: "With --intercept: run the command in a network in which it can reach only the daemon.")
    var isolate = false

    @Option(
        name: .customLong("share-port"),
        help: ArgumentHelp(
            "With --intercept: a loopback port of this machine, such as a database's, that the command can reach even in an isolated network. May be repeated.",
            valueName: "port"))
    var sharedPorts: [UInt16] = []

    @Option(
        help: ArgumentHelp(
            "Set MCP_SERVER_URL and MCP_ISSUER_URL for the command: a Model Context Protocol server, and the OpenID issuer that protects the server.",
            valueName: "issuer"))
    var mcp: String?

    @Option(
        help: ArgumentHelp(
            "The file for the daemon's log. (default: a file in TMPDIR, kept if the command fails)", valueName: "path"),
        completion: .file())
    var logFile: String?

    @Argument(parsing: .postTerminator, help: "The command and its arguments, after --.")
    var command: [String] = []

    func validate() throws {
        guard !command.isEmpty else {
            throw ValidationError("Give a command after --, such as: understudy exec -- env")
        }
        if intercept, let obstacle = Interception.obstacle { throw ValidationError(obstacle) }
        guard intercept || !isolate else { throw ValidationError("--isolate goes with --intercept.") }
        guard intercept || sharedPorts.isEmpty else { throw ValidationError("--share-port goes with --intercept.") }
        guard sharedPorts.count <= ExecCommand.sharedPortLimit, !sharedPorts.contains(0) else {
            throw ValidationError("--share-port takes ports from 1 to 65535, \(ExecCommand.sharedPortLimit) at most.")
        }
    }

    /// The number of refused requests that are shown if the command of `understudy exec` fails.
    private static let shownRefusals = 5
    private static let sharedPortLimit = 64

    /// Returns the ports of this machine, without duplicates, that the user's command can reach even when it runs in an
    /// isolated network.
    private func portsToShare() throws -> [UInt16] {
        guard sharedPorts.isEmpty else { return Array(Set(sharedPorts)) }
        return try Set(Environment.list("SHARE_PORT")).prefix(ExecCommand.sharedPortLimit).map { text in
            guard let port = UInt16(text), port > 0 else {
                throw ValidationError("UNDERSTUDY_SHARE_PORT is \"\(text)\": expected a port, 1 to 65535")
            }
            return port
        }
    }

    func run() throws {
        let export = try options.exportDirectory()
        let time = RunTime()
        var signals = Signals([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGCHLD])
        // A watcher can only be started while the process has one thread.
        let watcher = Watcher()
        defer { watcher?.dismiss() }
        // Errors at the start are for the user; the later log isn't.
        let surroundings: Surroundings
        do {
            surroundings = try Surroundings(
                options, intercepts: intercept, isolated: isolate, sharedPorts: portsToShare(), watcher: watcher)
        } catch let code as ExitCode {
            throw code
        } catch let misuse as ValidationError {
            throw misuse
        } catch {
            Terminal.complain("understudy: \(error)")
            throw ExitCode(1)
        }
        defer { surroundings.discard() }
        let server = surroundings.server
        defer { server.end() }
        let resource: [(name: String, value: String)]
        do throws(StartError) {
            resource =
                try (mcp ?? Environment.value("MCP")).map { id throws(StartError) in
                    try server.variables(ofResource: id)
                } ?? []
        } catch {
            Terminal.complain("understudy: \(error)")
            throw ExitCode(1)
        }
        let log = try LogFile(at: logFile ?? Environment.value("LOG_FILE"), watcher: watcher)
        // The user should see what has been logged so far, so it is written before the log goes to the file.
        LineWriter.standardError.flush()
        log.redirectStandardError()
        let complaints = LineWriter(log.own)
        defer { complaints.flush() }
        let code: Int32
        do {
            code = try runCommand(surroundings.variables + resource, log, watcher, &signals)
        } catch {
            complaints.write("understudy: \(error)")
            _ = evidence.write(server, of: time, complaints)
            log.discard()
            throw ExitCode(error.exitCode)
        }
        if code != 0 {
            for refusal in server.lastRefusals(ExecCommand.shownRefusals) {
                complaints.write("understudy refused \(refusal)")
            }
            for shortcoming in surroundings.shortcomings { complaints.write("understudy: \(shortcoming)") }
            if server.requestCount == 0 { complaints.write("understudy: \(Silence(way: way))") }
            LineWriter.standardError.flush()
            let place = log.isEmpty ? "" : log.path.map { "; the daemon's log is \($0)" } ?? ""
            complaints.write("understudy: \(command[0]) exited with \(code)\(place)")
        }
        server.stop()
        try options.reportRehearsal(of: server, to: complaints)
        let isExported = DaemonOptions.export(server, to: export, complaints)
        let isWritten = evidence.write(server, of: time, complaints)
        LineWriter.standardError.flush()
        if code == 0 || log.isEmpty { log.discard() }
        throw ExitCode(code == 0 && !(isExported && isWritten) ? 1 : code)
    }

    /// The way in which the command of `understudy exec` reaches the daemon: by the daemon's address, by a proxy, or by
    /// the providers' real host names.
    private var way: Silence.Way {
        intercept ? .interception : (options.usesProxy ? .proxy : .address)
    }

    private func runCommand(
        _ variables: [(name: String, value: String)], _ log: LogFile, _ watcher: Watcher?, _ signals: inout Signals
    ) throws(ChildProcess.LaunchFailure) -> Int32 {
        let terminal = ControllingTerminal()
        _ = understudy_adopt_orphans()
        let process = try ChildProcess(
            command, environment: variables, standardError: log.own, terminal: terminal, watcher: watcher)
        return JobControl(process: process, terminal: terminal).wait(&signals)
    }
}
