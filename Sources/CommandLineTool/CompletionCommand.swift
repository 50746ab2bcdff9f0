import ArgumentParser

struct CompletionCommand: ParsableCommand {
    enum Shell: String, CaseIterable, ExpressibleByArgument {
        case bash
        case zsh
        case fish

        /// The user's shell: the file's name in `SHELL`.
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
        commandName: "completion", abstract: "Print a script with which a shell completes the command's words.",
        discussion: """
            For bash, in ~/.bashrc: source <(understudy completion bash). For zsh, in ~/.zshrc after compinit: \
            source <(understudy completion zsh). For fish: understudy completion fish > \
            ~/.config/fish/completions/understudy.fish.
            """)

    @Argument(help: "The shell. (default: the one in SHELL)")
    var shell: Shell?

    func run() throws {
        guard let shell = shell ?? Shell.own else {
            throw ValidationError("SHELL names no shell that is known here: say bash, zsh or fish.")
        }
        Terminal.print(UnderstudyCommand.completionScript(for: shell.completionShell))
    }
}
