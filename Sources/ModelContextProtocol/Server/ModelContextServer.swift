import JSON
import Synchronization

/// A server of the Model Context Protocol, which receives one message a line. Its tools, resources and prompts never
/// change while it runs.
///
/// The server speaks the stateless revision of the protocol and the older revisions, in which a session begins with the
/// request `initialize`. A client may mix messages of new and old revisions, as
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning> describes.
package final class ModelContextServer: Sendable {
    /// A closure that is called with the response to a message, or with `nil` if the message gets no response.
    typealias Reply = @Sendable (JSONValue?) -> Void

    private struct State {
        /// The protocol revision that client and server have agreed on by `initialize`.
        var agreed: Revision?
        var calls: [RPCIdentifier: ToolCall] = [:]
    }

    static let batchLimit = 100
    /// The number of seconds in which running tool calls must end after the client has closed the connection.
    private static let patience = 30
    private static let limits: JSONLimits = {
        var limits = JSONLimits.control
        limits.bytes = LineReader.limit
        return limits
    }()

    let identity: ServerIdentity
    let tools: [Tool]
    let resources: [Resource]
    let prompts: [Prompt]
    private let send: @Sendable (JSONValue) -> Void
    private let state = Mutex(State())
    private let queue = CallQueue()

    /// Makes a server of the Model Context Protocol. It sends messages by `send`, which any thread may call.
    package init(
        _ identity: ServerIdentity, tools: [Tool], resources: [Resource], prompts: [Prompt] = [],
        send: @escaping @Sendable (JSONValue) -> Void
    ) {
        self.identity = identity
        self.tools = tools
        self.resources = resources
        self.prompts = prompts
        self.send = send
    }

    /// Serves the messages that `reader` reads. Returns at the end of the input, when all tool calls have been
    /// answered, or after 30 more seconds.
    package func serve(_ reader: consuming LineReader) {
        while let line = reader.next() { receive(line) }
        finish()
    }

    /// Receives a line from the client. The response may be sent later.
    package func receive(_ line: LineReader.Line) {
        guard case .text(let bytes) = line else {
            let error = RPCError.invalidRequest("a message can have at most \(LineReader.limit) bytes")
            return send(RPCRequest.answer(error, to: nil))
        }
        guard !bytes.allSatisfy({ [0x20, 0x09, 0x0D].contains($0) }) else { return }
        let json: JSONValue
        do { json = try JSONValue(parsing: bytes, limits: ModelContextServer.limits) } catch {
            return send(RPCRequest.answer(.parse(error.description), to: nil))
        }
        if let batch = json.array { return receive(batch) }
        handle(json) { [send] answer in
            if let answer { send(answer) }
        }
    }

    /// Makes waiting tool calls answer with the results that they have so far, and returns when all calls have ended,
    /// at the latest after 30 seconds.
    package func finish() {
        for call in state.withLock({ Array($0.calls.values) }) { call.end() }
        queue.finish(within: ModelContextServer.patience)
    }

    // MARK: - Messages

    private func receive(_ batch: [JSONValue]) {
        let agreed = state.withLock { $0.agreed }
        guard agreed?.hasBatches ?? false, (1...ModelContextServer.batchLimit).contains(batch.count) else {
            let reason =
                agreed?.hasBatches ?? false
                ? "found \(batch.count) messages in an array; 1 to \(ModelContextServer.batchLimit) are accepted"
                : "expected one message per line, not an array"
            return send(RPCRequest.answer(.invalidRequest(reason), to: nil))
        }
        let answer = BatchAnswer(batch.count, send: send)
        for json in batch { handle(json) { answer.add($0) } }
    }

    private func handle(_ json: JSONValue, _ reply: @escaping Reply) {
        do throws(RPCMessage.Failure) {
            switch try RPCMessage(reading: json) {
            case .request(let request): answer(request, reply)
            case .notification(let method, let params):
                if method == "notifications/cancelled" { cancel(params) }
                reply(nil)
            case .answer: reply(nil)
            }
        } catch {
            reply(RPCRequest.answer(error.error, to: error.id))
        }
    }

    /// Cancels a running tool call. If the call has already ended, nothing happens: the client may have sent the
    /// cancellation before it received the result.
    private func cancel(_ params: JSONObject) {
        guard let id = params["requestId"].flatMap({ RPCIdentifier($0) }) else { return }
        state.withLock { $0.calls[id] }?.cancel()
    }

    private func answer(_ request: RPCRequest, _ reply: @escaping Reply) {
        do throws(RPCError) {
            let revision = try revision(of: request)
            guard request.method == "tools/call" else {
                return reply(request.answer(try result(of: request, in: revision)))
            }
            try start(request, in: revision, reply)
        } catch {
            reply(request.answer(error))
        }
    }

    // MARK: - Revisions

    /// Returns the protocol revision of a request: the one that the request names, or else the one that was agreed on
    /// by `initialize`.
    private func revision(of request: RPCRequest) throws(RPCError) -> Revision {
        if let declared = request.params["_meta"]?["io.modelcontextprotocol/protocolVersion"] {
            guard let text = declared.string else {
                throw .invalidParams("io.modelcontextprotocol/protocolVersion has to be a string")
            }
            guard let revision = Revision(rawValue: text), revision.isStateless else {
                throw .unsupportedRevision(text)
            }
            let capabilities = request.params["_meta"]?["io.modelcontextprotocol/clientCapabilities"]
            guard capabilities?.object != nil else {
                throw .invalidParams("_meta lacks io.modelcontextprotocol/clientCapabilities, an object")
            }
            return revision
        }
        if request.method == "initialize" { return try agree(on: request.params["protocolVersion"]) }
        guard let agreed = state.withLock({ $0.agreed }) else {
            guard request.method == "ping" else {
                throw .invalidParams(
                    "the request has no _meta with io.modelcontextprotocol/protocolVersion, and no initialize request was received"
                )
            }
            return .lastWithHandshake
        }
        return agreed
    }

    /// Returns the protocol revision that a client asks for in `initialize`, or else the newest revision that has
    /// `initialize`.
    private func agree(on requested: JSONValue?) throws(RPCError) -> Revision {
        guard let text = requested?.string else { throw .invalidParams("protocolVersion is missing, a string") }
        let known = Revision(rawValue: text).flatMap { $0.isStateless ? nil : $0 }
        let revision = known ?? .lastWithHandshake
        let isFirst = state.withLock { state in
            guard state.agreed == nil else { return false }
            state.agreed = revision
            return true
        }
        guard isFirst else { throw .invalidRequest("initialize was already received") }
        return revision
    }

    // MARK: - Tools

    private func start(_ request: RPCRequest, in revision: Revision, _ reply: @escaping Reply) throws(RPCError) {
        let (tool, arguments) = try calledTool(request)
        if let refusal = tool.refusal(of: arguments) {
            return reply(request.answer(dressed(refusal.result(in: revision), in: revision)))
        }
        let call = ToolCall()
        let isNew = state.withLock { state in
            guard state.calls[request.id] == nil else { return false }
            state.calls[request.id] = call
            return true
        }
        guard isNew else { throw .invalidRequest("a request with this ID is still in progress") }
        let isTaken = queue.add(waits: tool.waits(for: arguments)) { [self] in
            let answer = call.isCancelled ? nil : tool.run(arguments, call)
            state.withLock { $0.calls[request.id] = nil }
            guard let answer, !call.isCancelled else { return reply(nil) }
            reply(request.answer(dressed(answer.result(in: revision), in: revision)))
        }
        guard !isTaken else { return }
        state.withLock { $0.calls[request.id] = nil }
        throw .busy(
            "\(CallQueue.limit) calls are in progress, or \(CallQueue.waitingLimit) are waiting, the maximum: try again later"
        )
    }
}

