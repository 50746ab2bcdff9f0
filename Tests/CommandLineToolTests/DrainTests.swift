import Foundation
import TestSupport
import Testing

/// A load balancer needs a moment to notice that a daemon is ending. `Tests/Stress/rolling` tries it with a real one.
@Suite("understudy serve --drain")
struct DrainTests {
    private static let health = "/_understudy/v1/health"

    @Test("a daemon that is told to end answers on, says so, and closes connections; told twice, it ends")
    func drain() throws {
        let daemon = try Daemon(["--port", "0", "--drain", "600"])
        let client = TestClient(port: daemon.port)
        let kept = try Wire(port: daemon.port)
        func ask() throws -> Answer {
            kept.send("GET /appleid.apple.com/auth/keys HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return try kept.receive()
        }
        #expect(try ask().header("Connection")?.lowercased() != "close")
        #expect(try client.get(DrainTests.health).status == 200)
        kill(daemon.process.processIdentifier, SIGTERM)
        var health = try client.get(DrainTests.health)
        #expect(
            try eventually {
                health = try client.get(DrainTests.health)
                return health.status != 200
            })
        #expect(health.status == 503)
        #expect(health["status"] == "ending")
        #expect(!health.diagnosis.isEmpty)
        let last = try ask()
        #expect(last.status == 200)
        #expect(last.header("Connection") == "close")
        #expect(kept.isClosed)
        #expect(try client.get("/appleid.apple.com/auth/keys").status == 200)
        let end = daemon.stop()
        #expect(end.status == 0)
        #expect(end.seconds < 300)
    }

    @Test("it ends by itself when the time is over")
    func over() throws {
        let daemon = try Daemon(["--port", "0"], environment: ["UNDERSTUDY_DRAIN": "1"])
        let end = daemon.stop()
        #expect(end.status == 0)
        #expect(end.seconds >= 1)
    }

    @Test("what isn't a number of seconds is refused", arguments: ["-1", "601", "soon"])
    func refused(value: String) throws {
        #expect(try Tool.run("serve", "--port", "0", "--drain=\(value)").status == 64)
        #expect(try Tool.run("serve", "--port", "0", environment: ["UNDERSTUDY_DRAIN": value]).status == 64)
    }
}
