import Foundation
import HTTPServer
import Synchronization
import TestSupport
import Testing

/// libmicrohttpd looks at 128 events at a time.
@Suite("As many requests at once as a worker looks at")
struct ManyAtOnceTests {
    @Test("are all answered, on connections that are kept", arguments: [1, 2])
    func answered(workers: Int) throws {
        var options = Server.Options()
        options.workers = workers
        let server = try Server(options) { _ in .now(Response(status: 204)) }
        defer { server.stop() }
        let wires = try (0..<128 * workers).map { _ in try Wire(port: Int(server.port)) }
        for _ in 0..<300 {
            for wire in wires { wire.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n") }
            for wire in wires { #expect(try wire.receive().status == 204) }
        }
    }

    @Test("are all answered when they have waited, and their answers come together", arguments: [1, 2])
    func answeredTogether(workers: Int) throws {
        var options = Server.Options()
        options.workers = workers
        let waiting = Mutex<[Completion]>([])
        let server = try Server(options) { _ in .later { done in waiting.withLock { $0.append(done) } } }
        defer { server.stop() }
        let wires = try (0..<64).map { _ in try Wire(port: Int(server.port)) }
        for _ in 0..<50 {
            for wire in wires { wire.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n") }
            while waiting.withLock({ $0.count }) < wires.count { usleep(500) }
            let answered = waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            ResumedConnections.together { for done in answered { done(Response(status: 204)) } }
            for wire in wires { #expect(try wire.receive().status == 204) }
        }
    }
}
