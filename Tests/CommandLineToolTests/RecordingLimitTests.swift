import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import CommandLineTool

@Suite("Sizes on the command line")
struct RecordingLimitTests {
    @Test(
        "sizes with their units",
        arguments: [
            ("64MB", 64_000_000), ("500000kB", 500_000_000), ("1GB", 1_000_000_000), ("8MiB", 8 << 20),
            ("2000kib", 2_000 << 10), ("1000000", 1_000_000), ("1000000B", 1_000_000),
        ])
    func sizes(text: String, bytes: Int) { #expect(ByteCount(argument: text)?.bytes == bytes) }

    @Test(
        "what isn't a size between 1 MB and 1 TB",
        arguments: [
            "", "MB", "-1MB", "+5MB", "1.5MB", "5 MB", "64XB", "0", "999kB", "1001GB", "9223372036854775807",
            "9223372036854775807GB", "9223372036854775808", "99999999999999999999999MB", "0x10MB", "１MB",
        ])
    func nonsense(text: String) { #expect(ByteCount(argument: text) == nil) }

    @Test("serve takes it as an option or from the environment, and refuses nonsense")
    func option() throws {
        func limit(_ arguments: [String], _ environment: [String: String] = [:]) throws -> Int? {
            let daemon = try Daemon(["--port", "0"] + arguments, environment: environment)
            defer { _ = daemon.stop() }
            let health =
                try TestClient(port: daemon.port).get("/_understudy/v1/health").json["memory"] as? [String: Any]
            return (health?["recording"] as? [String: Any])?["limit"] as? Int
        }
        #expect(try limit([]) == 64_000_000)
        #expect(try limit(["--recording-limit", "8MB"]) == 8_000_000)
        #expect(try limit([], ["UNDERSTUDY_RECORDING_LIMIT": "9MB"]) == 9_000_000)
        #expect(try Tool.run("serve", "--recording-limit", "64XB").status == 64)
        #expect(try Tool.run("serve", environment: ["UNDERSTUDY_RECORDING_LIMIT": "1B"]).status == 64)
    }
}
