import JSON

/// A message of the Model Context Protocol that was posted by HTTP. The HTTP response contains nothing but the answer
/// to this message, if it has one, because this server sends no messages unasked.
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>
///
/// This server stores no sessions. Clients of older protocol revisions may still begin one with `initialize`: their
/// further requests name the agreed revision in the header `MCP-Protocol-Version`.
package struct PostedMessage: Sendable {
    package struct Answer: Error, Sendable {
        package let status: Int
        /// The JSON-RPC response, which is the body of the HTTP response; `nil` for an HTTP response without a body.
        package let body: JSONValue?
    }

    /// The HTTP headers in which a client repeats parts of the posted message.
    package struct Headers: Sendable {
        let revision, method, name: String?

        package init(revision: String?, method: String?, name: String?) {
            (self.revision, self.method, self.name) = (revision, method, name)
        }
    }

    private let message: RPCMessage
    private let headers: Headers

    /// Reads a posted message of the Model Context Protocol.
    ///
    /// - Throws: The error response to a body that isn't a message.
    package init(_ body: [UInt8], _ headers: Headers) throws(Answer) {
        self.headers = headers
        let json: JSONValue
        do { json = try JSONValue(parsing: body) } catch {
            throw Answer(status: 400, body: RPCRequest.answer(.parse(error.description), to: nil))
        }
        do throws(RPCMessage.Failure) { message = try RPCMessage(reading: json) } catch {
            throw Answer(status: 400, body: RPCRequest.answer(error.error, to: error.id))
        }
    }

    /// The name of the tool that the message calls; `nil` if it doesn't call a tool.
    package var calledTool: String? {
        guard case .request(let request) = message, request.method == "tools/call" else { return nil }
        return request.params["name"]?.string
    }

    /// Carries out the posted message, and returns the response. A tool that the message calls runs on the calling
    /// thread.
    package func answer(as identity: ServerIdentity, tools: [Tool]) -> Answer {
        guard case .request(let request) = message else { return Answer(status: 202, body: nil) }
        let server = ModelContextServer(identity, tools: tools, resources: []) { _ in }
        do throws(RPCError) {
            let revision = try revision(of: request)
            guard request.method == "tools/call" else {
                return Answer(status: 200, body: request.answer(try server.result(of: request, in: revision)))
            }
            let (tool, arguments) = try server.calledTool(request)
            let answer = tool.refusal(of: arguments) ?? tool.run(arguments, ToolCall())
            let result = server.dressed(answer.result(in: revision), in: revision)
            return Answer(status: 200, body: request.answer(result))
        } catch { return Answer(status: status(of: error, request), body: request.answer(error)) }
    }

    /// Returns the HTTP status of the response to a failed request, as the stateless revision of the Model Context
    /// Protocol specifies it.
    private func status(of error: RPCError, _ request: RPCRequest) -> Int {
        if error.code == RPCError.headerMismatch || error.code == RPCError.unsupportedRevision { return 400 }
        guard declaredRevision(request) != nil else { return 200 }
        return error.code == RPCError.unknownMethod ? 404 : 400
    }

    private func declaredRevision(_ request: RPCRequest) -> JSONValue? {
        request.params["_meta"]?["io.modelcontextprotocol/protocolVersion"]
    }

    /// Returns the protocol revision that a request names in its parameters or in an HTTP header. For `initialize`, it
    /// is the revision that the client asks for, or else the newest one that has `initialize`. If any other request
    /// names no revision, 2025-03-26 is returned.
    private func revision(of request: RPCRequest) throws(RPCError) -> Revision {
        if let declared = declaredRevision(request) {
            guard let text = declared.string else {
                throw .invalidParams("io.modelcontextprotocol/protocolVersion has to be a string")
            }
            guard let revision = Revision(rawValue: text), revision.isStateless else {
                throw .unsupportedRevision(text)
            }
            try compare("MCP-Protocol-Version", headers.revision, with: text)
            try compare("Mcp-Method", headers.method, with: request.method)
            if request.method == "tools/call", let name = request.params["name"]?.string {
                try compare("Mcp-Name", headers.name, with: name)
            }
            return revision
        }
        if request.method == "initialize" {
            guard let text = request.params["protocolVersion"]?.string else {
                throw .invalidParams("protocolVersion is missing, a string")
            }
            return Revision(rawValue: text).flatMap { $0.isStateless ? nil : $0 } ?? .lastWithHandshake
        }
        // Without the header, the revision is the last one before the header existed: see the transport's section on
        // it.
        guard let text = headers.revision else { return .march2025 }
        guard let revision = Revision(rawValue: text), !revision.isStateless else {
            throw .unsupportedRevision(text)
        }
        return revision
    }

    /// Checks that an HTTP header repeats a value of the posted message. A header with an encoded value isn't checked.
    private func compare(_ name: String, _ header: String?, with text: String) throws(RPCError) {
        guard let header else { throw .headerMismatch("the header \(name) is missing") }
        guard header == text || header.hasPrefix("=?base64?") else {
            throw .headerMismatch(
                "the header \(name) is \(BoundedText.shortened(header, to: 100)), but the body has another value")
        }
    }
}
