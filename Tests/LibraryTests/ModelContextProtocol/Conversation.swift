import Foundation
import JSON
import ModelContextProtocol
import Synchronization

/// A client of a server with two tools: `echo` repeats its text, `wait` waits until it should end.
final class Conversation: Sendable {
    private struct Text: SchemaObject {
        let text: String

        init(_ fields: inout Fields) { text = fields("text", .text(.nonEmpty), "What to say again.") }
    }

    private struct Nothing: SchemaObject {
        init(_ fields: inout Fields) {}
    }

    private final class Received: Sendable {
        let all = Mutex<[JSONValue]>([])
    }

    private let received = Received()
    let server: ModelContextServer

    init() {
        let said = Schema.members([.required("said", .string, "What was said.")])
        let echo = Tool("echo", title: "Echo", .reads, "Says it again.", arguments: Text.self, answers: said) {
            arguments, _ throws(ToolFailure) in
            guard arguments.text != "fail" else { throw ToolFailure("it was told to fail") }
            guard arguments.text != "number" else { return .object(JSONObject([("said", 7)])) }
            guard arguments.text != "text" else { return .text("no object") }
            return .object(JSONObject([("said", .string(arguments.text))]))
        }
        let wait = Tool(
            "wait", title: "Wait", .changes, "Waits until nobody wants it to.", arguments: Nothing.self,
            answers: nil, waits: { _ in true }
        ) { _, call in
            while !call.shouldEnd { usleep(1_000) }
            return .text("ended")
        }
        let page = Resource(uri: "test://page", name: "page", title: "A page", type: "text/plain") { "what it says" }
        let identity = ServerIdentity(
            name: "test", title: "Test", version: "1", about: "A server for tests.", instructions: "Say something.")
        server = ModelContextServer(identity, tools: [echo, wait], resources: [page]) { [received] message in
            received.all.withLock { $0.append(message) }
        }
    }

    /// All messages that the server has sent.
    var messages: [JSONValue] { received.all.withLock { $0 } }

    func send(_ text: String) { server.receive(.text(Array(text.utf8))) }

    /// Returns the server's answers to a line, once all calls have ended.
    func answers(to line: String) -> [JSONValue] {
        let before = messages.count
        send(line)
        server.finish()
        return Array(messages.dropFirst(before))
    }

    /// Returns the only answer to a request.
    func answer(_ method: String, _ params: JSONValue = [:], id: JSONValue = 1) -> JSONValue? {
        let request: JSONValue = ["jsonrpc": "2.0", "id": id, "method": .string(method), "params": params]
        let answers = answers(to: request.text)
        return answers.count == 1 ? answers[0] : nil
    }

    func initialize(_ revision: String) -> JSONValue? {
        answer("initialize", ["protocolVersion": .string(revision), "capabilities": [:], "clientInfo": [:]], id: 0)
    }

    /// Returns parameters for the stateless revision.
    static func stateless(_ params: JSONValue = [:]) -> JSONValue {
        var object = params.object ?? JSONObject()
        object["_meta"] = [
            "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": [:],
        ]
        return .object(object)
    }
}
