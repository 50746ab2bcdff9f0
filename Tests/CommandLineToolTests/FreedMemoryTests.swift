import Foundation
import TestSupport
import Testing

@Suite("A daemon whose worlds are reset")
struct FreedMemoryTests {
    // musl's malloc returns memory by itself, and Darwin's when it decides to.
    #if canImport(Glibc)
        @Test("gives back to the system what they had filled", .timeLimit(.minutes(2)))
        func givesBack() throws {
            let daemon = try Daemon(["--port", "0", "--log-level", "error"])
            defer { _ = daemon.stop() }
            let client = TestClient(port: daemon.port)
            func resident() throws -> Int {
                let memory = try client.get("/_understudy/v1/health").json["memory"] as? [String: Any]
                return try #require(memory?["resident"] as? Int)
            }
            // Memory of another world is allocated in between, so that the freed memory isn't at the end of the heap.
            for batch in 0..<60 {
                for (world, count) in [("", 1_000), ("/~kept", 50)] {
                    let users = (0..<count).map { number in
                        ["localId": "u\(batch)-\(number)", "email": "u\(batch)-\(number)@example.com"]
                    }
                    let answer = try client.post(
                        "\(world)/identitytoolkit.googleapis.com/v1/projects/demo-app/accounts:batchCreate",
                        json: ["users": users], headers: ["Authorization": "Bearer owner"])
                    #expect(answer.status == 200 && (answer.json["error"] as? [Any])?.isEmpty ?? true)
                }
            }
            let full = try resident()
            #expect(full > 48_000_000)
            #expect(try client.post("/_understudy/v1/reset", json: [:]).status == 200)
            var left = full
            for _ in 0..<200 where left > full - 20_000_000 {
                usleep(100_000)
                left = try resident()
            }
            #expect(left <= full - 20_000_000, "\(full) before, \(left) after")
        }
    #endif
}
