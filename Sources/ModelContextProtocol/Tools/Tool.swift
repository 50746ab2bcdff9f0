import JSON
import Synchronization

/// A tool of the Model Context Protocol, which a language model's client can call.
package struct Tool: Sendable {
    /// The effect of a tool, for clients that ask the user before a tool changes something.
    package enum Effect: Sendable {
        case reads
        /// A call of the tool may add data, but it changes and removes no existing data.
        case adds
        /// A call of the tool may change or remove existing data.
        case changes
    }

    package let name: String
    let title: String
    let effect: Effect
    let about: String
    let arguments: Schema
    let answers: Schema?
    private var announcesAnswers = true
    private let waits: @Sendable (JSONValue) -> Bool
    private let work: @Sendable (JSONValue, ToolCall) throws(ToolFailure) -> ToolAnswer

    /// Makes a tool, whose arguments are an object with the schema `arguments`.
    ///
    /// - Parameters:
    ///   - name: letters, digits and `_`.
    ///   - about: a few sentences for the model that chooses a tool: what it does, and when it is useful.
    ///   - answers: the schema of its answers, which are objects; `nil` for a tool that answers with text.
    ///   - waits: returns whether a call may take long, because it waits for something to happen. Other calls then run
    ///     beside it.
    ///   - work: carries out a call; its arguments have passed validation.
    package init(
        _ name: String, title: String, _ effect: Effect, _ about: String, arguments: Schema, answers: Schema?,
        waits: @escaping @Sendable (JSONValue) -> Bool = { _ in false },
        work: @escaping @Sendable (JSONValue, ToolCall) throws(ToolFailure) -> ToolAnswer
    ) {
        self.name = name
        self.title = title
        self.effect = effect
        self.about = about
        self.arguments = arguments
        self.answers = answers
        self.waits = waits
        self.work = work
    }

    /// Makes a tool. Its arguments are read as a value of the type `Arguments`, which declares their schema.
    package init<Arguments: SchemaObject>(
        _ name: String, title: String, _ effect: Effect, _ about: String, arguments: Arguments.Type, answers: Schema?,
        waits: @escaping @Sendable (Arguments) -> Bool = { _ in false },
        work: @escaping @Sendable (Arguments, ToolCall) throws(ToolFailure) -> ToolAnswer
    ) {
        self.init(
            name, title: title, effect, about, arguments: Arguments.schema, answers: answers,
            waits: { waits(Arguments(reading: $0)) },
            work: { json, call throws(ToolFailure) in try work(Arguments(reading: json), call) })
    }

    /// A copy of the tool that doesn't announce the schema of its answers in `tools/list`. The answers are checked by
    /// the schema anyway.
    package var withoutAnswerSchema: Tool {
        var tool = self
        tool.announcesAnswers = false
        return tool
    }

    /// Returns the tool's answer to invalid arguments; `nil` if the arguments are valid.
    func refusal(of json: JSONValue) -> ToolAnswer? {
        let issues = arguments.issues(in: LocatedJSON(json, file: "arguments"))
        return issues.isEmpty ? nil : .failure(ToolFailure(Issues(issues).description))
    }

    func waits(for arguments: JSONValue) -> Bool { waits(arguments) }

    /// Runs the tool with arguments that have passed validation, and returns its answer.
    func run(_ arguments: JSONValue, _ call: ToolCall) -> ToolAnswer {
        let answer: ToolAnswer
        do throws(ToolFailure) { answer = try work(arguments, call) } catch { return .failure(error) }
        guard let answers else { return answer }
        // Clients refuse the whole result if it doesn't fit the announced schema.
        let issues = answers.issues(in: LocatedJSON(.object(answer.structure ?? JSONObject()), file: "its answer"))
        guard issues.isEmpty else {
            return .failure(
                ToolFailure(
                    "\(name) was answered with something else than expected:\n\(Issues(issues))\n\(answer.text)"))
        }
        return answer
    }

    /// Returns the entry about this tool in the answer to `tools/list`.
    func json(in revision: Revision) -> JSONValue {
        var object = JSONObject([("name", .string(name))])
        if revision.hasTitlesAndStructure { object["title"] = .string(title) }
        object["description"] = .string(about)
        object["inputSchema"] = Tool.json(arguments)
        if revision.hasTitlesAndStructure, announcesAnswers { object["outputSchema"] = answers.map { Tool.json($0) } }
        if revision.hasAnnotations {
            var annotations = JSONObject()
            if !revision.hasTitlesAndStructure { annotations["title"] = .string(title) }
            // Hints are left out where they are the protocol's defaults.
            switch effect {
            case .reads: annotations["readOnlyHint"] = true
            case .adds: annotations["destructiveHint"] = false
            case .changes: break
            }
            // A tool affects only the daemon.
            annotations["openWorldHint"] = false
            object["annotations"] = .object(annotations)
        }
        return .object(object)
    }

    /// Returns a tool's JSON Schema. It has no `title`, and no `$schema`, because the default dialect is 2020-12. Its
    /// root always has `"type": "object"`, even if several kinds of objects are allowed.
    private static func json(_ schema: Schema) -> JSONValue {
        var json = JSONObject([("type", "object")])
        json.merge(brief(schema.jsonSchema()).object ?? JSONObject())
        return .object(json)
    }

    /// Returns a JSON Schema without the parts that a language model needn't read, because each word costs tokens. The
    /// removed parts are, for example, patterns, trivial defaults, and null where it means that a member is left out.
    package static func brief(_ schema: JSONValue) -> JSONValue {
        guard let object = schema.object else { return schema }
        var brief = JSONObject()
        for (name, value) in object.members {
            switch name {
            case "pattern", "uniqueItems": continue
            case "default" where [.null, [:], ""].contains(value): continue
            case "additionalProperties" where value == [:]: continue
            case "additionalProperties", "items": brief[name] = Tool.brief(value)
            case "properties":
                let members = (value.object ?? JSONObject()).members
                brief[name] = .object(JSONObject(members.map { ($0.key, Tool.brief($0.value)) }))
            case "anyOf":
                var forms: [JSONValue] = []
                for form in (value.array ?? []).map({ Tool.brief($0) }) {
                    for inner in form.object?.count == 1 ? form["anyOf"]?.array ?? [form] : [form]
                    where !forms.contains(inner) { forms.append(inner) }
                }
                if object["default"] ?? .null == .null { forms.removeAll { $0 == ["type": "null"] } }
                if forms.count == 1 {
                    brief.merge(forms[0].object ?? JSONObject())
                } else {
                    brief[name] = .array(forms)
                }
            default: brief[name] = value
            }
        }
        return .object(brief)
    }
}

