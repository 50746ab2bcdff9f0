import ArgumentParser
import Glibc
import Understudy

struct ExecCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exec", abstract: "Start the daemon for one command, on a free port, and stop it afterwards.",
        usage: "understudy exec [<serve's options>] [--intercept] [--log-file <path>] -- <command> [<argument> ...]",
        discussion: """
            The command finds the daemon in its environment: UNDERSTUDY_URL, UNDERSTUDY_CONTROL_URL, \
            FIREBASE_AUTH_EMULATOR_HOST, APPLE_BASE_URL, GITHUB_BASE_URL, GITHUB_API_URL, GOOGLE_BASE_URL, \
            GOOGLE_TOKEN_URL, FACEBOOK_BASE_URL and FACEBOOK_GRAPH_URL. With --proxy-port it gets the proxy instead, and with \
            --intercept the real host names themselves lead to the daemon: for this command alone. Input and output are the \
            command's own. Exits with its exit code; 127 when there is no such command, 128 and the signal when a signal \
            ended it.
            """)

    @OptionGroup var options: DaemonOptions

    @Flag(help: "Let the command see the daemon under the real host names (Linux: user and mount namespaces).")
    var intercept = false

    @Flag(help: "With --intercept: a network in which there is nothing but the daemon.")
    var isolate = false

    @Option(
        help: ArgumentHelp(
            "Where the daemon's log goes. (default: a file in TMPDIR, kept when the command fails)", valueName: "path"))
    var logFile: String?

    @Argument(parsing: .postTerminator, help: "The command and its arguments, after --.")
    var command: [String] = []

    func validate() throws {
        guard !command.isEmpty else {
            throw ValidationError("Give a command after --, such as: understudy exec -- env")
        }
        guard intercept || !isolate else { throw ValidationError("--isolate goes with --intercept.") }
    }

    /// How many refusals are shown when the command fails.
    private static let shownRefusals = 5

    func run() throws {
        var signals = Signals([SIGINT, SIGTERM, SIGHUP, SIGCHLD])
        // Why it doesn't start is the person's to see; what it says later isn't.
        let surroundings: Surroundings
        do { surroundings = try Surroundings(options, intercepts: intercept, isolated: isolate) } catch let code
            as ExitCode
        {
            throw code
        } catch {
            Terminal.complain("understudy: \(error)")
            throw ExitCode(1)
        }
        let server = surroundings.server
        let log = try LogFile(at: logFile ?? Environment.value("LOG_FILE"))
        log.takeStandardError()
        let process: ChildProcess
        do {
            process = try ChildProcess(
                command, environment: surroundings.variables, standardError: log.own)
        } catch {
            server.stop()
            log.complain("understudy: \(error)")
            log.discard()
            surroundings.discard()
            throw ExitCode(error.exitCode)
        }
        let code = wait(for: process, &signals)
        let refusals = code == 0 ? [] : server.lastRefusals(ExecCommand.shownRefusals)
        server.stop()
        if code != 0 {
            for refusal in refusals { log.complain("understudy refused \(refusal)") }
            let place = log.path.map { "; the daemon's log is \($0)" } ?? ""
            log.complain("understudy: \(command[0]) exited with \(code)\(place)")
        } else {
            log.discard()
        }
        surroundings.discard()
        throw ExitCode(code)
    }

    /// Hands signals on, a second one as SIGKILL, until the command has ended.
    private func wait(for process: ChildProcess, _ signals: inout Signals) -> Int32 {
        var asked = 0
        while true {
            switch signals.wait() {
            case SIGCHLD:
                if let code = process.exitCode { return code }
            // A terminal sends an interrupt to the command, too.
            case SIGINT where isatty(STDIN_FILENO) == 1: continue
            case let signal:
                process.send(asked == 0 ? signal : SIGKILL)
                asked += 1
            }
        }
    }
}