// These methods are answered at once: https://modelcontextprotocol.io/specification/2026-07-28/schema

extension ModelContextServer {
    /// The number of milliseconds for which clients may cache the lists of tools, resources and prompts. The lists
    /// change only if the program is replaced.
    private static let freshness: Int64 = 3_600_000

    func result(of request: RPCRequest, in revision: Revision) throws(RPCError) -> JSONObject {
        switch request.method {
        case "initialize" where !revision.isStateless: return greeting(in: revision)
        case "ping" where !revision.isStateless: return JSONObject()
        case "server/discover" where revision.isStateless:
            var result = JSONObject([
                ("supportedVersions", .array(Revision.allCases.reversed().map { .string($0.rawValue) })),
                ("capabilities", capabilities),
            ])
            result["instructions"] = .string(identity.instructions)
            return cacheable(result, in: revision)
        case "tools/list":
            try expectFirstPage(request)
            return cacheable(JSONObject([("tools", .array(tools.map { $0.json(in: revision) }))]), in: revision)
        case "resources/list":
            try expectFirstPage(request)
            let all = resources.map { $0.json(in: revision) }
            return cacheable(JSONObject([("resources", .array(all))]), in: revision)
        case "resources/templates/list":
            try expectFirstPage(request)
            return cacheable(JSONObject([("resourceTemplates", [])]), in: revision)
        case "resources/read": return cacheable(try contents(request, in: revision), in: revision)
        case "prompts/list" where !prompts.isEmpty:
            try expectFirstPage(request)
            return cacheable(JSONObject([("prompts", .array(prompts.map { $0.json(in: revision) }))]), in: revision)
        case "prompts/get" where !prompts.isEmpty: return dressed(try prompt(request), in: revision)
        default: throw .unknownMethod(request.method)
        }
    }