package struct ToolAnswer: Sendable {
    let text: String
    let structure: JSONObject?
    let isError: Bool

    /// Makes a tool's answer from a JSON object. The language model sees the object as text.
    package static func object(_ object: JSONObject) -> ToolAnswer {
        ToolAnswer(text: JSONValue.object(object).text, structure: object, isError: false)
    }

    /// Makes a tool's answer of text, for people and language models.
    package static func text(_ text: String) -> ToolAnswer { ToolAnswer(text: text, structure: nil, isError: false) }

    static func failure(_ failure: ToolFailure) -> ToolAnswer {
        ToolAnswer(text: failure.description, structure: nil, isError: true)
    }

    /// Returns the tool's answer as a result of `tools/call`.
    func result(in revision: Revision) -> JSONObject {
        var result = JSONObject([("content", [["type": "text", "text": .string(text)]])])
        if revision.hasTitlesAndStructure { result["structuredContent"] = structure.map { .object($0) } }
        result["isError"] = .bool(isError)
        return result
    }
}

/// The reason why a tool failed. The language model sees it, and can correct its call.
package struct ToolFailure: Error, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = BoundedText.shortened(description, to: 4_000) }
}

/// A running call of a tool.
package final class ToolCall: Sendable {
    private let cancelled = Atomic<Bool>(false)
    private let ends = Atomic<Bool>(false)

    init() {}

    var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

    /// Whether a waiting tool call should answer with the results that it has so far, because the client has cancelled
    /// it or the connection has ended.
    package var shouldEnd: Bool { isCancelled || ends.load(ordering: .acquiring) }

    func cancel() { cancelled.store(true, ordering: .releasing) }

    func end() { ends.store(true, ordering: .releasing) }
}
