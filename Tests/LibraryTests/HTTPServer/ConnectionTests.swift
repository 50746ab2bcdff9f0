import Foundation
import Platform
import HTTPServer
import Synchronization
import TestSupport
import Testing

@Suite("Connections at their limits", .serialized)
struct ConnectionTests {
    static let refusal: @Sendable (Int, String, String?) -> Response = { status, reason, _ in
        Response(
            status: status, contentType: "text/plain",
            headers: [(name: "Understudy-Diagnosis", value: reason), (name: "Understudy-Request", value: "r1")],
            body: "\(reason)\n")
    }

    private func start(
        _ change: (inout Server.Options) -> Void = { _ in },
        handler: @escaping Server.Handler = { _ in
            .now(Response(status: 200, contentType: "text/plain", body: "hello"))
        }
    ) throws -> Server {
        var options = Server.Options()
        options.refusal = ConnectionTests.refusal
        change(&options)
        return try Server(options, handler: handler)
    }

    private func serve(_ handler: @escaping Server.Handler) throws -> Server { try start({ _ in }, handler: handler) }

    /// Answers only after the test, except at `/now`.
    static let waiting: Server.Handler = { request in
        request.path == "/now"
            ? .now(Response(status: 200, contentType: "text/plain", body: "hello"))
            : .after(.seconds(86_400), Response(status: 200, contentType: "text/plain", body: "late"))
    }

    @Test("at the limit the oldest whose request hasn't come whole goes, and is told why")
    func eviction() throws {
        let told = Mutex<[String]>([])
        let server = try start {
            $0.connectionLimit = 4
            $0.warn = { line in told.withLock { $0.append(line) } }
        }
        let port = Int(server.port)
        let half = try (0..<4).map { number in
            let wire = try Wire(port: port)
            wire.send("GET / HTTP/1.1\r\nHost: x\r\n")
            // The connections must be accepted in this order.
            #expect(eventually { server.counters.open == number + 1 })
            return wire
        }
        usleep(100_000)
        #expect(try TestClient(port: port).get("/").text == "hello")
        let answer = try half[0].receive()
        #expect(answer.status == 503)
        #expect(answer.header("Understudy-Diagnosis")?.contains("all 4 connections are in use") ?? false)
        #expect(half[0].isClosed)
        half[3].send("\r\n")
        #expect(try half[3].receive().text == "hello")
        #expect(server.counters.evicted >= 1)
        #expect(eventually { told.withLock { $0.count } == 1 })
    }

    @Test("a connection is refused with a word when all others wait for answers")
    func refusal() throws {
        let server = try start({ $0.connectionLimit = 1 }, handler: ConnectionTests.waiting)
        let kept = Wire.asking(port: Int(server.port), "/")
        #expect(eventually { server.counters.held == 1 })
        let other = try #require(Wire.asking(port: Int(server.port), "/now"))
        let answer = try other.receive()
        #expect(answer.status == 503)
        #expect(answer.header("Understudy-Diagnosis")?.isEmpty == false)
        #expect(server.counters.refused == 1)
        withExtendedLifetime(kept) {}
    }

    @Test("delayed answers leave a quarter of the connections for others")
    func held() throws {
        let server = try start({ $0.connectionLimit = 8 }, handler: ConnectionTests.waiting)
        let port = Int(server.port)
        let kept = (0..<6).map { _ in Wire.asking(port: port, "/") }
        #expect(eventually { server.counters.held == 6 })
        let seventh = try #require(Wire.asking(port: port, "/"))
        let answer = try seventh.receive()
        #expect(answer.status == 503)
        #expect(answer.header("Understudy-Diagnosis")?.contains("6 connections wait for delayed answers") ?? false)
        #expect(try TestClient(port: port).get("/now").text == "hello")
        withExtendedLifetime(kept) {}
    }

