import Foundation
import JSON
import TestSupport
import Testing

@Suite("understudy mcp")
struct ModelContextTests {
    private func run(
        _ arguments: [String], _ calls: [(tool: String, arguments: JSONValue)], environment: [String: String] = [:]
    ) throws -> (status: Int32, answers: [JSONValue], errors: String) {
        let hello: JSONValue = [
            "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": ["protocolVersion": "2025-11-25"],
        ]
        let requests = calls.enumerated().map { place, call -> JSONValue in
            [
                "jsonrpc": "2.0", "id": .integer(Int64(place + 1)), "method": "tools/call",
                "params": ["name": .string(call.tool), "arguments": call.arguments],
            ]
        }
        let input = ([hello] + requests).map { $0.text + "\n" }.joined()
        let result = try Shell.run(Tool.path, ["mcp"] + arguments, input: input, environment: environment)
        let answers = try result.output.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
        return (result.status, answers, result.errors)
    }

    @Test("starts a daemon, keeps the log out of the messages, and ends with its input")
    func starts() throws {
        let result = try run(
            ["--start", "--port", "0"],
            [("sign_in_natively", ["client": "com.example.apq"]), ("list_sign_ins", ["refused": true])])
        #expect(result.status == 0)
        #expect(result.answers.count == 3)
        #expect(result.answers.first?["result"]?["serverInfo"]?["name"]?.string == "understudy")
        let flows = result.answers.last?["result"]?["structuredContent"]?["flows"]
        #expect(flows?.text.contains("com.example.app") == true)
        #expect(result.errors.contains("com.example.apq"))
    }

    @Test("asks the daemon that runs, in the world that is chosen, with the token of the environment")
    func asks() throws {
        let token = ["UNDERSTUDY_CONTROL_TOKEN": "a-token-of-these-tests"]
        let daemon = try Daemon(["--port", "0"], environment: token)
        defer { _ = daemon.stop() }
        let url = "http://127.0.0.1:\(daemon.port)"
        let asked = try run(
            ["--url", url, "--world", "w1"], [("check_health", [:]), ("save_account", ["id": "max"])],
            environment: token)
        #expect(asked.answers[1]["result"]?["structuredContent"]?["url"]?.string == "\(url)/~w1")
        let header = ["Authorization": "Bearer a-token-of-these-tests"]
        let client = TestClient(port: daemon.port)
        #expect(try client.get("/~w1/_understudy/v1/accounts/max", headers: header).status == 200)
        // If a daemon answers on the port, --start starts none.
        let found = try run(["--start", "--port", "\(daemon.port)"], [("check_health", [:])], environment: token)
        #expect(found.answers.last?["result"]?["isError"]?.bool == false)
        #expect(found.errors.isEmpty)
    }

    @Test(
        "options that don't go together are refused",
        arguments: [
            (["--port", "9"], "go with --start"), (["--seed", "x"], "go with --start"),
            (["--start", "--url", "http://localhost:9"], "give one of them"),
            (["--world", "a/b"], "can't be a test world's name"),
        ])
    func options(_ arguments: [String], _ words: String) throws {
        let result = try run(arguments, [])
        #expect(result.status == 64 && result.answers.isEmpty)
        #expect(result.errors.contains(words), "\(result.errors)")
    }

    @Test("a seed that can't be used is told before anything is answered")
    func fails() throws {
        let result = try run(["--start", "--port", "0", "--seed", "/nonexistent"], [])
        #expect(result.status == 1 && result.answers.isEmpty)
        #expect(result.errors.contains("/nonexistent"))
    }
}
