import Foundation
import TestSupport
import Testing

/// These tests check that the page of an exchange is well-formed with any texts, and that the command that repeats the
/// exchange stays a single command.
@Suite("Hostile exchanges") struct HostileExchangeTests {
    let fixture: InspectorFixture

    init() throws { fixture = try InspectorFixture() }

    static let markup = "\"'><script>window.hacked=1</script><img src=x onerror=alert(1)>"

    /// Sends the request as bytes, since no client library would send it.
    private func send(_ head: String, _ body: [UInt8] = []) throws -> Answer {
        let wire = try Wire(port: fixture.server.port)
        wire.send(
            Array("\(head)\r\nHost: localhost\r\nContent-Length: \(body.count)\r\nConnection: close\r\n\r\n".utf8)
                + body)
        return try wire.receive()
    }

    @Test(
        "markup, marks of direction and control characters are text",
        arguments: [
            markup, "\u{202E}\u{2066}exe.txt\u{200F}", "\u{1B}[31mred\u{7}", "\u{FEFF}\u{200B}\u{85}",
        ])
    func texts(text: String) throws {
        let encoded = TestClient.escape(text)
        let answer = try fixture.client.post(
            "/appleid.apple.com/auth/token?\(encoded)=\(encoded)",
            form: ["client_id": text, text: text, "code": text],
            headers: ["Cookie": "a=\(text.filter(\.isASCII).filter { $0 >= " " })"])
        let other = try fixture.client.post("/appleid.apple.com/auth/token", form: ["client_id": "x"])
        for path in ["requests/\(answer.exchangeID)", "requests/\(answer.exchangeID)?with=\(other.exchangeID)"] {
            let page = try fixture.page(path)
            #expect(page.status == 200)
            #expect(!page.text.contains("<script>") && !page.text.contains("<img"))
            for scalar in text.unicodeScalars where scalar.properties.isBidiControl || scalar.value == 0x1B {
                #expect(!page.text.unicodeScalars.contains(scalar), "\(path)")
            }
        }
    }

    @Test(
        "bytes that aren't UTF-8, a megabyte, deep JSON and many headers",
        arguments: [
            "bytes", "megabyte", "deep", "zero", "headers", "numbers", "fields",
        ])
    func bodies(kind: String) throws {
        let form = "Content-Type: application/x-www-form-urlencoded"
        let json = "Content-Type: application/json"
        let line = "POST /appleid.apple.com/auth/token HTTP/1.1\r\n"
        let answer: Answer
        switch kind {
        case "bytes": answer = try send(line + form, Array("client_id=%FF%FE&%C0%AF=%80&x=".utf8) + [0xFF, 0xC0, 0xAF])
        case "megabyte":
            answer = try send(
                line + json, Array(("{\"a\":\"" + String(repeating: "ä\\\"", count: 240_000) + "\"}").utf8))
        case "deep": answer = try send(line + json, [UInt8](repeating: UInt8(ascii: "["), count: 200_000))
        case "zero": answer = try send(line + json, Array("{\"a\":\"\u{0}\u{1}\"}".utf8) + [0, 0, 0])
        case "headers":
            let many = (0..<120).map { "X-\($0): \(String(repeating: "'", count: 100))" }.joined(separator: "\r\n")
            answer = try send(line + form + "\r\n" + many, Array("a=b".utf8))
        case "numbers":
            answer = try send(
                line + json, Array("{\"exp\":1e400,\"iat\":-99999999999999999999,\"a\":1e-400,\"a\":2}".utf8))
        default:
            let many = (0..<900).map { "f\($0)=\(String(repeating: "<", count: 200))" }.joined(separator: "&")
            answer = try send(line + form, Array(many.utf8))
        }
        let page = try fixture.page("requests/\(answer.exchangeID)")
        #expect(page.status == 200)
        #expect(page.body.count < 400_000, "\(page.body.count)")
        #expect(page.text.hasSuffix("</html>\n"))
        let body = try fixture.page("requests/\(answer.exchangeID)/request-body")
        #expect(body.header("Content-Disposition")?.hasPrefix("attachment") == true)
        #expect(body.header("Content-Type") == "application/octet-stream")
        #expect(body.body.count <= 256 << 10)
        if kind == "megabyte" { #expect(page.words.contains("were recorded")) }
    }

    @Test("a token's numbers and texts without bounds") func token() throws {
        let claims: [String: Any] = [
            "iss": Self.markup, "aud": [Self.markup, "\u{202E}x"], "sub": String(repeating: "s", count: 6_000),
            "exp": 1e300,
            "iat": -1e300, "nonce": ["a": ["b": [1, 2]]], "email": 7, Self.markup: Self.markup,
        ]
        let part = { (value: Any) in
            try JSONSerialization.data(withJSONObject: value).base64EncodedString()
                .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_").trimmingCharacters(
                    in: ["="])
        }
        let token = "\(try part(["alg": "RS256", "kid": Self.markup])).\(try part(claims)).AAAA"
        let answer = try fixture.client.post("/appleid.apple.com/auth/token", form: ["id_token": token])
        let page = try fixture.shown(answer)
        #expect(page.words.contains("whole number") && !page.text.contains("<script>"))
        let pasted = try fixture.submit("explain", ["value": token], from: "explain")
        #expect(pasted.status == 200 && !pasted.text.contains("<script>"))
        #expect(pasted.words.contains("has the kid"))
    }

    @Test(
        "the command sends the same bytes again, and runs nothing of them",
        arguments: [
            "client_id=$(touch /tmp/hacked)&code=`id`&x='\"\\;|&&", "{\"a\":\"it's \\\\n $HOME !! \u{1B}[2J\u{202E}\"}",
            "zero\u{0}bytes 'and' %s \\0 -n", "-n %s\u{0}", "@/etc/passwd", "ünïcödé\r\nnew line\n", "",
            "é'; touch /tmp/hacked #", "\u{1}\\'; touch /tmp/hacked #", "\\'; exit 9 #",
        ])
    func command(body: String) throws {
        let text = "it's $(id) \\ \u{1B}x".filter { $0 != "\u{1B}" }
        let first = try fixture.client.request(
            "POST", "/appleid.apple.com/auth/token?a[1]={x}&b=%27%22$(id)", headers: ["X-Odd": text, "X-Empty": ""],
            body: Array(body.utf8))
        let command = try fixture.shown(first).element("command")
        #expect(command.utf8.allSatisfy { $0 == 0x0A || (0x20..<0x7F).contains($0) })
        var id = ""
        // A text to one shell may be a command to another.
        for shell in ["bash", "sh"] {
            let run = try Shell.run(shell, ["-c", command.replacingOccurrences(of: "curl -i", with: "curl -s -i")])
            #expect(run.status == 0, "\(command)\n\(run.errors)")
            // A balancer may write names of headers in lower case.
            id = String(try #require(run.output.firstMatch(of: #/Understudy-Request: (r\d+)/#.ignoresCase())?.1))
            let sent = try fixture.page("requests/\(id)/request-body").body
            #expect(sent == Array(body.utf8))
        }
        let both = try fixture.page("requests/\(first.exchangeID)?with=\(id)")
        #expect(both.words.contains("Outcome 4 the same") || both.words.contains("Outcome 5 the same"), "\(both.words)")
        let headers = try fixture.client.get("/_understudy/v1/requests/\(id)").text
        #expect(headers.contains("it's $(id)"))
    }
}