    @Test("a delayed answer whose client goes is let go, with all that waits for it")
    func abandoned() throws {
        let settled = Mutex(0)
        let server = try serve { request in
            guard request.path != "/now" else { return .now(Response(status: 204)) }
            return ConnectionTests.waiting(request).map { response in
                settled.withLock { $0 += 1 }
                return response
            }
        }
        let port = Int(server.port)
        var wires = (0..<100).map { _ in Wire.asking(port: port, "/") }
        #expect(eventually { server.counters.held == 100 })
        wires.removeAll()
        #expect(eventually { server.counters.open == 0 })
        #expect(server.counters.abandoned == 100)
        #expect(server.counters.held == 0)
        // The callers get their results, a day early.
        #expect(eventually { settled.withLock { $0 } == 100 })
        #expect(try TestClient(port: port).get("/now").status == 204)
    }

    @Test("a stream whose client goes is closed at once")
    func abandonedStream() throws {
        let closed = Mutex(0)
        let server = try serve { _ in
            let stream = EventStream()
            stream.send("hello")
            stream.whenClosed { closed.withLock { $0 += 1 } }
            var response = Response(status: 200, contentType: "text/event-stream", body: "")
            response.delivery = .stream(stream)
            return .now(response)
        }
        var wires = (0..<20).compactMap { _ in Wire.asking(port: Int(server.port), "/") }
        for wire in wires { #expect(try wire.chunk() == "hello") }
        #expect(server.counters.held == 20)
        wires.removeAll()
        #expect(eventually { closed.withLock { $0 } == 20 })
        #expect(eventually { server.counters.open == 0 })
    }

    @Test("a request that doesn't come whole in time is 408", arguments: ["", "Content-Length: 10\r\n\r\nhel"])
    func deadline(rest: String) throws {
        let server = try start { $0.requestSeconds = 4 }
        let wire = try Wire(port: Int(server.port))
        wire.send("POST / HTTP/1.1\r\nHost: x\r\n" + rest)
        let answer = try wire.receive()
        #expect(answer.status == 408)
        #expect(answer.header("Understudy-Diagnosis")?.contains("4 seconds") ?? false)
        #expect(wire.isClosed)
        #expect(server.counters.expired == 1)
    }

    @Test("the bodies of requests have a bound together: the oldest that is still coming goes")
    func bodies() throws {
        let server = try start { $0.bodyLimitBytesTogether = 250_000 }
        let port = Int(server.port)
        let half = try (0..<5).map { number in
            let wire = try Wire(port: port)
            let head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100001\r\n\r\n"
            wire.send(Array(head.utf8) + [UInt8](repeating: 1, count: 100_000))
            let bytes = UInt64(max(0, number - 1))
            #expect(eventually { server.counters.evicted == bytes && server.counters.bodyBytes > 0 })
            #expect(eventually { server.counters.bodyBytes == min(number + 1, 2) * 100_000 })
            return wire
        }
        for wire in half.prefix(3) {
            let answer = try wire.receive()
            #expect(answer.status == 503)
            #expect(answer.header("Understudy-Diagnosis")?.contains("250000 bytes") ?? false)
        }
        half[4].send("x")
        #expect(try half[4].receive().text == "hello")
        #expect(eventually { server.counters.bodyBytes == 100_000 })
    }

    @Test("the answers that clients don't read have a bound together: the oldest reader goes")
    func unreadAnswers() throws {
        let body = [UInt8](repeating: 1, count: 20_000_000)
        let server = try start({ $0.answerLimitBytesTogether = 50_000_000 }) { request in
            .now(Response(status: 200, body: request.path == "/large" ? body : [1]))
        }
        let port = Int(server.port)
        let wires = (1...5).compactMap { number in
            let wire = Wire.asking(port: port, "/large")
            // The answers must begin in this order.
            let evicted = UInt64(max(0, number - 2))
            #expect(eventually { server.counters.evicted == evicted && server.counters.answerBytes > 0 })
            #expect(eventually { server.counters.answerBytes == min(number, 2) * 20_000_000 })
            return wire
        }
        #expect(wires.count == 5)
        #expect(try TestClient(port: port).get("/").status == 200)
        #expect(try wires[4].receive().body.count == body.count)
        #expect(eventually { server.counters.answerBytes == 20_000_000 })
    }

    @Test("the body of a request whose client has gone counts until the work on the request has ended")
    func leftBody() throws {
        let completions = Mutex<[Completion]>([])
        let server = try serve { _ in .later { done in completions.withLock { $0.append(done) } } }
        var wire: Wire? = try Wire(port: Int(server.port))
        let head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"
        wire?.send(Array(head.utf8) + [UInt8](repeating: 1, count: 100_000))
        #expect(eventually { completions.withLock { $0.count } == 1 })
        wire = nil
        #expect(eventually { server.counters.abandoned == 1 && server.counters.open == 0 })
        #expect(server.counters.bodyBytes == 100_000)
        completions.withLock { $0.removeFirst() }(Response(status: 200))
        #expect(eventually { server.counters.bodyBytes == 0 })
    }

    @Test("stopping waits neither for a thousand that wait nor for a thousand that are half sent")
    func stopping() throws {
        let server = try start(handler: ConnectionTests.waiting)
        let port = Int(server.port)
        let wires = (0..<1000).map { _ in Wire.asking(port: port, "/") }
        let half = try (0..<1000).map { _ in
            let wire = try Wire(port: port)
            wire.send("GET / HTTP/1.1\r\nHost: x\r\n")
            return wire
        }
        #expect(eventually { server.counters.held == 1000 && server.counters.open == 2000 })
        server.stop()
        #expect(try wires[0]?.receive().status == 503)
        #expect(try half[0].receive().status == 503)
        #expect(server.counters.open == 0)
    }

    /// A request, which is shown by its beginning: some are hundreds of kilobytes long.
    struct MalformedRequest: CustomTestStringConvertible {
        let text: String
        let status: Int

        init(_ text: String, _ status: Int) { (self.text, self.status) = (text, status) }

        var testDescription: String { "\(text.prefix(120).debugDescription) → \(status)" }
    }

    static let malformedRequests = [
        MalformedRequest("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n", 400),
        MalformedRequest("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
        MalformedRequest("POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n", 400),
        MalformedRequest("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n", 413),
        MalformedRequest("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9223372036854775808\r\n\r\n", 413),
        MalformedRequest("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551615\r\n\r\n", 413),
        MalformedRequest("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        MalformedRequest("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        MalformedRequest("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 400),
        MalformedRequest("POST / HTTP/1.1\r\nHost: x\r\nContent-Length : 1\r\n\r\n", 400),
        MalformedRequest("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        MalformedRequest("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", 400),
        MalformedRequest(
            "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\n", 413),
        MalformedRequest(
            "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "2;a=\(String(repeating: "x", count: 200_000))\r\n{}\r\n0\r\n\r\n", 400
        ),
        MalformedRequest("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400),
        MalformedRequest("GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n", 400),
        MalformedRequest("GET / HTTP/1.1\r\n folded: first\r\nHost: x\r\n\r\n", 400),
        MalformedRequest("GET /\r\n\r\n", 400),
        MalformedRequest("GET / HTTP/9.9\r\nHost: x\r\n\r\n", 505),
        MalformedRequest("GET /\(String(repeating: "a", count: 400_000)) HTTP/1.1\r\nHost: x\r\n\r\n", 414),
        MalformedRequest("GET / HTTP/1.1\r\nHost: x\r\n\(String(repeating: "X: y\r\n", count: 20_000))\r\n", 431),
    ]

    @Test(
        "a malformed request is refused once, with a diagnosis",
        .enabled(if: Machine.isLinux, "libmicrohttpd's own pages can only be replaced on Linux"),
        arguments: malformedRequests)
    func malformed(request: MalformedRequest) throws {
        let server = try start()
        let wire = try Wire(port: Int(server.port))
        wire.send(request.text)
        let text = String(decoding: wire.rest(), as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 \(request.status) "), "\(text)")
        for word in ["HTTP/1.1 ", "Understudy-Diagnosis:", "Understudy-Request:", "Content-Length:"] {
            #expect(text.components(separatedBy: word).count == 2, "\(word) in \(text)")
        }
        #expect(try TestClient(port: Int(server.port)).get("/").text == "hello")
    }

    @Test("a thousand cookies are no reason to refuse a request")
    func cookies() throws {
        let server = try serve { request in
            .now(Response(status: 200, contentType: "text/plain", body: request.header("Cookie") ?? ""))
        }
        let cookie = (0..<5000).map { "a\($0 % 10)=b" }.joined(separator: ";")
        #expect(try TestClient(port: Int(server.port)).get("/", headers: ["Cookie": cookie]).text == cookie)
    }
}
