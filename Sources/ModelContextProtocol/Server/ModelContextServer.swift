import JSON
import Synchronization

/// A server of the Model Context Protocol, which reads lines and sends messages. Its tools, resources and prompts never change
/// while it runs.
///
/// It speaks the stateless revision and those that begin with `initialize`, and a client may mix them, as
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning> describes for servers of both kinds.
package final class ModelContextServer: Sendable {
    /// Receives the answer to a message; `nil` if it gets none.
    typealias Reply = @Sendable (JSONValue?) -> Void

    private struct State {
        /// The revision that `initialize` agreed on.
        var agreed: Revision?
        var calls: [RPCIdentifier: ToolCall] = [:]
    }

    static let batchLimit = 100
    /// The seconds in which calls must end at the end of the input.
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

    /// Makes a server. `send` may be called from any thread.
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

    /// Serves the messages of `reader` until it ends, and returns when all calls have been answered.
    package func serve(_ reader: consuming LineReader) {
        while let line = reader.next() { receive(line) }
        finish()
    }

    /// Receives a line. Its answer may be sent later.
    package func receive(_ line: LineReader.Line) {
        guard case .text(let bytes) = line else {
            let error = RPCError.invalidRequest("a message has \(LineReader.limit) bytes at most")
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

    /// Ends the calls that wait for something, with what they have so far, and waits for all calls.
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
                ? "\(batch.count) messages in an array: 1 to \(ModelContextServer.batchLimit) are taken"
                : "one message a line, and no array of them"
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

    /// Cancels a call. If it has already ended, nothing happens: the two messages may have crossed.
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

    /// Returns the revision of a request: its own, or the one that `initialize` agreed on.
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
                    "the request has no _meta with io.modelcontextprotocol/protocolVersion, and initialize hasn't come")
            }
            return .lastWithHandshake
        }
        return agreed
    }

    /// Returns the revision that the client asks for, or else the last one with a handshake.
    private func agree(on requested: JSONValue?) throws(RPCError) -> Revision {
        guard let text = requested?.string else { throw .invalidParams("protocolVersion is missing, a string") }
        let known = Revision(rawValue: text).flatMap { $0.isStateless ? nil : $0 }
        let revision = known ?? .lastWithHandshake
        let isFirst = state.withLock { state in
            guard state.agreed == nil else { return false }
            state.agreed = revision
            return true
        }
        guard isFirst else { throw .invalidRequest("initialize has come already") }
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
        guard isNew else { throw .invalidRequest("a request with this ID is still under way") }
        let isTaken = queue.add(waits: tool.waits(for: arguments)) { [self] in
            let answer = call.isCancelled ? nil : tool.run(arguments, call)
            state.withLock { $0.calls[request.id] = nil }
            guard let answer, !call.isCancelled else { return reply(nil) }
            reply(request.answer(dressed(answer.result(in: revision), in: revision)))
        }
        guard !isTaken else { return }
        state.withLock { $0.calls[request.id] = nil }
        throw .busy(
            "\(CallQueue.limit) calls are under way, or \(CallQueue.waitingLimit) wait for something: try again later")
    }
}
