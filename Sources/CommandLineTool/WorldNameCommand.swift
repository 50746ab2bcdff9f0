import ArgumentParser
import EmulatorCore

struct WorldNameCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "world-name", abstract: "Make a world's name from any text, such as a test's.",
        discussion: """
            Prints lower-case letters, digits and single hyphens, at most 63: a name that works in a path (/~NAME), in a host \
            name (NAME.localhost) and as the proxy's user name. The same text always gives the same name, and different texts \
            give different ones.
            """)

    @Argument(
        help: "The text. Quote it for the shell when it holds spaces; write -- before one that begins with a hyphen.")
    var text: String

    func run() { Terminal.print(WorldName.made(from: text)) }
}
