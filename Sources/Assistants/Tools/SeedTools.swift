import EmulatorCore
import JSON
import ModelContextProtocol
import Understudy

// These tools read and change a world's seed: people, clients, projects, keys.

extension DaemonTools {
    private struct Reading: SchemaObject {
        let path: String?
        let world: String?

        init(_ fields: inout Fields) {
            path = fields.optional(
                "path", .text(.nonEmpty),
                "Only a part, such as \"accounts\", \"apple.teams\" or \"firebase.projects.0\".")
            world = WorldChoice.declare(&fields)
        }
    }

    var seed: Tool {
        let schema = Schema.answer([
            .required("path", .string, "The part's path."), .required("value", .any, "The part."),
        ])
        return Tool(
            "read_seed", title: "The world's seed", .reads,
            "What the world began as: people, and each provider's clients with their IDs, secrets and redirect URIs, to compare with "
                + "an app's configuration. Keys are left out. Read a part by its path; long lists are cut.",
            arguments: Reading.self, answers: schema
        ) { reading, _ throws(ToolFailure) in
            var part = try daemon.call("GET", "seed", about: .world(reading.world))
            var place = "$"
            for step in reading.path?.split(separator: ".").map(String.init) ?? [] where step != "$" {
                guard let next = DaemonTools.part(of: part, step) else {
                    let known = part.object?.keys ?? (part.array ?? []).indices.map { String($0) }
                    throw ToolFailure(
                        "the seed has nothing at \(place).\(step); there: \(known.prefix(40).joined(separator: ", "))")
                }
                part = next
                place += ".\(step)"
            }
            let shown = DaemonTools.withoutKeys(part)
            return .object(try AnswerSize.fitted(JSONObject([("path", .string(place)), ("value", shown)]), schema))
        }
    }

    /// Returns an object's member named `step`, or an array's element at the index `step`; `nil` if there is none.
    private static func part(of value: JSONValue, _ step: String) -> JSONValue? {
        if let items = value.array { return Int(step).flatMap { items.indices.contains($0) ? items[$0] : nil } }
        return value[step]
    }

    private static func withoutKeys(_ value: JSONValue) -> JSONValue {
        switch value {
        case .string(let text) where text.contains("-----BEGIN "):
            return .string("(a key in PEM, \(text.utf8.count) bytes)")
        case .array(let items): return .array(items.map { withoutKeys($0) })
        case .object(let object):
            return .object(JSONObject(object.members.map { ($0.key, withoutKeys($0.value)) }))
        default: return value
        }
    }

    private enum Way: String, CaseIterable {
        case merge
        case replace
    }

    private struct Change: SchemaObject {
        let seed: JSONValue
        let way: Way
        let checksOnly: Bool
        let world: String?

        init(_ fields: inout Fields) {
            let members = fields("seed", .map(of: .any), "What a seed file would hold.")
            seed = .object(JSONObject(members.map { ($0.name, $0.value) }))
            way = fields(
                "mode", .choice(Way.self), default: .merge,
                "merge adds to the seed that the world has, and the world goes on; replace begins the world afresh.")
            checksOnly = fields("check", .boolean, default: false, "Only list the seed's errors.")
            world = WorldChoice.declare(&fields)
        }
    }

    var changeSeed: Tool {
        let changed = DeclaredCall("POST", "seed").answer
        let checked = Schema.members([.required("sound", .boolean, "With check: always true.")])
        return Tool(
            "change_seed", title: "Change the world's seed", .changes,
            "Gives the world clients, redirect URIs, people, projects as a seed file has them, for example {\"github\": {\"oauthApps\": "
                + "[{\"clientID\": \"my-app\", …}]}}. Lists are merged by the elements' IDs. With check, nothing changes. Every field "
                + "is on the page seed of the documentation, how files are merged on the page seeds.",
            arguments: Change.self, answers: Schema.oneOf([changed, checked]).answered
        ) { change, _ throws(ToolFailure) in
            if change.checksOnly { return try check(change) }
            let method = change.way == .merge ? "POST" : "PUT"
            return try daemon.answer(method, "seed", body: change.seed, about: .world(change.world), as: changed)
        }
    }

    /// Checks a seed as the command `understudy seed check` does. A seed that is to be merged is checked together with
    /// the test world's present seed.
    private func check(_ change: Change) throws(ToolFailure) -> ToolAnswer {
        var sources: [SeedSource] = []
        if change.way == .merge {
            let present = try daemon.call("GET", "seed", about: .world(change.world))
            sources = [SeedSource(name: "the world's seed", sent: present.serialized(), isChecked: true)]
        }
        sources.append(SeedSource(name: "seed", sent: change.seed.serialized()))
        do throws(Issues) { _ = try SeedInput.checked(sources) } catch { throw ToolFailure(error.description) }
        return .object(JSONObject([("sound", true)]))
    }
}
