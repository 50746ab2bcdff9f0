import Foundation
import Platform
import HTTPServer
import Synchronization
import TestSupport
import Testing

@Suite("The server", .serialized)
struct ServerTests {
    private func start(
        _ change: (inout Server.Options) -> Void = { _ in }, handler: @escaping Server.Handler = ServerTests.echo
    ) throws -> Server {
        var options = Server.Options()
        change(&options)
        return try Server(options, handler: handler)
    }

    /// Answers with the request.
    static let echo: Server.Handler = { request in
        if request.path == "/slow" {
            return .after(.milliseconds(300), Response(status: 200, contentType: "text/plain", body: "slow"))
        }
        let text = "\(request.method) \(request.path) \(request.query ?? "-") \(request.body.count)"
        return .now(Response(status: 200, contentType: "text/plain", body: text))
    }

    @Test("a server that is let go while its workers are busy stops all the same")
    func letGo() throws {
        for _ in 0..<50 {
            var server: Server? = try start {
                $0.workers = 2
            } handler: { _ in
                .now(Response(status: 200, contentType: "text/plain", body: "hello"))
            }
            let port = Int(server?.port ?? 0)
            let wires = try (0..<8).map { _ in try Wire(port: port) }
            for wire in wires { wire.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") }
            server = nil
            // Every connection must be closed, so that reading ends.
            for wire in wires { #expect(wire.closes) }
        }
    }

    @Test("keep-alive and pipelining: answers come in the order of the requests")
    func pipelining() throws {
        let server = try start()
        let wire = try Wire(port: Int(server.port))
        wire.send((0..<20).map { "GET /\($0) HTTP/1.1\r\nHost: x\r\n\r\n" }.joined())
        for number in 0..<20 { #expect(try wire.receive().text == "GET /\(number) - 0") }
    }

    @Test("HEAD has GET's length and no body")
    func head() throws {
        let server = try start()
        let wire = try Wire(port: Int(server.port))
        wire.send("HEAD /abc HTTP/1.1\r\nHost: x\r\n\r\nGET /next HTTP/1.1\r\nHost: x\r\n\r\n")
        let answer = try wire.receive(toHEAD: true)
        #expect(answer.header("Content-Length") == "\("HEAD /abc - 0".utf8.count)")
        #expect(try wire.receive().text == "GET /next - 0")
    }

    @Test("a chunked body arrives whole")
    func chunked() throws {
        let server = try start()
        let wire = try Wire(port: Int(server.port))
        wire.send(
            "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n"
        )
        #expect(try wire.receive().text == "POST /c - 11")
    }

    @Test("the target is handed on as it was sent")
    func rawTarget() throws {
        let server = try start()
        let answer = try TestClient(port: Int(server.port)).get("/a%2Fb%20c/%ff?x=%41+%zz&y")
        #expect(answer.text == "GET /a%2Fb%20c/%ff x=%41+%zz&y 0")
    }

    @Test("a body over the limit is 413, declared or chunked, and the server goes on")
    func bodyLimit() throws {
        let server = try start { $0.bodyLimitBytes = 1000 }
        let port = Int(server.port)
        let declared = try Wire(port: port)
        declared.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n")
        #expect(try declared.receive().status == 413)
        let chunked = try Wire(port: port)
        let chunk = "1f4\r\n" + String(repeating: "x", count: 500) + "\r\n"
        chunked.send(
            "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\(chunk)\(chunk)\(chunk)0\r\n\r\n")
        #expect(try chunked.receive().status == 413)
        #expect(try TestClient(port: port).request("POST", "/", body: [UInt8](repeating: 1, count: 1000)).status == 200)
    }

    @Test("a client that sends a body over the limit whole before it reads gets the refusal")
    func refusedBody() throws {
        let server = try start { $0.bodyLimitBytes = 1 << 20 }
        // The script fails if the connection is closed while it sends.
        let script = """
            import http.client, sys
            for _ in range(5):
                connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
                connection.request("POST", "/", b"x" * (15 << 20))
                print(connection.getresponse().status)
            """
        let result = try Shell.run("python3", ["-c", script, "\(server.port)"])
        #expect(result.output == String(repeating: "413\n", count: 5), "\(result.errors)")
        #expect(try TestClient(port: Int(server.port)).get("/").status == 200)
    }

    @Test("a body over the limit for which leave is asked isn't wanted")
    func expectedBody() throws {
        let server = try start { $0.bodyLimitBytes = 1000 }
        let wire = try Wire(port: Int(server.port))
        wire.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\nExpect: 100-continue\r\n\r\n")
        #expect(try wire.receive().status == 413)
    }

    @Test("a chunked body without end is cut off")
    func endlessBody() throws {
        let server = try start { $0.bodyLimitBytes = 1000 }
        let wire = try Wire(port: Int(server.port))
        wire.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        let chunk = Array(("3e8\r\n" + String(repeating: "x", count: 1000) + "\r\n").utf8)
        for _ in 0..<40 { wire.send(chunk) }
        #expect(wire.isClosed)
        #expect(try TestClient(port: Int(server.port)).get("/").status == 200)
    }

    @Test("a header over the limit is 431", arguments: [33_000, 45_000, 200_000])
    func headerLimit(size: Int) throws {
        let server = try start()
        let wire = try Wire(port: Int(server.port))
        wire.send("GET / HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "a", count: size))\r\n\r\n")
        #expect(try wire.receive().status == 431)
        let fits = String(repeating: "a", count: 30_000)
        #expect(try TestClient(port: Int(server.port)).get("/", headers: ["X": fits]).status == 200)
    }

    @Test("a thousand delayed answers hold no thread")
    func delays() throws {
        let server = try start { $0.workers = 2 }
        let port = Int(server.port)
        let begin = ContinuousClock.now
        let wires = try (0..<1000).map { _ in try Wire(port: port) }
        for wire in wires { wire.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n") }
        #expect(try TestClient(port: port).get("/quick").text == "GET /quick - 0")
        for wire in wires { #expect(try wire.receive().text == "slow") }
        // One after another, they would take five minutes.
        #expect(ContinuousClock.now - begin < .seconds(120))
    }

    @Test("stopping finishes what is in flight")
    func stopping() throws {
        let asked = Mutex<Completion?>(nil)
        let server = try start({ $0.stopGrace = .seconds(86_400) }) { _ in
            .later { done in asked.withLock { $0 = done } }
        }
        let port = Int(server.port)
        let wire = try Wire(port: port)
        wire.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(eventually { asked.withLock { $0 != nil } })
        let end = Thread { server.stop() }
        end.start()
        // The server is stopping when new connections are refused.
        #expect(eventually { (try? Wire(port: port)) == nil })
        asked.withLock { $0 }?(Response(status: 200, contentType: "text/plain", body: "slow"))
        let answer = try wire.receive()
        #expect(eventually { end.isFinished })
        #expect(answer.text == "slow")
        #expect(answer.header("Connection") == "close")
        #expect(throws: TransportError.self) { try Wire(port: port) }
        server.stop()
    }

    @Test("stopping answers 503 to what would take too long")
    func stoppingSuspended() throws {
        let server = try start({ $0.stopGrace = .milliseconds(200) }) { _ in
            .after(.seconds(86_400), Response(status: 200))
        }
        let wire = try Wire(port: Int(server.port))
        wire.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(eventually { server.counters.held == 1 })
        server.stop()
        #expect(try wire.receive().status == 503)
    }

    @Test("stopping under load suspends nothing any more: libmicrohttpd would end the process")
    func stoppingUnderLoad() throws {
        for _ in 0..<30 {
            let server = try start(handler: { _ in
                .later { done in
                    DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(300)) {
                        done(Response(status: 204))
                    }
                }
            })
            let port = Int(server.port)
            let answers = Mutex(0)
            let clients = (0..<16).map { _ in
                Thread {
                    guard let wire = try? Wire(port: port) else { return }
                    while true {
                        wire.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                        guard (try? wire.receive()) != nil else { return }
                        answers.withLock { $0 += 1 }
                    }
                }
            }
            for client in clients { client.start() }
            #expect(eventually { answers.withLock { $0 } > 100 })
            server.stop()
            #expect(eventually { clients.allSatisfy { $0.isFinished } })
        }
    }

    @Test("both loopback addresses answer for localhost")
    func loopbacks() throws {
        let server = try start { $0.host = "localhost" }
        for host in ["127.0.0.1", "::1"] {
            let wire = try Wire(port: Int(server.port), host: host)
            wire.send("GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try wire.receive().text == "GET /x - 0")
        }
    }

    @Test("a port in use is one clear line")
    func portInUse() throws {
        let server = try start()
        let error = #expect(throws: ListenError.self) { try start { $0.port = server.port } }
        #expect(error?.description.contains("something has that port already") ?? false)
        #expect(throws: ListenError.self) { try start { $0.host = "example.com" } }
        #expect(throws: ListenError.self) { try start { $0.host = "203.0.113.7" } }
    }

    @Test("an idle connection is closed")
    func idle() throws {
        let server = try start { $0.idleTimeoutSeconds = 4 }
        let wire = try Wire(port: Int(server.port))
        wire.send("GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
        _ = try wire.receive()
        #expect(wire.isClosed)
    }

    @Test("a reply that comes twice, or from another thread at once, is sent once")
    func repliesOnce() throws {
        let server = try start(handler: { _ in
            .later { done in
                for number in 0..<5 {
                    Thread.detachNewThread { done(Response(status: 200, contentType: "text/plain", body: "\(number)")) }
                }
            }
        })
        for _ in 0..<50 { #expect(try TestClient(port: Int(server.port)).get("/").text.count == 1) }
    }
}
