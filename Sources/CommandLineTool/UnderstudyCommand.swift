import ArgumentParser
import Understudy

@main
struct UnderstudyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "understudy", abstract: "A stand-in identity provider, for tests only.",
        discussion: "Every option has an environment variable: --log-level is UNDERSTUDY_LOG_LEVEL, and so on. The "
            + "command line wins.",
        version: Understudy.version,
        subcommands: [
            ServeCommand.self, ExecCommand.self, SeedCommand.self, AuthorityCommand.self, HostsCommand.self,
            ExplainCommand.self,
        ],
        defaultSubcommand: nil)
}
