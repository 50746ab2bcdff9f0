import Foundation
import HTTPServer
import Synchronization
import TestSupport
import Testing

/// libmicrohttpd handles 128 events at a time.
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

    @Test("are all answered when they have waited, and their answers come at once", arguments: [1, 2])
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
            for done in answered { done(Response(status: 204)) }
            for wire in wires { #expect(try wire.receive().status == 204) }
        }
    }

    @Test("get bodies of every size whole, though they are read late", arguments: [1, 2])
    func bodies(workers: Int) throws {
        var options = Server.Options()
        options.workers = workers
        let server = try Server(options) { request in
            .now(Response(status: 200, body: ManyAtOnceTests.body(of: request.path)))
        }
        defer { server.stop() }
        let sizes = [0, 1, 959, 960, 961, 4_000, 8_191, 8_192, 8_193, 100_000]
        let wires = try (0..<40).map { _ in try Wire(port: Int(server.port)) }
        let paths = wires.indices.map { wire in
            (0..<30).map { "/\(wire * 31 + $0)/\(sizes[(wire + $0) % sizes.count])" }
        }
        for (wire, paths) in zip(wires, paths) {
            wire.send(paths.map { "GET \($0) HTTP/1.1\r\nHost: x\r\n\r\n" }.joined())
        }
        for (wire, paths) in zip(wires, paths) {
            for path in paths { #expect(try wire.receive().body == ManyAtOnceTests.body(of: path)) }
        }
    }

    private static let bytes = (0..<102_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 / 251) }

    /// Returns a body whose length is the path's second part. Its first part is the start in ``bytes``.
    private static func body(of path: String) -> [UInt8] {
        let numbers = path.split(separator: "/").compactMap { Int($0) }
        return Array(bytes[numbers[0]..<(numbers[0] + numbers[1])])
    }
}
