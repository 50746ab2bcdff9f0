import JSON
import ModelContextProtocol
import Platform
import Synchronization

extension FuzzTarget {
    /// Sends messages of the Model Context Protocol to a server. Each line of the input is one message of the client.
    static let modelContext = FuzzTarget("model-context", maximumLength: 8_192) { bytes in
        let lines = try read(bytes)
        let client = ModelContextClient()
        for line in lines {
            client.server.receive(line)
            client.server.finish()
            try client.check(line)
        }
        // A correct request at the end must be answered, whatever the earlier messages were.
        client.server.receive(.text(Array(#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#.utf8)))
        try require(client.take().contains { $0["id"]?.string == "last" && $0["result"] != nil }, "no ping at the end")
    }

    private static let lineLimit = 2_048

    /// Reads the bytes through a pipe as lines, and checks that they are the input's lines. Lines that are too long are
    /// marked.
    private static func read(_ bytes: [UInt8]) throws -> [LineReader.Line] {
        var ends: [Int32] = [-1, -1]
        try require(pipe(&ends) == 0, "no pipe")
        defer { close(ends[0]) }
        // The whole input fits into the pipe, so the write doesn't block.
        let written = bytes.withUnsafeBytes { Platform.write(ends[1], $0.baseAddress, $0.count) }
        close(ends[1])
        try require(written == bytes.count, "\(written) of \(bytes.count) bytes were taken")
        var reader = LineReader(ends[0], limit: lineLimit)
        var lines: [LineReader.Line] = []
        while let line = reader.next() { lines.append(line) }
        var expected = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map(Array.init)
        if expected.last?.isEmpty ?? false { expected.removeLast() }
        try require(lines.count == expected.count, "\(lines.count) lines in place of \(expected.count)")
        for (line, text) in zip(lines, expected) {
            try require(line == (text.count > lineLimit ? .tooLong : .text(text)), "another line than was sent")
        }
        return lines
    }
}

/// A server with a tool for each kind of result, and the messages that it has sent.
private final class ModelContextClient: Sendable {
    private struct Text: SchemaObject {
        let text: String
        let times: Int

        init(_ fields: inout Fields) {
            text = fields("text", .text(.nonEmpty), "What to say again.")
            times = fields("times", .integer(0...9), default: 1, "How often.")
        }
    }

    private final class Sent: Sendable {
        let all = Mutex<[JSONValue]>([])
    }

    let server: ModelContextServer
    private let sent: Sent

    init() {
        let said = Schema.members([.required("said", .strings(), "What was said.")])
        let echo = Tool("echo", title: "Echo", .reads, "Says it again.", arguments: Text.self, answers: said) {
            order, _ throws(ToolFailure) in
            guard order.times > 0 else { throw ToolFailure("it was told to fail") }
            return .object(
                JSONObject([("said", .array((0..<order.times).map { _ in .string(order.text) }))]))
        }
        let wait = Tool(
            "wait", title: "Wait", .changes, "Waits until nobody wants it to.", arguments: Text.self, answers: nil,
            waits: { _ in true }
        ) { order, call in .text(call.shouldEnd ? "ended" : order.text) }
        let page = Resource(uri: "test://page", name: "page", title: "A page", type: "text/plain") { "what it says" }
        let identity = ServerIdentity(
            name: "fuzz", title: "Fuzz", version: "1", about: "A server for fuzzers.", instructions: "Say something.")
        let sent = Sent()
        server = ModelContextServer(identity, tools: [echo, wait], resources: [page]) { message in
            sent.all.withLock { $0.append(message) }
        }
        self.sent = sent
    }

    /// Returns the messages that were sent since the last call of this function.
    func take() -> [JSONValue] {
        sent.all.withLock { all in
            defer { all = [] }
            return all
        }
    }

    /// Checks the answer to a line: it has at most one part for each message on the line, and each part answers one of
    /// them.
    func check(_ line: LineReader.Line) throws {
        let answers = take()
        try require(answers.count <= 1, "\(answers.count) messages for a line")
        guard let answer = answers.first else { return }
        let written = answer.serialized()
        try require(!written.contains(0x0A), "a message that isn't a line")
        try require((try? JSONValue(parsing: written))?.serialized() == written, "not JSON: \(answer.text)")
        var asked: [JSONValue]?
        if case .text(let bytes) = line, let json = try? JSONValue(parsing: bytes) { asked = json.array ?? [json] }
        let parts = answer.array ?? [answer]
        try require(parts.count <= max(1, asked?.count ?? 1), "more answers than messages: \(answer.text)")
        for part in parts { try check(part, asked: asked ?? []) }
    }

    private func check(_ answer: JSONValue, asked: [JSONValue]) throws {
        let text = answer.text
        try require(answer["jsonrpc"]?.string == "2.0", "not of JSON-RPC 2.0: \(text)")
        guard let id = answer.object?["id"] else { throw Finding("no ID: \(text)") }
        try require((answer["result"] == nil) != (answer["error"] == nil), "neither or both: \(text)")
        if let error = answer["error"] {
            try require(error["code"]?.integer.map { $0 < 0 } ?? false, "no code: \(text)")
            try require(error["message"]?.string?.isEmpty == false, "no message: \(text)")
        }
        guard !id.isNull else {
            return try require(answer["error"] != nil, "an answer to nobody: \(text)")
        }
        let isAsked = asked.contains { message in
            message["id"]?.text == id.text || (id.number != nil && message["id"]?.number == id.number)
        }
        try require(isAsked, "an answer to what wasn't asked: \(text)")
        if let result = answer["result"], let structure = result["structuredContent"] {
            try require(structure["said"]?.array != nil, "another form than was announced: \(text)")
        }
    }
}
