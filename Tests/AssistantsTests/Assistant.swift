import Foundation
import JSON
import ModelContextProtocol
import Synchronization
import TestSupport
import Testing

@testable import Assistants

/// A coding assistant whose tools call a daemon.
final class Assistant: Sendable {
    struct Answer {
        /// The tool's answer as JSON; null if it is text only.
        let json: JSONValue
        let text: String
        let isError: Bool
        /// The size of the whole message in bytes.
        let size: Int
    }

    private final class Received: Sendable {
        let all = Mutex<[JSONValue]>([])
    }

    private let received = Received()
    private let count = Atomic<Int64>(0)
    let server: ModelContextServer
    let tools: [Tool]

    init(_ supply: DaemonSupply) {
        tools = DaemonTools(supply).all
        server = ModelContextServer(
            DaemonTools.identity, tools: tools, resources: DaemonTools.resources, prompts: DaemonTools.prompts
        ) { [received] message in received.all.withLock { $0.append(message) }
        }
    }

    convenience init(url: String, world: String? = nil, token: String? = nil) {
        self.init(DaemonSupply(url: url, world: world, token: token))
    }

    /// Sends a request, and returns its ID.
    @discardableResult
    func send(_ method: String, _ params: JSONValue) -> Int64 {
        let id = count.add(1, ordering: .relaxed).newValue
        var object = params.object ?? JSONObject()
        object["_meta"] = [
            "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": [:],
        ]
        let request: JSONValue = [
            "jsonrpc": "2.0", "id": .integer(id), "method": .string(method), "params": .object(object),
        ]
        server.receive(.text(request.serialized()))
        return id
    }

    func message(_ id: Int64) throws -> JSONValue {
        for _ in 0..<30_000 {
            if let message = received.all.withLock({ $0.first { $0["id"]?.integer == id } }) { return message }
            usleep(1_000)
        }
        throw TransportError(reason: "no answer came")
    }

    func answer(_ id: Int64) throws -> Answer {
        let message = try message(id)
        let result = try #require(message["result"], "\(message)")
        return Answer(
            json: result["structuredContent"] ?? .null,
            text: result["content"]?.array?.first?["text"]?.string ?? "", isError: result["isError"]?.bool ?? false,
            size: message.serialized().count)
    }

    func call(_ tool: String, _ arguments: JSONValue = [:]) throws -> Answer {
        try answer(send("tools/call", ["name": .string(tool), "arguments": arguments]))
    }

    /// Calls a tool that succeeds, and returns its answer.
    func ask(_ tool: String, _ arguments: JSONValue = [:]) throws -> JSONValue {
        let answer = try call(tool, arguments)
        #expect(!answer.isError, "\(tool): \(answer.text)")
        return answer.json
    }

    /// Calls a tool that fails, and returns its message.
    func refusal(_ tool: String, _ arguments: JSONValue = [:]) throws -> String {
        let answer = try call(tool, arguments)
        #expect(answer.isError, "\(tool): \(answer.text)")
        return answer.text
    }
}
