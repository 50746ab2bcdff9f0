import ArgumentParser
import EmulatorCore
import Time
import Understudy

struct ClientSecretCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "client-secret",
        abstract: "Print a client secret for Sign in with Apple: a JWT for an App ID or a Services ID.",
        discussion: "The secret is signed (ES256) with a private key of the client's team, from the seed file.")

    @Option(
        name: .customLong("seed"),
        help: ArgumentHelp(
            "A seed file, or a directory of seed files. May be repeated. (default: the built-in seed)",
            valueName: "path"),
        completion: .file())
    var seeds: [String] = []

    @Option(
        help: ArgumentHelp(
            "How long the secret is valid: 30s, 10m, 1h, 30d, at most 15777000s. With 0s or less (--expires-in=-1h), the secret has expired.",
            valueName: "time"),
        transform: ClientSecretCommand.timeSpan)
    var expiresIn: TimeSpan = .hours(1)

    @Option(
        help: ArgumentHelp(
            "The signing key's ID. (default: the first key whose private half is in the seed)", valueName: "id"))
    var keyID: String?

    @Argument(help: "The client's ID.")
    var client: String

    private static func timeSpan(_ argument: String) throws -> TimeSpan {
        guard let span = TimeSpan(argument) else {
            throw ValidationError("expected a duration such as 30s, 10m, 1h or 30d")
        }
        return span
    }

    func run() throws {
        let paths = seeds.isEmpty ? Environment.list("SEED") : seeds
        let request = ClientSecretRequest(
            client: client, keyID: keyID, lifetime: expiresIn, now: MachineClock.now)
        do {
            Terminal.print(
                try ClientSecrets.sign(request, seeds: paths.isEmpty ? [.builtIn] : paths.map { .path($0) }))
        } catch let error as StartError {
            Terminal.complain("understudy: \(error)")
            throw ExitCode(1)
        }
    }
}

struct WorldNameCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "world-name", abstract: "Turn any text, such as a test's name, into a test world's name.",
        discussion: """
            Prints lower-case letters, digits and single hyphens, at most 63: a name that works in a path (/~NAME), in a host \
            name (NAME.localhost) and as the proxy's user name. The same text always gives the same name, and different texts \
            give different ones.
            """)

    @Argument(
        help: "The text. In a shell, quote a text with spaces, and write -- before a text that begins with a hyphen.")
    var text: String

    func run() { Terminal.print(WorldName.made(from: text)) }
}
