import Foundation
import HTTPServer
import JSON
import EmulatorCore
import Recordings
import Understudy

extension FuzzTarget {
    /// Reads seed files. It checks that a seed that `seed check` accepts fits the JSON schema, can be merged into the
    /// built-in seed, and can be used by a daemon.
    static let seeds = FuzzTarget("seeds", maximumLength: 8192) { bytes in
        guard let value = try? JSONValue(parsing: bytes) else { return }
        let format = Providers.seedFormat
        let issues = format.schema.issues(in: LocatedJSON(value, file: "seed"))
        for issue in issues {
            try require(issue.path.hasPrefix("$"), "an issue at no place: \(issue)")
            try require(issue.message.utf8.count < 16_384, "an issue of \(issue.message.utf8.count) bytes")
        }
        guard issues.isEmpty else { return }
        if let misfit = SchemaCheck.misfit(of: value, with: format.jsonSchema, at: "$") {
            throw Finding("the check takes what the schema refuses: \(misfit)")
        }
        let completed = format.schema.completed(value)
        try require(
            format.schema.completed(completed).text == completed.text,
            "defaults that need defaults: \(completed.text)")
        let source = SeedSource(name: "seed", bytes: bytes) { _ in throw Finding("no file") }
        do throws(Issues) { _ = try Seed([source], format: format) } catch {
            try require(!error.all.isEmpty, "refused without an issue")
            return
        }
        try run(value)
    }

    private static func run(_ value: JSONValue) throws {
        let text = value.text
        guard let seed = try? SeedInput.load([.builtIn, .json(text)]) else { return }
        let dispatcher = try Composition.dispatcher(
            seed, WorldRegistry(seed: seed, generator: FuzzDaemon.keyGenerator), RunningServer.Options())
        for path in ["/_understudy/v1/accounts", "/_understudy/v1/faults", "/_understudy/v1/outcomes", "/"] {
            let request = Request(method: "GET", target: path, headers: [(name: "Host", value: "localhost")])
            guard case .now(let response) = dispatcher.handle(request) else { continue }
            try AnswerRules.check(response, to: request)
            try require(response.status == 200, "\(path) is refused with this seed: \(text)")
        }
    }
}

/// A check by JSON Schema, with the keywords that the seed's schema uses:
/// <https://json-schema.org/draft/2020-12/schema>.
enum SchemaCheck {
    /// Says where and why `value` doesn't fit the schema. Returns `nil` if it fits.
    static func misfit(of value: JSONValue, with schema: JSONValue, at path: String) -> String? {
        if let choices = schema["anyOf"]?.array {
            let fits = choices.contains { misfit(of: value, with: $0, at: path) == nil }
            return fits ? nil : "\(path): \(value.text) is none of the choices"
        }
        if let names = schema["enum"]?.array {
            return names.contains(value) ? nil : "\(path): \(value.text) isn't a name"
        }
        guard let type = schema["type"]?.string else { return nil }
        switch (type, value) {
        case ("null", .null), ("boolean", .bool): return nil
        case ("string", .string(let text)):
            guard let pattern = schema["pattern"]?.string, let rule = try? NSRegularExpression(pattern: pattern) else {
                return nil
            }
            let whole = NSRange(text.startIndex..., in: text)
            return rule.firstMatch(in: text, range: whole) == nil ? "\(path): \(value.text) isn't \(pattern)" : nil
        case ("integer", .integer), ("integer", .number), ("number", .integer), ("number", .number):
            guard let number = value.number, number >= schema["minimum"]?.number ?? -.infinity,
                number <= schema["maximum"]?.number ?? .infinity
            else { return "\(path): \(value.text) is out of range" }
            return nil
        case ("array", .array(let items)):
            if schema["uniqueItems"]?.bool == true, Set(items.map(\.text)).count < items.count {
                return "\(path): not unique"
            }
            for (place, item) in items.enumerated() {
                if let found = misfit(of: item, with: schema["items"] ?? [:], at: "\(path)[\(place)]") { return found }
            }
            return nil
        case ("object", .object(let object)): return misfit(of: object, with: schema, at: path)
        default: return "\(path): \(value.kindName) where \(type) is expected"
        }
    }

    private static func misfit(of object: JSONObject, with schema: JSONValue, at path: String) -> String? {
        for name in schema["required"]?.array ?? [] where object[name.string ?? ""] == nil {
            return "\(path): \(name.text) is missing"
        }
        for (key, value) in object.members {
            let own = schema["properties"]?[key]
            guard let rule = own ?? schema["additionalProperties"], rule != false else {
                return "\(path): unknown key \(key)"
            }
            if let found = misfit(of: value, with: rule, at: "\(path).\(key)") { return found }
        }
        return nil
    }
}
