import EmulatorCore
import JSON

extension SetUpGuide {
    /// Reads guides that are written in JSON. A name in braces in a text stands for a value: `{accounts.google.com}` for
    /// the address of that host, others for those in `values`.
    package static func read(
        _ text: StaticString, at place: SetUpPlace, _ values: [String: String] = [:]
    ) -> [SetUpGuide] {
        ((try? JSONValue(parsing: Array("\(text)".utf8)))?.array ?? []).map { guide in
            let fill = { (value: JSONValue?) in filled(value, at: place, values) }
            let arrivals = (guide["arrivals"]?.array ?? []).compactMap(\.string)
            return SetUpGuide(
                id: fill(guide["id"]), title: fill(guide["title"]), about: fill(guide["about"]),
                steps: (guide["steps"]?.array ?? []).map { step in
                    guard let members = step["values"]?.object?.members else {
                        return Step(fill(step["text"]), step["code"].map(fill))
                    }
                    return Step(fill(step["text"]), values: members.map { (name: $0.key, value: fill($0.value)) })
                },
                libraries: (guide["libraries"]?.object?.members ?? []).map { Library($0.key, fill($0.value)) },
                document: fill(guide["document"])
            ) { exchange in
                arrivals.contains { $0.hasPrefix("/") ? $0 == exchange.path : $0 == exchange.host }
            }
        }
    }

    /// Returns a text, or a list of lines, with its values.
    private static func filled(_ value: JSONValue?, at place: SetUpPlace, _ values: [String: String]) -> String {
        let lines = value?.array?.compactMap(\.string) ?? [value?.string ?? ""]
        let parts = lines.joined(separator: "\n").split(separator: "{", omittingEmptySubsequences: false)
        return parts.dropFirst().reduce(into: String(parts[0])) { text, part in
            let name = part.prefix { $0 != "}" }
            let isHost = name.contains(".") && name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "." }
            let value = values[String(name)] ?? (isHost ? place.url(String(name)) : nil)
            text += value.map { $0 + part.dropFirst(name.count + 1) } ?? "{\(part)"
        }
    }
}

extension ShellWord {
    /// Returns the command that posts JSON.
    package static func post(_ url: String, _ body: JSONValue) -> String {
        "curl \(quoted(url)) -d \(quoted(body.text))"
    }
}
