import JSON
import Testing

@Suite("Lines that nobody should send")
struct HostileLineTests {
    private static let lines = [
        """
        {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{}}}
        """,
        """
        {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}
        """,
        """
        [{"jsonrpc":"2.0","id":2,"method":"tools/list"},{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}]
        """,
        """
        {"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"test://page","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
        """,
    ]

    /// Bytes with a meaning in JSON, and some that are invalid in it.
    private static let bytes = Array("\"\\{}[],:0-n".utf8) + [0x00, 0x1F, 0x80, 0xFF]

    @Test("changed anywhere, a line is answered with a message or not at all, and the server goes on", arguments: lines)
    func mutations(_ line: String) {
        let client = Conversation()
        let original = Array(line.utf8)
        for place in original.indices {
            var cut = original
            cut.removeSubrange(place...)
            client.server.receive(.text(cut))
            for byte in HostileLineTests.bytes {
                var changed = original
                changed[place] = byte
                client.server.receive(.text(changed))
            }
        }
        client.server.finish()
        #expect(client.messages.count > original.count)
        for message in client.messages.flatMap({ $0.array ?? [$0] }) {
            #expect(message["jsonrpc"]?.string == "2.0")
            #expect(message.object?["id"] != nil)
            #expect((message["result"] == nil) != (message["error"] == nil), "\(message)")
            if let error = message["error"] {
                #expect(error["code"]?.integer != nil && error["message"]?.string?.isEmpty == false)
            }
        }
        #expect(client.answer("ping", id: "still")?["result"] == [:])
    }
}
