import JSON
import Testing

@Suite("Messages of JSON-RPC")
struct MessageTests {
    @Test(
        "what isn't a message is refused with the right code",
        arguments: [
            ("{", -32700), ("nonsense", -32700), ("{\"a\":1,\"a\":2}", -32700),
            (String(repeating: "[", count: 100_000), -32700), ("1", -32600), ("null", -32600), ("\"text\"", -32600),
            ("{}", -32600), ("{\"id\":1,\"method\":\"ping\"}", -32600),
            ("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600),
            ("{\"jsonrpc\":\"2.0\",\"id\":1}", -32600), ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", -32600),
            ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600),
            ("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", -32600),
            ("{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", -32600),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", -32602), ("[]", -32600),
            ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600),
        ])
    func refused(_ line: String, _ code: Int) {
        let answers = Conversation().answers(to: line)
        #expect(answers.count == 1)
        #expect(answers.first?["error"]?["code"]?.integer == Int64(code), "\(answers)")
        #expect(answers.first?["jsonrpc"]?.string == "2.0")
    }

    @Test("an answer has the ID of its request, as it was written", arguments: [JSONValue](["a", 7, "", -1]))
    func identifiers(_ id: JSONValue) {
        #expect(Conversation().answer("ping", id: id)?["id"] == id)
    }

    @Test("an error about a message without a readable ID has the ID null")
    func noIdentifier() throws {
        let answer = try #require(Conversation().answers(to: "{").first)
        #expect(answer.object?["id"] == .null)
    }

    @Test(
        "notifications, answers and blank lines get no answer, whatever they hold",
        arguments: [
            "", "   ", "\r", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"no/such/thing\"}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":77}}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":{}}}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"\"}}",
        ])
    func silent(_ line: String) {
        #expect(Conversation().answers(to: line).isEmpty)
    }

    @Test("a line that is too long is told, and the next one is served")
    func tooLong() {
        let client = Conversation()
        client.server.receive(.tooLong)
        #expect(client.messages.first?["error"]?["code"]?.integer == -32600)
        #expect(client.answer("ping")?["result"] == [:])
    }
}
