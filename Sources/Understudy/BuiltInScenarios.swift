import JSON
import EmulatorCore

/// The built-in scenarios (ready-made situations such as a provider's outage), from the embedded files
/// `seed-data/scenarios/*.json`.
public enum BuiltInScenarios {
    static var all: [Scenario] {
        let folder = "scenarios/"
        return EmbeddedFiles.all.filter { $0.path.hasPrefix(folder) }.compactMap { file in
            let name = String(file.path.dropFirst(folder.count).dropLast(".json".count))
            return try? Scenario(name: name, file.text.withUTF8Buffer { Array($0) })
        }
    }

    /// The documentation of the built-in scenarios (ready-made situations for tests): a page in Markdown with a section
    /// for each.
    public static var documentation: String {
        var page = """
            # Scenarios

            Ready-made situations for tests, each a list of calls of the control API. Start one in a test world with
            `POST /_understudy/v1/scenarios/NAME`, or in every test world with `understudy serve --scenario NAME`; give values for its
            parameters as in `--scenario NAME,member=value`. `DELETE /_understudy/v1/scenarios/NAME` ends it: the faults that it
            injected, the sign-in results that it chose and its change of the clock are undone. Its other changes stay, such as a user
            that it added. `POST reset` undoes these, too, except for changes of the test world's seed: run a scenario that changes
            the seed in a separate test world.
            Starting a scenario a second time ends it first, so that nothing adds up. A file of your own in the same form works, too:
            `--scenario PATH.json`. The daemon serves this documentation as a page for each scenario, at
            `/_understudy/v1/scenarios/NAME`.

            This file is printed by `understudy seed scenarios`.

            """
        for scenario in all {
            page += "\n## \(scenario.title)\n\n`\(scenario.name)`\n\n"
            page += "**What happens.** \(scenario.happens)\n\n**What a correct client does.** \(scenario.advice)\n"
            if !scenario.startsWorlds {
                page +=
                    "\nNo test world can start with this scenario, because it needs users who have signed in before.\n"
            }
            guard !scenario.parameters.isEmpty else { continue }
            page += "\n| member of the body | what it is | default |\n|---|---|---|\n"
            for parameter in scenario.parameters {
                page += "| `\(parameter.name)` | \(parameter.about) | `\(parameter.fallback)` |\n"
            }
        }
        return page
    }

    /// Reads a value of the option `--scenario`: a scenario's name or file, and after commas the values of its
    /// parameters, such as `slow-provider,host=api.github.com,delay=2s`.
    static func choose(_ text: String) throws(Issues) -> ChosenScenario {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        let values = parts.dropFirst().drop { !$0.contains("=") }
        // The file's name may contain commas.
        let scenario = try find(parts.prefix(parts.count - values.count).joined(separator: ","))
        guard scenario.startsWorlds else {
            throw Issues(
                file: text,
                "no test world can start with this scenario, because it needs earlier sign-ins of users: run it "
                    + "with POST /_understudy/v1/scenarios/\(scenario.name)")
        }
        var members = JSONObject()
        for value in values {
            let place = value.firstIndex(of: "=") ?? value.endIndex
            members[String(value[..<place])] = .string(String(value[place...].dropFirst()))
        }
        do throws(Scenario.Failure) { return try ChosenScenario(scenario, values: members) } catch {
            throw Issues(file: text, error.description)
        }
    }

    /// Returns the scenario (a ready-made situation) that `text` names. A text with a `/`, or with `.json` at its end,
    /// is the path of the scenario's file.
    static func find(_ text: String) throws(Issues) -> Scenario {
        guard text.contains("/") || text.hasSuffix(".json") else {
            let all = all
            guard let scenario = all.first(where: { $0.name == text }) else {
                let hint = Spelling.hint(text, among: all.map(\.name))
                throw Issues(
                    file: text,
                    "no such scenario" + (hint.isEmpty ? ": \(all.map(\.name).joined(separator: ", "))" : hint))
            }
            return scenario
        }
        let bytes: [UInt8]
        do { bytes = try File.read(text) } catch { throw Issues(file: text, "the file can't be read: \(error.reason)") }
        let file = text.split(separator: "/").last ?? Substring(text)
        return try Scenario(
            name: String(file.hasSuffix(".json") ? file.dropLast(".json".count) : file), bytes, file: text)
    }
}
