import Foundation
import TestSupport
import Testing

@Suite("understudy health", .serialized)
struct HealthCommandTests {
    @Test("says 0 of a daemon that is ready, found by its address or by the port that it was given")
    func ready() throws {
        let daemon = try Daemon(["--port", "0"])
        defer { _ = daemon.stop() }
        let url = "http://127.0.0.1:\(daemon.port)"
        let named = try Tool.run("health", "--url", url)
        #expect(named.status == 0 && named.output == "\(url) is ready\n" && named.errors.isEmpty, "\(named)")
        #expect(try Tool.run("health", environment: ["UNDERSTUDY_URL": url]).status == 0)
        let found = try Tool.run("health", environment: ["UNDERSTUDY_PORT": "\(daemon.port)"])
        #expect(found.status == 0 && found.output == "http://localhost:\(daemon.port) is ready\n", "\(found)")
    }

    @Test("needs no control token") func token() throws {
        let daemon = try Daemon(["--port", "0", "--control-token", "a-token-of-these-tests"])
        defer { _ = daemon.stop() }
        #expect(try Tool.run("health", "--url", "http://127.0.0.1:\(daemon.port)").status == 0)
    }

    @Test("says 1 and why of one that ends, and where nobody answers") func notReady() throws {
        let daemon = try Daemon(["--port", "0", "--drain", "60"])
        let url = "http://127.0.0.1:\(daemon.port)"
        kill(daemon.process.processIdentifier, SIGTERM)
        var ending = try Tool.run("health", "--url", url)
        #expect(
            try eventually {
                ending = try Tool.run("health", "--url", url)
                return ending.status != 0
            })
        #expect(ending.status == 1 && ending.errors.contains("is shutting down"), "\(ending)")
        // A second SIGTERM makes the daemon end without waiting for open requests.
        _ = daemon.stop(SIGTERM)
        let gone = try Tool.run("health", "--url", url)
        #expect(gone.status == 1 && gone.errors.hasPrefix("understudy: \(url): "), "\(gone)")
        #expect(gone.output.isEmpty)
    }
}
