import HTTPServer
import JSON

/// A ready-made situation: orders that are given one after the other, and what they are good for.
package struct Scenario: Sendable {
    /// A value that the orders refer to as `{name}`.
    package struct Parameter: Sendable {
        package let name: String
        package let fallback: String
        package let about: String
    }

    /// A call, of the control API or of a host.
    package struct Call: Sendable {
        package let method: String
        /// Below the control API, or with a host in front: `//api.github.com/user`.
        package let target: String
        package let headers: [(name: String, value: String)]
        package let body: JSONValue?
        /// Refusals that don't matter: the names of their errors.
        let accepted: [String]
    }

    /// Why it can't be played.
    package struct Failure: Error, Sendable, CustomStringConvertible {
        package let description: String
        /// The refused call's own answer, if one was made.
        package let response: Response?
    }

    /// The parent of the calls, in place of an exchange.
    static let parent = "scenario"

    package let name: String
    package let title: String
    package let happens: String
    package let advice: String
    package let parameters: [Parameter]
    package let calls: [Call]
    package let document: JSONValue

    /// Reads a scenario's file.
    package init(name: String, _ bytes: [UInt8], file: String? = nil) throws(SeedFaults) {
        self.name = name
        let file = file ?? name
        let value: JSONValue
        do { value = try JSONValue(parsing: bytes, limits: .file) } catch {
            throw SeedFaults(faults: [SeedFault(file: file, path: "$", message: "not JSON: \(error)")])
        }
        let faults = Scenario.shape.faults(in: SeedNode(value, file: file))
        guard faults.isEmpty else { throw SeedFaults(faults: faults) }
        document = Scenario.shape.completed(value)
        title = document["title"]?.string ?? ""
        happens = document["happens"]?.string ?? ""
        advice = document["advice"]?.string ?? ""
        parameters = (document["parameters"]?.object?.members ?? []).map { member in
            Parameter(
                name: member.key, fallback: member.value["default"]?.string ?? "",
                about: member.value["about"]?.string ?? "")
        }
        calls = (document["orders"]?.array ?? []).map { order in
            let words = (order["call"]?.string ?? "").split(separator: " ", maxSplits: 1).map(String.init)
            return Call(
                method: words.first ?? "", target: words.count > 1 ? words[1] : "",
                headers: (order["headers"]?.object?.members ?? []).map { (name: $0.key, value: $0.value.string ?? "") },
                body: order["body"], accepted: (order["accept"]?.array ?? []).compactMap(\.string))
        }
    }

    private static let call = TextRule(
        about: "a method and a call, such as \"POST faults\" or \"GET //api.github.com/user\"",
        pattern: "^(GET|POST|PATCH|DELETE) \\S+$"
    ) { text in
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        return words.count == 2 && ["GET", "POST", "PATCH", "DELETE"].contains(words[0]) && !words[1].isEmpty
    }

    static let shape = Shape.object([
        .required("title", .text(.nonEmpty), "What it is called."),
        .required("happens", .text(.nonEmpty), "What a client meets."),
        .required("advice", .text(.nonEmpty), "What a correct client does."),
        .optional(
            "parameters",
            .map(
                of: .object([
                    .required("default", .text(.any), "Its value when none is given."),
                    .required("about", .text(.nonEmpty), "What it is."),
                ])), default: [:], "Values that the orders refer to as {name}."),
        .required(
            "orders",
            .sequence(
                of: .object([
                    .required("call", .text(call), "Method and call."),
                    .optional("headers", .map(of: .text(.any)), default: [:], "Headers of the call."),
                    .optional("body", .any, "The body, as JSON."),
                    .optional(
                        "accept", .set(of: .text(.nonEmpty)), default: [],
                        "Names of errors that don't matter, such as that something is there already."),
                ])), "The calls, in order."),
    ])

    /// Gives the orders in `world`. `values` are the parameters' values by name.
    package func play(in world: String, with values: JSONObject, by network: any Network) async throws(Failure) {
        for member in values.members {
            guard parameters.contains(where: { $0.name == member.key }), member.value.string != nil else {
                let hint = Spelling.hint(member.key, among: parameters.map(\.name))
                throw Failure(
                    description: member.value.string == nil
                        ? "the parameter \(Diagnosis.quote(member.key)) isn't a string"
                        : "there is no parameter \(Diagnosis.quote(member.key))\(hint)", response: nil)
            }
        }
        let settings = parameters.map { (name: $0.name, value: values[$0.name]?.string ?? $0.fallback) }
        for call in calls {
            let response = await network.ask(request(call, world, settings), from: Scenario.parent)
            guard response.status < 400 || call.accepts(response) else {
                let reason = response.header(Diagnosis.headerName) ?? "status \(response.status)"
                throw Failure(description: "\(call.method) \(call.target): \(reason)", response: response)
            }
        }
    }

    private func request(_ call: Call, _ world: String, _ settings: [(name: String, value: String)]) -> Request {
        let target = Scenario.fill(call.target, settings)
        let path = target.hasPrefix("//") ? String(target.dropFirst()) : "\(Operation.controlRoot)/\(target)"
        var headers = [(name: "Host", value: "localhost")]
        headers += call.headers.map { (name: $0.name, value: Scenario.fill($0.value, settings)) }
        if call.body != nil { headers.append((name: "Content-Type", value: "application/json")) }
        return Request(
            method: call.method, target: (world == WorldRegistry.defaultName ? "" : "/~\(world)") + path,
            headers: headers, body: call.body.map { Scenario.fill($0, settings).serialized() } ?? [])
    }

    private static func fill(_ text: String, _ settings: [(name: String, value: String)]) -> String {
        settings.reduce(text) { text, setting in
            text.split(separator: "{\(setting.name)}", omittingEmptySubsequences: false).joined(
                separator: setting.value)
        }
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
    /// Gives a scenario's orders in this exchange's world.
    package func play(_ scenario: Scenario, with values: JSONObject) async throws(Scenario.Failure) {
        try await scenario.play(in: world.name, with: values, by: network)
    }
}

extension Scenario.Call {
    /// The control API's errors have a code, Firebase's a message.
    fileprivate func accepts(_ response: Response) -> Bool {
        let error = (try? JSONValue(parsing: response.body, limits: .answer))?["error"]
        return accepted.contains { name in
            error?["code"]?.string == name || error?["message"]?.string?.hasPrefix(name) ?? false
        }
    }
}
