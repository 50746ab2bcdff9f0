import JSON

/// Something that a client can have done.
package struct Tool: Sendable {
    /// What it does to the world, for clients that ask the person before.
    package enum Effect: Sendable {
        case reads
        /// It adds something, and nothing is lost.
        case adds
        /// It changes or removes what is there.
        case changes
    }

    package let name: String
    let title: String
    let effect: Effect
    let about: String
    let arguments: Schema
    let answers: Schema?
    private let waits: @Sendable (JSONValue) -> Bool
    private let work: @Sendable (JSONValue, ToolCall) throws(ToolFailure) -> ToolAnswer

    /// A tool whose arguments are an object that `arguments` describes.
    ///
    /// - Parameters:
    ///   - name: letters, digits and `_`.
    ///   - about: for the model that chooses among tools: what it does and when it is of use, in a few sentences.
    ///   - answers: the form of its answers, objects; `nil` for a tool that answers with text.
    ///   - waits: whether a call may take long, because it waits for something to happen. Others don't wait for it then.
    ///   - work: is called with arguments that have passed validation.
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

    /// A tool whose arguments are read as a value of a type that declares them.
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

    /// What is wrong with arguments; `nil` when nothing is.
    func refusal(of json: JSONValue) -> ToolAnswer? {
        let issues = arguments.issues(in: LocatedJSON(json, file: "arguments"))
        return issues.isEmpty ? nil : .failure(ToolFailure(Issues(issues).description))
    }

    /// Whether a call with these arguments, which have passed validation, may take long.
    func waits(for arguments: JSONValue) -> Bool { waits(arguments) }

    /// Carries a call out. `arguments` have passed validation.
    func run(_ arguments: JSONValue, _ call: ToolCall) -> ToolAnswer {
        let answer: ToolAnswer
        do throws(ToolFailure) { answer = try work(arguments, call) } catch { return .failure(error) }
        guard let answers else { return answer }
        // Clients refuse the whole result when it doesn't have the form that was announced.
        let issues = answers.issues(in: LocatedJSON(.object(answer.structure ?? JSONObject()), file: "its answer"))
        guard issues.isEmpty else {
            return .failure(
                ToolFailure(
                    "\(name) was answered with something else than expected:\n\(Issues(issues))\n\(answer.text)"))
        }
        return answer
    }

    /// As `tools/list` shows it.
    func json(in revision: Revision) -> JSONValue {
        var object = JSONObject([("name", .string(name))])
        if revision.hasTitlesAndStructure { object["title"] = .string(title) }
        object["description"] = .string(about)
        object["inputSchema"] = Tool.json(arguments)
        if revision.hasTitlesAndStructure { object["outputSchema"] = answers.map { Tool.json($0) } }
        if revision.hasAnnotations {
            var annotations = JSONObject([("title", .string(title)), ("readOnlyHint", .bool(effect == .reads))])
            if effect != .reads { annotations["destructiveHint"] = .bool(effect == .changes) }
            // Whatever a tool does, it does to the daemon.
            annotations["openWorldHint"] = false
            object["annotations"] = .object(annotations)
        }
        return .object(object)
    }

    /// Without a heading, and without the dialect, which is 2020-12 where nothing is said: a list of tools is read by models, which
    /// pay for each word. A root that is one object or another has to be an object all the same.
    private static func json(_ schema: Schema) -> JSONValue {
        var json = JSONObject([("type", "object")])
        json.merge(schema.jsonSchema().object ?? JSONObject())
        return .object(json)
    }
}
