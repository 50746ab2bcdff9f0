import ArgumentParser
import Understudy

struct SeedCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "seed", abstract: "Begin a seed, check seed files, or print what they can hold.",
        subcommands: [SeedInitCommand.self, Check.self, Schema.self, Scenarios.self])

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check", abstract: "Validate seed files; exits 1 with every fault.")

        @Argument(help: "Seed files, or directories of them; merged in this order.")
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
            commandName: "scenarios", abstract: "Print the built-in scenarios, as Markdown.")

        func run() { Terminal.print(String(BuiltInScenarios.documentation.dropLast())) }
    }

    struct Schema: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "schema", abstract: "Print the JSON Schema (2020-12) of a seed file.")

        @Flag(help: "Print a reference for people instead: every field, its value, its default and its meaning.")
        var markdown = false

        func run() { Terminal.print(String((markdown ? SeedInput.reference : SeedInput.schema).dropLast())) }
    }
}
