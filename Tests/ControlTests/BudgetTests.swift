import Foundation
import TestSupport
import Testing
import Understudy

@Suite("Budgets over HTTP", .oneProcess("health counts what its process holds"))
struct BudgetTests {
    private static let api = FaultFixture.api

    private func memory(_ fixture: FaultFixture, _ name: String) throws -> [String: Any] {
        let health = try fixture.client.get("\(BudgetTests.api)/health")
        #expect(health["status"] == "ok")
        let memory = health.json["memory"] as? [String: Any]
        #expect(memory?["resident"] as? Int ?? 0 > 1 << 20)
        return memory?[name] as? [String: Any] ?? [:]
    }

    private func post(_ fixture: FaultFixture, _ world: String, size: Int) throws {
        _ = try fixture.client.request(
            "POST", "\(world)/appleid.apple.com/auth/token", body: Array(repeating: UInt8(ascii: "x"), count: size))
    }

    @Test("health counts connections by server")
    func connections() throws {
        let fixture = try FaultFixture(isAlone: true)
        func counters() throws -> [String: Any] {
            let health = try fixture.client.get("/_understudy/v1/health").json
            return (health["connections"] as? [String: Any])?["http"] as? [String: Any] ?? [:]
        }
        // On a store that isn't memory, the call to health waits for a work thread, and counts itself.
        let own = try #require(try counters()["held"] as? Int)
        #expect((0...1).contains(own))
        let waiting = try #require(
            Wire.asking(port: fixture.client.port, "/_understudy/v1/requests?wait=1m&path=/nothing"))
        #expect(try eventually { try counters()["held"] as? Int == own + 1 })
        #expect(try counters()["open"] as? Int ?? 0 >= 2)
        #expect(try counters()["refused"] as? Int == 0)
        withExtendedLifetime(waiting) {}
    }

    @Test("all recordings together keep to the limit, and health counts what went")
    func recordings() throws {
        var options = RunningServer.Options()
        options.recordingLimit = 2_000_000
        let fixture = try FaultFixture(options: options)
        for number in 0..<30 { try post(fixture, "/~w\(number)", size: 200_000) }
        let recording = try memory(fixture, "recording")
        #expect(recording["limit"] as? Int == 2_000_000)
        #expect((1_500_000...2_000_000).contains(recording["bytes"] as? Int ?? 0), "\(recording)")
        // A recording that daemons share is written with a short delay.
        #expect(try eventually { try memory(fixture, "recording")["dropped"] as? Int ?? 0 >= 20 })
        for number in [0, 29] {
            let requests = try fixture.client.get("/~w\(number)\(BudgetTests.api)/requests").json["requests"] as? [Any]
            #expect(requests?.count == (number == 0 ? 0 : 1))
        }
        // A world that is deleted releases its bytes; if daemons share worlds, with a short delay.
        for number in 0..<30 { _ = try fixture.client.request("DELETE", "\(BudgetTests.api)/worlds/w\(number)") }
        #expect(try eventually { try memory(fixture, "recording")["bytes"] as? Int == 0 })
    }

    @Test("of a large body 256 kB are kept, and its size; nothing of it is shown where secrets are masked")
    func bodies() throws {
        for masks in [false, true] {
            var options = RunningServer.Options()
            options.masksSecrets = masks
            let fixture = try FaultFixture(options: options)
            try post(fixture, "", size: 900_000)
            let all = try fixture.client.get("\(BudgetTests.api)/requests")
            let record = (all.json["requests"] as? [[String: Any]])?.first
            let request = record?["request"] as? [String: Any]
            #expect(request?["bodySize"] as? Int == 900_000)
            #expect(request?["bodyShown"] as? Int == (masks ? 0 : 256 << 10))
            #expect((request?["body"] as? String ?? "").utf8.count == (masks ? "masked-900000".utf8.count : 256 << 10))
            let har = try fixture.client.get("\(BudgetTests.api)/requests?format=har")
            let entry = ((har.json["log"] as? [String: Any])?["entries"] as? [[String: Any]])?.first
            #expect((entry?["request"] as? [String: Any])?["bodySize"] as? Int == 900_000)
            if masks { #expect(!all.text.contains("xxxx") && !har.text.contains("xxxx")) }
        }
    }

    @Test("a large recording is shown page by page")
    func pages() throws {
        let fixture = try FaultFixture(isAlone: true)
        for _ in 0..<40 { try post(fixture, "", size: 200_000) }
        var seen: [String] = []
        var pages = 0
        var goesOn = true
        while goesOn, pages < 20 {
            let after = seen.last.map { "?after=\($0)" } ?? ""
            let answer = try fixture.client.get("\(BudgetTests.api)/requests\(after)").json
            let page = answer["requests"] as? [[String: Any]] ?? []
            seen += page.compactMap { $0["id"] as? String }
            #expect(answer["last"] as? String == seen.last)
            #expect(page.count <= 12)
            goesOn = answer["more"] as? Bool ?? false
            pages += 1
        }
        #expect(seen.count == 40)
        #expect(Set(seen).count == 40)
        #expect(pages >= 4)
    }

    @Test("readers that never read hold next to nothing, and others get every exchange in order")
    func neverRead() throws {
        let fixture = try FaultFixture(isAlone: true)
        let start = "GET \(BudgetTests.api)/requests HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
        let silent = try (0..<100).map { _ in
            let wire = try Wire(port: fixture.client.port)
            wire.send(start)
            return wire
        }
        let reader = try Wire(port: fixture.client.port)
        reader.send(start)
        _ = try reader.receive(toHEAD: true)
        #expect(try eventually { try memory(fixture, "streams")["count"] as? Int == 101 })
        var ids: [String] = []
        var received = ""
        for _ in 0..<30 {
            let answer = try fixture.client.request(
                "POST", "/appleid.apple.com/auth/token", body: Array(repeating: UInt8(ascii: "x"), count: 200_000))
            let id = answer.header("Understudy-Request") ?? ""
            while !received.contains("id: \(id)\n") { received += try reader.chunk() ?? "id: \(id)\n" }
            ids.append(id)
        }
        let order = received.components(separatedBy: "\n").filter { $0.hasPrefix("id: ") }.map {
            String($0.dropFirst(4))
        }
        #expect(order == ids)
        let streams = try memory(fixture, "streams")
        #expect(streams["bytes"] as? Int ?? 0 < 16 << 20)
        #expect(silent.count == 100)
    }

    @Test("a thousand event streams and waiting requests, then a 503 that says so")
    func listeners() throws {
        let fixture = try FaultFixture(isAlone: true)
        var wires: [Wire] = []
        for number in 0..<1_000 {
            // The requests that wait a minute at most come last.
            let accept = number < 500 ? "Accept: text/event-stream\r\n" : ""
            let wire = try Wire(port: fixture.client.port)
            wire.send("GET \(BudgetTests.api)/requests?wait=1m HTTP/1.1\r\nHost: localhost\r\n\(accept)\r\n")
            wires.append(wire)
        }
        #expect(try eventually { try memory(fixture, "streams")["count"] as? Int == 1_000 })
        for headers in [["Accept": "text/event-stream"], [:]] {
            let refused = try fixture.client.get("\(BudgetTests.api)/requests?wait=1m", headers: headers)
            #expect(refused.status == 503)
            #expect(refused.diagnosis.contains("close some first"))
        }
        #expect(try fixture.client.get("\(BudgetTests.api)/requests").status == 200)
        // The waiting requests get their answer, and their leases are released.
        _ = try fixture.client.get("/appleid.apple.com/auth/keys")
        #expect(try eventually { try memory(fixture, "streams")["count"] as? Int ?? 0 <= 500 })
        #expect(try memory(fixture, "streams")["refused"] as? Int == 2)
        #expect(wires.count == 1_000)
    }

    @Test("keys that are made for every request hold up nobody else")
    func rotations() throws {
        let fixture = try FaultFixture(isAlone: true)
        try fixture.order(["rotateKeys": true], at: ["path": "/auth/keys"], ["times": NSNull()])
        let wires = try (0..<8).map { _ in
            let wire = try Wire(port: fixture.client.port)
            wire.send("GET /appleid.apple.com/auth/keys HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return wire
        }
        // If the rotations ran on the workers, this would be answered after eight keys.
        let healthBefore = try fixture.client.get("\(BudgetTests.api)/health")
        #expect(healthBefore.status == 200)
        var keyIDs: Set<String> = []
        for wire in wires {
            let answer = try wire.receive()
            #expect(answer.status == 200)
            let keys = answer.json["keys"] as? [[String: Any]] ?? []
            keyIDs.formUnion(keys.compactMap { $0["kid"] as? String })
        }
        #expect(keyIDs.count > 8)
    }

    @Test("a token of an unpublished key is made without one at hand")
    func unpublished() throws {
        let fixture = try FaultFixture(isAlone: true)
        let body: [String: Any] = ["provider": "apple", "client": "com.example.app", "signature": "unknownKey"]
        let answer = try fixture.client.post("\(BudgetTests.api)/tokens", json: body)
        #expect(answer.status == 201)
        let published = try fixture.client.get("/appleid.apple.com/auth/keys").text
        let keyID = (answer.json["header"] as? [String: Any])?["kid"] as? String ?? ""
        #expect(!keyID.isEmpty && !published.contains(keyID))
    }
}
