import ArgumentParser
import Understudy

struct SeedCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "seed", abstract: "Create a seed, check seed files, or print the fields that seed files can have.",
        subcommands: [SeedInitCommand.self, Check.self, Schema.self, Scenarios.self])

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check", abstract: "Validate seed files; exits with 1 and a list of all errors.")

        @Argument(help: "Seed files, or directories of seed files; merged in the given order.")
        var paths: [String]

        func run() throws {
            let faults = SeedInput.faults(in: paths.map { .path($0) })
            for fault in faults { Terminal.complain(fault) }
            if !faults.isEmpty { throw ExitCode(1) }
            Terminal.print("ok")
        }
    }

    struct Scenarios: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "scenarios", abstract: "Print the built-in test scenarios as Markdown.")

        func run() { Terminal.print(String(BuiltInScenarios.documentation.dropLast())) }
    }

    struct Schema: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "schema", abstract: "Print the JSON Schema (2020-12) of a seed file.")

        @Flag(
            help:
                "Print a readable reference instead of the schema: every field, its value, its default and its meaning."
        )
        var markdown = false

        func run() { Terminal.print(String((markdown ? SeedInput.reference : SeedInput.schema).dropLast())) }
    }
}

struct SeedInitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract:
            "Create a seed to start with: seed.json, its schema, test keys, and a README that explains the files.",
        discussion: """
            With --from, the seed has the clients that an app's own configuration names, so that the app works as it is. \
            Secrets in it go to secrets.json, which a .gitignore keeps out of the repository.
            """)

    @Option(
        help: ArgumentHelp(
            "An app's configuration to create the seed from: GoogleService-Info.plist, google-services.json, a web app's Firebase configuration in JSON, or an .env file. May be repeated.",
            valueName: "file"), completion: .file())
    var from: [String] = []

    @Flag(help: "Overwrite existing files.")
    var force = false

    @Argument(help: "The directory to write to.")
    var directory = "understudy-seed"

    func run() throws {
        do {
            let start = try SeedStart(from: from)
            try start.write(to: directory, replacing: force)
            for file in start.files { Terminal.print("\(directory)/\(file.path)") }
            for warning in start.warnings { Terminal.complain("WARNING: \(warning)") }
            if start.hasSecrets {
                Terminal.complain(
                    "WARNING: \(directory)/secrets.json contains secrets from \(from.joined(separator: ", ")). Don't commit real secrets to a repository."
                )
            }
            Terminal.complain("Try the seed: understudy serve --seed \(directory)")
        } catch let error as StartError {
            Terminal.complain("understudy: \(error)")
            throw ExitCode(1)
        }
    }
}
