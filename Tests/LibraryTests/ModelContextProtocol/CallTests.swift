import Foundation
import JSON
import Testing

@Suite("Calls of tools, and resources")
struct CallTests {
    private func client() -> Conversation {
        let client = Conversation()
        _ = client.initialize("2025-11-25")
        return client
    }

    private func call(_ name: String, _ arguments: JSONValue = [:], id: JSONValue = 1) -> String {
        let params: JSONValue = ["name": .string(name), "arguments": arguments]
        let request: JSONValue = ["jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params]
        return request.text
    }

    @Test("a tool's answer is there as text and as JSON, and a failure is the tool's, not the protocol's")
    func answers() throws {
        let result = try #require(client().answers(to: call("echo", ["text": "hello"])).first?["result"])
        #expect(result["content"] == [["type": "text", "text": "{\"said\":\"hello\"}"]])
        #expect(result["structuredContent"] == ["said": "hello"])
        #expect(result["isError"]?.bool == false)
        let failure = try #require(client().answers(to: call("echo", ["text": "fail"])).first?["result"])
        #expect(failure["isError"]?.bool == true)
        #expect(failure["content"] == [["type": "text", "text": "it was told to fail"]])
    }

    @Test("an answer of another form than was announced is a failure, with what it was", arguments: ["number", "text"])
    func otherForm(_ text: String) throws {
        let result = try #require(client().answers(to: call("echo", ["text": .string(text)])).first?["result"])
        #expect(result["isError"]?.bool == true && result["structuredContent"] == nil)
        let said = try #require(result["content"]?.array?.first?["text"]?.string)
        #expect(said.contains("something else than expected") && said.contains("said"), "\(said)")
        #expect(said.hasSuffix(text == "number" ? "{\"said\":7}" : "no object"), "\(said)")
    }

    @Test(
        "arguments that don't suit are told with every fault",
        arguments: [
            ([:], "the key \"text\" is missing"), (["text": 1], "found a number (1)"),
            (["text": "a", "texd": "b"], "did you mean \"text\"?"), (["text": ""], "isn't empty"),
        ] as [(JSONValue, String)])
    func unsuitable(_ arguments: JSONValue, _ words: String) {
        let result = client().answers(to: call("echo", arguments)).first?["result"]
        #expect(result?["isError"]?.bool == true)
        #expect(result?["content"]?.array?.first?["text"]?.string?.contains(words) == true, "\(result ?? .null)")
    }

    @Test("what isn't a call of a tool is the protocol's error")
    func malformed() {
        let client = client()
        #expect(client.answers(to: call("ecko")).first?["error"]?["code"]?.integer == -32602)
        #expect(
            client.answers(to: call("ecko")).first?["error"]?["message"]?.string?.contains("did you mean \"echo\"?")
                == true)
        #expect(client.answer("tools/call")?["error"]?["code"]?.integer == -32602)
        #expect(client.answer("tools/call", ["name": "echo", "arguments": []])?["error"]?["code"]?.integer == -32602)
        for method in [
            "prompts/list", "logging/setLevel", "completion/complete", "resources/subscribe", "nonsense", "",
        ] {
            #expect(client.answer(method)?["error"]?["code"]?.integer == -32601, "\(method)")
        }
        #expect(client.answer("tools/list", ["cursor": "2"])?["error"]?["code"]?.integer == -32602)
    }

    @Test("calls are answered in their order, and those that wait hold nobody up")
    func order() {
        let client = client()
        client.send(call("wait", id: "waiting"))
        for number in 0..<20 { client.send(call("echo", ["text": "x"], id: .integer(Int64(number)))) }
        while client.messages.count < 21 { usleep(1_000) }
        #expect(client.messages.dropFirst().map { $0["id"] } == (0..<20).map { .integer(Int64($0)) })
        client.server.finish()
        #expect(client.messages.last?["id"]?.string == "waiting")
    }

    @Test("a call that is cancelled gets no answer, and its ID is free again")
    func cancelled() {
        let client = client()
        client.send(call("wait", id: "w"))
        #expect(
            client.answers(
                to: "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"w\"}}"
            )
            .isEmpty)
        #expect(client.answers(to: call("echo", ["text": "x"], id: "w")).first?["id"]?.string == "w")
    }

    @Test("two requests under way can't have the same ID")
    func sameIdentifier() {
        let client = client()
        client.send(call("wait", id: 5))
        client.send(call("echo", ["text": "x"], id: 5))
        #expect(client.messages.last?["error"]?["code"]?.integer == -32600)
        client.server.finish()
    }

    @Test("so many calls may wait, and further ones are told to come later")
    func tooMany() {
        let client = client()
        for number in 0..<17 { client.send(call("wait", id: .integer(Int64(number)))) }
        #expect(client.messages.last?["id"]?.integer == 16)
        #expect(client.messages.last?["error"]?["code"]?.integer == -32603)
        client.server.finish()
        #expect(client.messages.count == 18)
        #expect(client.answers(to: call("wait", id: 99)).first?["result"] != nil)
    }

    @Test("resources are listed and read")
    func resources() {
        let client = client()
        #expect(client.answer("resources/list")?["result"]?["resources"]?.array?.first?["uri"]?.string == "test://page")
        #expect(client.answer("resources/templates/list")?["result"]?["resourceTemplates"] == [])
        let read = client.answer("resources/read", ["uri": "test://page"])?["result"]?["contents"]?.array?.first
        #expect(read == ["uri": "test://page", "mimeType": "text/plain", "text": "what it says"])
        #expect(client.answer("resources/read", ["uri": "test://other"])?["error"]?["code"]?.integer == -32002)
        let stateless = client.answer("resources/read", Conversation.stateless(["uri": "test://other"]))
        #expect(stateless?["error"]?["code"]?.integer == -32602)
        #expect(client.answer("resources/read")?["error"]?["code"]?.integer == -32602)
    }
}