    private var capabilities: JSONValue {
        var capabilities = JSONObject([("tools", [:])])
        if !resources.isEmpty { capabilities["resources"] = [:] }
        if !prompts.isEmpty { capabilities["prompts"] = [:] }
        return .object(capabilities)
    }

    private func greeting(in revision: Revision) -> JSONObject {
        JSONObject([
            ("protocolVersion", .string(revision.rawValue)), ("capabilities", capabilities),
            ("serverInfo", identity.json(in: revision)), ("instructions", .string(identity.instructions)),
        ])
    }

    /// Refuses a request for a further page of a list, because all lists of this server have a single page.
    private func expectFirstPage(_ request: RPCRequest) throws(RPCError) {
        guard request.params["cursor"] == nil else {
            throw .invalidParams("there is no page with this cursor: lists have one page")
        }
    }

    private func contents(_ request: RPCRequest, in revision: Revision) throws(RPCError) -> JSONObject {
        guard let uri = request.params["uri"]?.string else { throw .invalidParams("uri is missing, a string") }
        guard let resource = resources.first(where: { $0.uri == uri }) else {
            throw RPCError(
                code: revision.missingResourceCode,
                message: "Resource not found: \(BoundedText.shortened(uri, to: 200))",
                data: ["uri": .string(BoundedText.shortened(uri, to: 200))])
        }
        return JSONObject([("contents", resource.contents)])
    }

    private func prompt(_ request: RPCRequest) throws(RPCError) -> JSONObject {
        guard let name = request.params["name"]?.string else { throw .invalidParams("name is missing, a string") }
        guard let prompt = prompts.first(where: { $0.name == name }) else {
            let hint = Spelling.hint(name, among: prompts.map(\.name))
            throw .invalidParams("no prompt \(BoundedText.shortened(name, to: 200))\(hint)")
        }
        return try prompt.result(request.params["arguments"] ?? [:])
    }

    /// Returns the tool that a request calls, and its arguments, which haven't been validated yet.
    func calledTool(_ request: RPCRequest) throws(RPCError) -> (tool: Tool, arguments: JSONValue) {
        guard let name = request.params["name"]?.string else { throw .invalidParams("name is missing, a string") }
        guard let tool = tools.first(where: { $0.name == name }) else {
            let hint = Spelling.hint(name, among: tools.map(\.name))
            throw RPCError(code: -32602, message: "Unknown tool: \(BoundedText.shortened(name, to: 200))\(hint)")
        }
        let arguments = request.params["arguments"] ?? [:]
        guard arguments.object != nil else {
            throw .invalidParams("arguments: found \(arguments.kindName), expected an object")
        }
        return (tool, arguments)
    }

    // MARK: - Members of every result

    private func cacheable(_ result: JSONObject, in revision: Revision) -> JSONObject {
        guard revision.isStateless else { return result }
        var result = result
        // https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
        result["ttlMs"] = .integer(ModelContextServer.freshness)
        result["cacheScope"] = "public"
        return dressed(result, in: revision)
    }

