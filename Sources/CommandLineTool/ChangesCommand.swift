import ArgumentParser
import EmulatorCore
import JSON
import Understudy

struct ChangesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes", abstract: "List how the providers' behaviour differs between two days.",
        discussion: "\"understudy serve --as-of DAY\" behaves as the providers did on that day.")

    @Option(
        help: ArgumentHelp(
            "List changes of the providers' behaviour after this day, such as 2026-04-01.", valueName: "day"))
    var from: String

    @Option(
        help: ArgumentHelp(
            "List changes up to this day; \"next\": announced changes, too. (default: today)", valueName: "day"))
    var to: String?

    @Flag(help: "Print JSON.")
    var json = false

    /// Parses a day from a command-line option. `option` is the option's name, for error messages.
    static func day(_ text: String, from option: String) throws -> Day {
        guard let day = Day(text) else {
            throw ValidationError("\(option): \"\(text)\" isn't a day: expected \(TextRule.day.about).")
        }
        return day
    }

    private func days() throws -> (from: Day, to: Day) {
        let from = try ChangesCommand.day(from, from: "--from")
        let to = try to.map { try ChangesCommand.day($0, from: "--to") } ?? .today
        guard from <= to else {
            let end =
                self.to == nil
                ? "the latest day for which this version knows how the providers behave" : "the day of --to"
            throw ValidationError("--from: \(from) is after \(to), \(end).")
        }
        return (from, to)
    }

    func validate() throws { _ = try days() }

    func run() throws {
        let (from, to) = try days()
        let found = Providers.changes.map { provider, changes in
            (
                provider: provider,
                steps: changes.map { (change: $0, steps: $0.steps(after: from, upTo: to)) }.filter { !$0.steps.isEmpty }
            )
        }.filter { !$0.steps.isEmpty }
        if json {
            let all = found.flatMap { provider, changes in
                changes.map { ChangesCommand.document(provider, $0.change, $0.steps, from, to) }
            }
            return Terminal.print(
                JSONValue.object(
                    JSONObject([
                        ("from", .string(from.description)), ("to", .string(to.description)), ("changes", .array(all)),
                    ])
                ).indented())
        }
        if found.isEmpty {
            Terminal.print("no known change of the providers' behaviour in the days from \(from) to \(to)")
        }
        for (provider, changes) in found {
            Terminal.print(provider)
            for (change, steps) in changes {
                let days = steps.map { "\($0.begins ? "from" : "until") \($0.day)" }.joined(separator: ", ")
                Terminal.print("  \(days): \(change.summary)" + (change.caveat.map { " (\($0))" } ?? ""))
                Terminal.print("    \(change.evidence)")
            }
        }
    }

    private static func document(
        _ provider: String, _ change: Change, _ steps: [(day: Day, begins: Bool)], _ from: Day, _ to: Day
    ) -> JSONValue {
        var document = JSONObject([
            ("provider", .string(provider)), ("name", .string(change.name)), ("summary", .string(change.summary)),
            ("before", .bool(change.isInForce(on: from))), ("after", .bool(change.isInForce(on: to))),
            (
                "steps",
                .array(
                    steps.map {
                        ["day": .string($0.day.description), "change": $0.begins ? "begins" : "ends"]
                    })
            ), ("evidence", .string(change.evidence)),
        ])
        document["caveat"] = change.caveat.map { .string($0) }
        return .object(document)
    }
}
