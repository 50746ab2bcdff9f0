import JSON
import EmulatorCore

/// The scenarios that are built in: `seed-data/scenarios/*.json`, embedded.
public enum BuiltInScenarios {
    /// In the order of their names. A test reads each of them, so reading can't fail here.
    static var all: [Scenario] {
        let folder = "scenarios/"
        return EmbeddedFiles.all.filter { $0.path.hasPrefix(folder) }.compactMap { file in
            let name = String(file.path.dropFirst(folder.count).dropLast(".json".count))
            return try? Scenario(name: name, file.text.withUTF8Buffer { Array($0) })
        }
    }

    /// A page of Markdown with a section for each.
    public static var documentation: String {
        var page = """
            # Scenarios

            Ready-made situations, each a list of orders to the control API. Start one in a world with
            `POST /_understudy/v1/scenarios/NAME`, or in every world with `understudy serve --scenario NAME`; `POST reset` ends
            it. A file of your own in the same form works, too: `--scenario PATH.json`. The same texts are served as pages at
            `/_understudy/v1/scenarios/NAME`.

            This file is printed by `understudy seed scenarios`.

            """
        for scenario in all {
            page += "\n## \(scenario.title)\n\n`\(scenario.name)`\n\n"
            page += "**What happens.** \(scenario.happens)\n\n**What a correct client does.** \(scenario.advice)\n"
            guard !scenario.parameters.isEmpty else { continue }
            page += "\n| member of the body | what it is | default |\n|---|---|---|\n"
            for parameter in scenario.parameters {
                page += "| `\(parameter.name)` | \(parameter.about) | `\(parameter.fallback)` |\n"
            }
        }
        return page
    }

    /// The scenario of this name, or the one in a file: a text with a `/`, or with `.json` at its end, is a path.
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
