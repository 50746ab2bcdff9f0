import JSON
import Testing

@Suite("Revisions of the protocol")
struct RevisionTests {
    @Test(
        "initialize agrees on the revision that is asked for, or on the last one that has it",
        arguments: [
            ("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("2025-06-18", "2025-06-18"),
            ("2025-11-25", "2025-11-25"), ("2026-07-28", "2025-11-25"), ("1.0", "2025-11-25"), ("", "2025-11-25"),
        ])
    func agrees(_ asked: String, _ expected: String) throws {
        let result = try #require(Conversation().initialize(asked)?["result"])
        #expect(result["protocolVersion"]?.string == expected)
        #expect(result["serverInfo"]?["name"]?.string == "test")
        #expect(result["instructions"]?.string == "Say something.")
        #expect(result["capabilities"] == ["tools": [:], "resources": [:]])
        #expect(result["resultType"] == nil)
    }

    @Test("initialize needs a revision, and comes once")
    func initializeOnce() {
        let client = Conversation()
        #expect(client.answer("initialize")?["error"]?["code"]?.integer == -32602)
        #expect(client.initialize("2025-11-25")?["result"] != nil)
        #expect(client.initialize("2025-11-25")?["error"]?["code"]?.integer == -32600)
    }

    @Test("before initialize, a request has to say its revision itself, but for ping")
    func beforeInitialize() {
        let client = Conversation()
        #expect(client.answer("tools/list")?["error"]?["code"]?.integer == -32602)
        #expect(client.answer("server/discover")?["error"]?["code"]?.integer == -32602)
        #expect(client.answer("ping")?["result"] == [:])
        let result = client.answer("tools/list", Conversation.stateless())?["result"]
        #expect(result?["tools"]?.array?.count == 2)
        #expect(result?["resultType"]?.string == "complete")
    }

    @Test("discover tells the revisions, and what goes with every stateless result")
    func discover() throws {
        let result = try #require(Conversation().answer("server/discover", Conversation.stateless())?["result"])
        #expect(
            result["supportedVersions"] == ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
        #expect(result["_meta"]?["io.modelcontextprotocol/serverInfo"]?["version"]?.string == "1")
        #expect(result["cacheScope"]?.string == "public")
        #expect(result["ttlMs"]?.integer.map { $0 > 0 } == true)
    }

    @Test("a request in a revision that isn't spoken so is told which are", arguments: ["2025-11-25", "2030-01-01"])
    func unsupported(_ revision: String) {
        let meta: JSONValue = [
            "io.modelcontextprotocol/protocolVersion": .string(revision),
            "io.modelcontextprotocol/clientCapabilities": [:],
        ]
        let error = Conversation().answer("tools/list", ["_meta": meta])?["error"]
        #expect(error?["code"]?.integer == -32022)
        #expect(error?["data"]?["requested"]?.string == revision)
        #expect(error?["data"]?["supported"]?.array?.first?.string == "2026-07-28")
    }

    @Test("a stateless request without the client's capabilities, or with a revision that is no text, is refused")
    func malformedMeta() {
        let client = Conversation()
        let version: JSONValue = ["io.modelcontextprotocol/protocolVersion": "2026-07-28"]
        #expect(client.answer("tools/list", ["_meta": version])?["error"]?["code"]?.integer == -32602)
        let number: JSONValue = ["io.modelcontextprotocol/protocolVersion": 1]
        #expect(client.answer("tools/list", ["_meta": number])?["error"]?["code"]?.integer == -32602)
    }

    @Test("what a revision doesn't have isn't in it")
    func older() throws {
        let old = Conversation()
        _ = old.initialize("2024-11-05")
        let tool = try #require(old.answer("tools/list")?["result"]?["tools"]?.array?.first)
        #expect(tool["title"] == nil && tool["annotations"] == nil && tool["outputSchema"] == nil)
        let call: JSONValue = ["name": "echo", "arguments": ["text": "hello"]]
        #expect(old.answer("tools/call", call)?["result"]?["structuredContent"] == nil)
        let new = Conversation()
        _ = new.initialize("2025-06-18")
        let titled = try #require(new.answer("tools/list")?["result"]?["tools"]?.array?.first)
        #expect(titled["title"]?.string == "Echo")
        #expect(titled["outputSchema"]?["required"] == ["said"])
        #expect(titled["annotations"]?["readOnlyHint"]?.bool == true)
        #expect(new.answer("tools/call", call)?["result"]?["structuredContent"] == ["said": "hello"])
        #expect(new.answer("ping", Conversation.stateless())?["error"]?["code"]?.integer == -32601)
    }

    @Test("only the revision that has batches takes them, and answers them together")
    func batches() throws {
        let batch = """
            [{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"},7,
            {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}]
            """.replacing("\n", with: "")
        let client = Conversation()
        _ = client.initialize("2025-03-26")
        let answers = client.answers(to: batch)
        #expect(answers.count == 1)
        let together = try #require(answers.first?.array)
        #expect(Set(together.map { $0["id"]?.text ?? "" }) == ["1", "2", "null"])
        #expect(client.answers(to: "[{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]").isEmpty)
        #expect(client.answers(to: "[]").first?["error"]?["code"]?.integer == -32600)
        let many = "[" + Array(repeating: "1", count: 101).joined(separator: ",") + "]"
        #expect(client.answers(to: many).first?["error"]?["code"]?.integer == -32600)
        let other = Conversation()
        _ = other.initialize("2025-11-25")
        #expect(other.answers(to: batch).first?["error"]?["code"]?.integer == -32600)
    }
}
