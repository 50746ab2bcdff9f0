import HTTPServer
import JSON
import Text
import Worlds

/// A ready-made test situation: calls that are made one after the other to set it up, and a description of what a
/// tester will see.
package struct Scenario: Sendable {
    /// A parameter of a scenario. The scenario's calls refer to its value as `{name}`.
    package struct Parameter: Sendable {
        package let name: String
        package let fallback: String
        package let about: String
    }

    /// A call that a scenario makes, either of the control API or of an endpoint of a provider.
    package struct Call: SchemaObject {
        package let method: String
        /// The target of a scenario's call: a path below the control API such as `faults`, or a provider's host with a
        /// path such as `//api.github.com/user`.
        package let target: String
        package let headers: [(name: String, value: String)]
        package let body: JSONValue?
        /// The names of errors that the scenario ignores when this call returns them.
        let accepted: [String]

        package init(_ fields: inout Fields) {
            let words = fields("call", .text(Call.rule), "Method and call.").split(separator: " ", maxSplits: 1)
            method = words.first.map(String.init) ?? ""
            target = words.count > 1 ? String(words[1]) : ""
            headers = fields.map("headers", of: .text(.any), "Headers of the call.")
            body = fields.optional("body", .any, "The body, as JSON.")
            accepted = fields(
                "accept", .set(of: .text(.nonEmpty)), default: [],
                "The scenario goes on if this call fails with one of these error codes.")
        }

        private static let rule = TextRule(
            about:
                "an HTTP method and a path outside scenarios/, such as \"POST faults\" or \"GET //api.github.com/user\"",
            pattern: "^(GET|POST|PATCH|DELETE) (?!scenarios/)\\S+$"
        ) { text in
            let words = text.split(separator: " ", omittingEmptySubsequences: false)
            return words.count == 2 && ["GET", "POST", "PATCH", "DELETE"].contains(words[0]) && !words[1].isEmpty
                // A scenario that plays itself would never end.
                && !words[1].hasPrefix("scenarios/")
        }
    }

    /// The contents of the JSON file that describes a scenario.
    private struct Contents: SchemaObject {
        struct Parameter: SchemaObject {
            let fallback: String
            let about: String

            init(_ fields: inout Fields) {
                fallback = fields("default", .text(.any), "The default value.")
                about = fields("about", .text(.nonEmpty), "The meaning of the scenario's parameter.")
            }
        }

        let title: String
        let happens: String
        let advice: String
        let startsWorlds: Bool
        let parameters: [(name: String, value: Parameter)]
        let calls: [Call]

        init(_ fields: inout Fields) {
            title = fields("title", .text(.nonEmpty), "The scenario's title.")
            happens = fields("happens", .text(.nonEmpty), "The situation that the client has to handle.")
            advice = fields("advice", .text(.nonEmpty), "How a correct client reacts to the situation.")
            startsWorlds = fields(
                "startsWorlds", .boolean, default: true,
                "Whether a test world can start with this scenario. Some scenarios need earlier sign-ins.")
            parameters = fields.map(
                "parameters", of: .object(Parameter.self), "Values that the calls contain as {name}.")
            calls = fields("orders", .sequence(of: Call.self), "The calls, in order.")
        }
    }

    /// The schema of the JSON that describes a scenario: the scenario's name, and then the members of its file.
    package static let schema = Schema.members(
        "Scenario",
        [.required("name", .string, "The scenario's name.")]
            + Contents.schema.fields.map { field in
                field.isRequired || field.fallback != nil
                    ? .required(field.name, field.schema, field.about) : field
            })

    /// The reason why a scenario can't be started.
    package struct Failure: Error, Sendable, CustomStringConvertible {
        package let description: String
        /// The response to the scenario's call that was refused; `nil` if the scenario failed for another reason.
        package let response: Response?
    }

    /// The text that a recorded request has as its `parent` if a scenario made the request. Any other `parent` is a
    /// request's ID.
    static let parent = "scenario"
    /// The name of the request header in which a scenario's calls carry the scenario's name.
    static let header = "Understudy-Scenario"

    package let name: String
    package let title: String
    package let happens: String
    package let advice: String
    /// Whether the scenario can be started in a new test world, without earlier sign-ins.
    package let startsWorlds: Bool
    package let parameters: [Parameter]
    package let calls: [Call]
    package let document: JSONValue

    /// Reads a scenario from the bytes of its file.
    package init(name: String, _ bytes: [UInt8], file: String? = nil) throws(Issues) {
        self.name = name
        let file = file ?? name
        let value: JSONValue
        do { value = try JSONValue(parsing: bytes, limits: .file) } catch {
            throw Issues(file: file, "not JSON: \(error)")
        }
        let contents = try Contents(checking: LocatedJSON(value, file: file))
        document = Contents.schema.completed(value)
        title = contents.title
        happens = contents.happens
        advice = contents.advice
        startsWorlds = contents.startsWorlds
        parameters = contents.parameters.map {
            Parameter(name: $0.name, fallback: $0.value.fallback, about: $0.value.about)
        }
        calls = contents.calls
    }

    /// Starts the scenario in `world`: undoes the changes of an earlier start of the scenario, and makes its calls.
    /// `values` are the values of its parameters, by name.
    ///
    /// - Throws: `Failure`, or a `StoreFailure`.
    package func play(in world: World, with values: JSONObject, by network: any Network) async throws {
        try check(values)
        try await world.state.scenarioTurns.run { try await makeCalls(in: world, with: values, by: network) }
    }

    private func makeCalls(in world: World, with values: JSONObject, by network: any Network) async throws {
        try withdraw(from: world)
        let settings = parameters.map { (name: $0.name, value: values[$0.name]?.string ?? $0.fallback) }
        for call in calls {
            // The calls name the world, and another one may have its name meanwhile.
            guard network.holds(world) else {
                throw Failure(description: "the test world \(world.name) was deleted", response: nil)
            }
            let clock = world.read { $0.value(WorldClock.self) }
            let response = await network.ask(request(call, world.name, settings), from: Scenario.parent)
            guard response.status < 400 || call.accepts(response) else {
                try withdraw(from: world)
                let reason = response.header(Diagnosis.headerName) ?? "status \(response.status)"
                throw Failure(description: "\(call.method) \(call.target): \(reason)", response: response)
            }
            try recordChange(by: call, response, from: clock, in: world)
        }
    }

    /// Throws an error if `values` has a name that isn't a parameter of the scenario, or a value that isn't a string.
    package func check(_ values: JSONObject) throws(Failure) {
        for member in values.members {
            guard parameters.contains(where: { $0.name == member.key }), member.value.string != nil else {
                let hint = Spelling.hint(member.key, among: parameters.map(\.name))
                throw Failure(
                    description: member.value.string == nil
                        ? "the scenario's parameter \(Diagnosis.quote(member.key)) isn't a string"
                        : "there is no parameter \(Diagnosis.quote(member.key))\(hint)", response: nil)
            }
        }
    }

    private func request(_ call: Call, _ world: String, _ settings: [(name: String, value: String)]) -> Request {
        let target = Scenario.fill(call.target, settings)
        let path = target.hasPrefix("//") ? String(target.dropFirst()) : "\(Endpoint.controlRoot)/\(target)"
        var headers = [(name: "Host", value: "localhost"), (name: Scenario.header, value: name)]
        headers += call.headers.map { (name: $0.name, value: Scenario.fill($0.value, settings)) }
        if call.body != nil { headers.append((name: "Content-Type", value: "application/json")) }
        return Request(
            method: call.method, target: path, headers: headers,
            body: call.body.map { Scenario.fill($0, settings).serialized() } ?? [], label: world)
    }

    private static func fill(_ text: String, _ settings: [(name: String, value: String)]) -> String {
        text.filled { name in settings.first { $0.name == name }?.value }
    }

    private static func fill(_ value: JSONValue, _ settings: [(name: String, value: String)]) -> JSONValue {
        switch value {
        case .string(let text): .string(fill(text, settings))
        case .array(let items): .array(items.map { fill($0, settings) })
        case .object(let object): .object(JSONObject(object.members.map { ($0.key, fill($0.value, settings)) }))
        default: value
        }
    }
}

extension Exchange {
    /// Starts a scenario in the test world of the present request: undoes the changes of an earlier start, and makes
    /// the scenario's calls.
    package func play(_ scenario: Scenario, with values: JSONObject) async throws {
        try await scenario.play(in: world, with: values, by: network)
    }
}

extension Scenario.Call {
    /// Returns whether the scenario ignores the error in the response to its call. The scenario names an error of the
    /// control API by its code, and an error of Firebase by its message.
    fileprivate func accepts(_ response: Response) -> Bool {
        let error = (try? JSONValue(parsing: response.body, limits: .answer))?["error"]
        return accepted.contains { name in
            error?["code"]?.string == name || error?["message"]?.string?.hasPrefix(name) ?? false
        }
    }
}
