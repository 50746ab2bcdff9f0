import Foundation
import HTTPServer
import Platform
import Synchronization
import TestSupport
import Testing

/// The server as on systems without epoll: libmicrohttpd's workers wait with poll.
@Suite("The server without epoll", .serialized)
struct PollTests {
    private func start(_ handler: @escaping Server.Handler = ServerTests.echo) throws -> Server {
        var options = Server.Options()
        options.polls = true
        options.workers = 2
        options.stopGrace = .milliseconds(300)
        return try Server(options, handler: handler)
    }

    @Test("answers come in the order of the requests, and bodies arrive whole")
    func requests() throws {
        let server = try start()
        let wire = try Wire(port: Int(server.port))
        wire.send((0..<20).map { "GET /\($0) HTTP/1.1\r\nHost: x\r\n\r\n" }.joined())
        for number in 0..<20 { #expect(try wire.receive().text == "GET /\(number) - 0") }
        let body = [UInt8](repeating: 0x61, count: 900_000)
        wire.send("POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.count)\r\n\r\n")
        wire.send(String(decoding: body, as: UTF8.self))
        #expect(try wire.receive().text == "POST /p - 900000")
    }

    @Test("three hundred delayed answers hold no thread")
    func delays() throws {
        let server = try start()
        let port = Int(server.port)
        let wires = try (0..<300).map { _ in try Wire(port: port) }
        for wire in wires { wire.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n") }
        #expect(try TestClient(port: port).get("/quick").text == "GET /quick - 0")
        for wire in wires { #expect(try wire.receive().text == "slow") }
    }

    @Test("a delayed answer whose client goes is let go")
    func abandoned() throws {
        let server = try start(ConnectionTests.waiting)
        var wires = (0..<50).map { _ in Wire.asking(port: Int(server.port), "/") }
        #expect(eventually { server.counters.held == 50 })
        wires.removeAll()
        #expect(eventually { server.counters.open == 0 })
        #expect(server.counters.abandoned == 50)
    }

    @Test("stopping answers 503 to what would take too long")
    func stopping() throws {
        let server = try start { _ in .after(.seconds(86_400), Response(status: 200)) }
        let wire = try Wire(port: Int(server.port))
        wire.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(eventually { server.counters.held == 1 })
        server.stop()
        #expect(try wire.receive().status == 503)
    }
}