    func dressed(_ result: JSONObject, in revision: Revision) -> JSONObject {
        guard revision.isStateless else { return result }
        var result = result
        result["resultType"] = "complete"
        result["_meta"] = ["io.modelcontextprotocol/serverInfo": identity.json(in: revision)]
        return result
    }
}

/// Collects the responses to the messages of a JSON-RPC batch, and sends them together:
/// <https://www.jsonrpc.org/specification#batch>.
final class BatchAnswer: Sendable {
    private let state: Mutex<(missing: Int, answers: [JSONValue])>
    private let send: @Sendable (JSONValue) -> Void

    init(_ count: Int, send: @escaping @Sendable (JSONValue) -> Void) {
        state = Mutex((missing: count, answers: []))
        self.send = send
    }

    /// Stores the response to one message of the batch, or `nil` if the message gets no response. After the last
    /// message, all responses are sent together. If there are none, nothing is sent.
    func add(_ answer: JSONValue?) {
        let whole = state.withLock { state -> [JSONValue]? in
            if let answer { state.answers.append(answer) }
            state.missing -= 1
            return state.missing == 0 ? state.answers : nil
        }
        if let whole, !whole.isEmpty { send(.array(whole)) }
    }
}

/// A revision of the Model Context Protocol. Revisions are compared by their dates:
/// <https://modelcontextprotocol.io/docs/learn/versioning>.
enum Revision: String, CaseIterable, Comparable, Sendable {
    case november2024 = "2024-11-05"
    case march2025 = "2025-03-26"
    case june2025 = "2025-06-18"
    case november2025 = "2025-11-25"
    case july2026 = "2026-07-28"

    /// The newest revision of the Model Context Protocol in which a session begins with the request `initialize`.
    static let lastWithHandshake = november2025

    static func < (left: Revision, right: Revision) -> Bool { left.rawValue < right.rawValue }

    /// Whether this protocol revision has no `initialize`, so that each request names its revision:
    /// <https://modelcontextprotocol.io/specification/2026-07-28/changelog>.
    var isStateless: Bool { self >= .july2026 }

    /// Whether this protocol revision allows several messages in an array:
    /// <https://modelcontextprotocol.io/specification/2025-03-26/basic#batching>.
    var hasBatches: Bool { self == .march2025 }

    /// Whether this protocol revision lets tools declare that they change or delete something:
    /// <https://modelcontextprotocol.io/specification/2025-03-26/changelog>.
    var hasAnnotations: Bool { self >= .march2025 }

    /// Whether tools, prompts and resources have titles in this protocol revision, and results of tools have JSON
    /// beside their text:
    /// <https://modelcontextprotocol.io/specification/2025-06-18/changelog>.
    var hasTitlesAndStructure: Bool { self >= .june2025 }

    /// Whether this protocol revision has a member `description` beside a server's name and version:
    /// <https://modelcontextprotocol.io/specification/2025-11-25/changelog>.
    var hasServerDescription: Bool { self >= .november2025 }

    /// The JSON-RPC error code for a resource that doesn't exist, which depends on the protocol revision:
    /// <https://modelcontextprotocol.io/specification/2026-07-28/changelog>.
    var missingResourceCode: Int64 { isStateless ? -32602 : -32002 }
}

/// The name and version of a server of the Model Context Protocol, and its instructions for language models.
package struct ServerIdentity: Sendable {
    let name: String
    let title: String
    let version: String
    let about: String
    let instructions: String

    /// Describes a server of the Model Context Protocol.
    ///
    /// - Parameters:
    ///   - about: a sentence for people.
    ///   - instructions: a text for models, which they read before they choose a tool.
    package init(name: String, title: String, version: String, about: String, instructions: String) {
        self.name = name
        self.title = title
        self.version = version
        self.about = about
        self.instructions = instructions
    }

    func json(in revision: Revision) -> JSONValue {
        var object = JSONObject([("name", .string(name))])
        if revision.hasTitlesAndStructure { object["title"] = .string(title) }
        object["version"] = .string(version)
        if revision.hasServerDescription { object["description"] = .string(about) }
        return .object(object)
    }
}
