import Foundation
import HTTPServer
import Synchronization
import TestSupport
import Testing

@Suite("How a body travels")
struct DeliveryTests {
    private func server(_ response: Response) throws -> Server {
        try Server(Server.Options()) { _ in .now(response) }
    }

    private func wire(to server: Server) throws -> Wire {
        let wire = try Wire(port: Int(server.port))
        wire.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return wire
    }

    @Test("a dropped answer closes the connection before the first byte, at once and later", arguments: [false, true])
    func dropped(isLater: Bool) throws {
        var response = Response(status: 200, contentType: "text/plain", body: "never seen")
        response.delivery = .dropped
        let answer = response
        let server = try Server(Server.Options()) { _ in isLater ? .after(.milliseconds(20), answer) : .now(answer) }
        #expect(try wire(to: server).isClosed)
    }

    @Test("a cut answer announces the whole body and brings half of it", arguments: [1, 2, 1000, 100_000])
    func cut(size: Int) throws {
        var response = Response(status: 200, contentType: "text/plain", body: String(repeating: "x", count: size))
        response.delivery = .cut
        let server = try server(response)
        let bytes = try wire(to: server).rest()
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 200"))
        #expect(text.contains("Content-Length: \(size)\r\n"))
        let body = text.components(separatedBy: "\r\n\r\n")[1]
        #expect(body.count == size / 2)
    }

    @Test("an empty body can be cut, too")
    func cutEmpty() throws {
        var response = Response.redirect(to: "http://example.com")
        response.delivery = .cut
        let server = try server(response)
        let wire = try wire(to: server)
        #expect(throws: TransportError.self) { try wire.receive() }
        server.stop()
    }

    @Test("a stream brings what is sent, from any thread, until it ends")
    func stream() throws {
        let stream = EventStream()
        var response = Response(status: 200, contentType: "text/event-stream", body: "")
        response.delivery = .stream(stream)
        let server = try server(response)
        let wire = try wire(to: server)
        stream.send("first ")
        Thread.sleep(forTimeInterval: 0.05)
        let threads = (0..<8).map { number in
            Thread { for _ in 0..<100 { stream.send("[\(number)]") } }
        }
        threads.forEach { $0.start() }
        while threads.contains(where: { !$0.isFinished }) { usleep(1000) }
        stream.end()
        let text = try wire.chunks()
        #expect(text.hasPrefix("first "))
        server.stop()
        for number in 0..<8 { #expect(text.components(separatedBy: "[\(number)]").count == 101) }
        #expect(!stream.send(Array("late".utf8)))
    }

    @Test("whoever streams is told when the reader has gone before the answer was there")
    func closedBefore() throws {
        let asked = Mutex<Completion?>(nil)
        let server = try Server(Server.Options()) { _ in .later { done in asked.withLock { $0 = done } } }
        var wire: Wire? = try self.wire(to: server)
        #expect(wire != nil && eventually { server.counters.held == 1 })
        wire = nil
        #expect(eventually { server.counters.abandoned == 1 })
        let isClosed = Mutex(false)
        do {
            let stream = EventStream()
            stream.whenClosed { isClosed.withLock { $0 = true } }
            var response = Response(status: 200, contentType: "text/event-stream", body: "")
            response.delivery = .stream(stream)
            asked.withLock { $0 }?(response)
            asked.withLock { $0 = nil }
        }
        #expect(eventually { isClosed.withLock { $0 } })
        server.stop()
    }

    @Test("whoever streams is told when the reader goes")
    func closed() throws {
        let stream = EventStream()
        var response = Response(status: 200, contentType: "text/event-stream", body: "")
        response.delivery = .stream(stream)
        let server = try server(response)
        let isClosed = Mutex(false)
        stream.whenClosed { isClosed.withLock { $0 = true } }
        do {
            let wire = try wire(to: server)
            stream.send("hello")
            #expect(try !wire.receive(toHEAD: true).headers.isEmpty)
        }
        #expect(
            eventually {
                stream.send(": still there?\n\n")
                return isClosed.withLock { $0 }
            })
    }

    @Test("a stream doesn't hold up a stop")
    func stop() throws {
        let stream = EventStream()
        var response = Response(status: 200, contentType: "text/event-stream", body: "")
        response.delivery = .stream(stream)
        let answer = response
        var options = Server.Options()
        // The server waits for requests in flight, much longer than stopping takes on any machine.
        options.stopGrace = .seconds(86_400)
        let server = try Server(options) { _ in .now(answer) }
        let wire = try wire(to: server)
        stream.send("hello")
        _ = try wire.receive(toHEAD: true)
        server.stop()
        #expect(try wire.chunks() == "hello")
    }

    @Test("two hundred idle streams hold no thread: another request is answered")
    func idle() throws {
        let streams = (0..<200).map { _ in EventStream() }
        let next = Mutex(0)
        var options = Server.Options()
        options.workers = 2
        let server = try Server(options) { request in
            guard request.path == "/stream" else {
                return .now(Response(status: 200, contentType: "text/plain", body: "hello"))
            }
            let number = next.withLock { value in
                defer { value += 1 }
                return value
            }
            var response = Response(status: 200, contentType: "text/event-stream", body: "")
            response.delivery = .stream(streams[number])
            return .now(response)
        }
        let wires = try streams.map { _ in
            let wire = try Wire(port: Int(server.port))
            wire.send("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return wire
        }
        #expect(try TestClient(port: Int(server.port)).get("/").text == "hello")
        #expect(eventually { next.withLock { $0 } == streams.count })
        for stream in streams {
            stream.send("x")
            stream.end()
        }
        for wire in wires { #expect(try wire.chunks() == "x") }
    }
}
