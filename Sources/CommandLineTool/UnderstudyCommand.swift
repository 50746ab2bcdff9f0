import ArgumentParser
import JSON
import Platform
import Understudy

@main
struct UnderstudyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "understudy", abstract: "A stand-in identity provider, for tests only.",
        discussion: "Every option of serve has an environment variable: --log-level is UNDERSTUDY_LOG_LEVEL, and so "
            + "on. The command line takes precedence.\n\nThe exit code is 0 for success, 1 with a line that says what "
            + "is wrong, or 64 for a wrong command line; exec exits with its command's code.",
        version: Version.current,
        subcommands: [
            ServeCommand.self, ExecCommand.self, HealthCommand.self, SeedCommand.self, AuthorityCommand.self,
            HostsCommand.self,
            ExplainCommand.self, ChangesCommand.self, EvidenceCommand.self, CompareCommand.self,
            ClientSecretCommand.self,
            SnapshotCommand.self,
            ModelContextCommand.self,
            CompletionCommand.self, WorldNameCommand.self,
        ],
        defaultSubcommand: nil)

    static func main() {
        Terminal.occupyStandardDescriptors()
        var count: Int32 = 0
        let values = understudy_arguments(&count)
        // On Linux, Swift reads its list of arguments from /proc, and it is empty if /proc isn't mounted.
        let arguments =
            values.map { values in (1..<max(Int(count), 1)).compactMap { values[$0].map { String(cString: $0) } } }
            ?? Array(CommandLine.arguments.dropFirst())
        if let complaint = misspelling(in: arguments) { exit(withError: ValidationError(complaint)) }
        self.main(DaemonOptions.completed(arguments))
    }

    /// Returns a message that suggests the right name for a misspelled subcommand; `nil` if none was misspelled.
    private static func misspelling(in arguments: [String]) -> String? {
        var known = configuration.subcommands
        for argument in arguments {
            let names = known.map { command in command.configuration.commandName ?? "" }
            guard let place = names.firstIndex(of: argument) else {
                let hint = Spelling.hint(argument, among: names)
                return hint.isEmpty ? nil : "There is no command \"\(argument)\"\(hint)"
            }
            known = known[place].configuration.subcommands
        }
        return nil
    }
}

struct CompletionCommand: ParsableCommand {
    enum Shell: String, CaseIterable, ExpressibleByArgument {
        case bash
        case zsh
        case fish

        /// The user's shell, by the file name in the environment variable `SHELL`.
        static var own: Shell? {
            Environment.variable("SHELL")?.split(separator: "/").last.flatMap { Shell(rawValue: String($0)) }
        }

        var completionShell: CompletionShell {
            switch self {
            case .bash: .bash
            case .zsh: .zsh
            case .fish: .fish
            }
        }
    }

    static let configuration = CommandConfiguration(
        commandName: "completion", abstract: "Print a completion script for a shell, such as bash.",
        discussion: """
            For bash, in ~/.bashrc: source <(understudy completion bash). For zsh, in ~/.zshrc after compinit: \
            source <(understudy completion zsh). For fish: understudy completion fish > \
            ~/.config/fish/completions/understudy.fish.
            """)

    @Argument(help: "The shell. (default: the shell in SHELL)")
    var shell: Shell?

    func run() throws {
        guard let shell = shell ?? Shell.own else {
            throw ValidationError("SHELL names no supported shell: give bash, zsh or fish.")
        }
        Terminal.print(UnderstudyCommand.completionScript(for: shell.completionShell))
    }
}
