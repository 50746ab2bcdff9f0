import Foundation
import EmulatorCore
import Platform
import Synchronization
import TestSupport
import Testing
import Understudy

@Suite("Worlds", .serialized)
struct WorldTests {
    @Test("a world that is deleted ends the requests that wait in it", arguments: ["requests", "flows", "mail"])
    func waiting(path: String) throws {
        let fixture = try FaultFixture(isAlone: true)
        let client = fixture.client
        let wire = try Wire(port: client.port)
        wire.send("GET /~gone/_understudy/v1/\(path)?wait=60s HTTP/1.1\r\nHost: localhost\r\n\r\n")
        func waits() throws -> Bool {
            let memory = try client.get("\(FaultFixture.api)/health").json["memory"] as? [String: Any]
            return (memory?["streams"] as? [String: Any])?["count"] as? Int == 1
        }
        for _ in 0..<500 where !(try waits()) { Thread.sleep(forTimeInterval: 0.02) }
        #expect(try waits())
        let began = ContinuousClock.now
        #expect(try client.request("DELETE", "\(FaultFixture.api)/worlds/gone").status == 204)
        #expect(try wire.receive().status == 200)
        #expect(ContinuousClock.now - began < .seconds(30))
    }

    @Test(
        "a world that is deleted ends its streams, so that whoever listens asks the new one",
        arguments: ["requests", "mail"])
    func streams(path: String) throws {
        let fixture = try FaultFixture(isAlone: true)
        _ = try fixture.client.get("/~gone/appleid.apple.com/auth/keys")
        let wire = try Wire(port: fixture.client.port)
        wire.send(
            "GET /~gone/_understudy/v1/\(path) HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
        #expect(try wire.receive(toHEAD: true).status == 200)
        #expect(try fixture.client.request("DELETE", "\(FaultFixture.api)/worlds/gone").status < 300)
        // This returns when the body has ended; if a stream stays open, the test times out.
        _ = try wire.chunks()
    }

    @Test("two hundred suites at once, each with its own clock and faults, none disturbing another")
    func parallel() async throws {
        let fixture = try FaultFixture(isAlone: true)
        let client = fixture.client
        let failures = Mutex<[String]>([])
        // There are sixteen threads, as in test runners.
        let numbers = Mutex(Array(0..<200))
        let threads = (0..<16).map { _ in
            Thread {
                while let number = numbers.withLock({ $0.popLast() }) {
                    do { try WorldTests.suite(number, fixture, client) } catch {
                        failures.withLock { $0.append("\(number): \(error)") }
                    }
                }
            }
        }
        threads.forEach { $0.start() }
        while threads.contains(where: { !$0.isFinished }) { try await Task.sleep(for: .milliseconds(20)) }
        #expect(failures.withLock { $0 } == [])
        #expect((try client.get("\(FaultFixture.api)/worlds").json["worlds"] as? [Any])?.count == 201)
        #expect(try client.get("/appleid.apple.com/auth/keys").status == 200)
        #expect(try client.get("\(FaultFixture.api)/clock").json["frozen"] as? Bool == false)
    }

    private struct Mismatch: Error {
        let what: String
    }

    private static func expect(_ holds: Bool, _ what: @autoclosure () -> String) throws {
        if !holds { throw Mismatch(what: what()) }
    }

    /// Runs a test suite in a world of its own.
    private static func suite(_ number: Int, _ fixture: FaultFixture, _ client: TestClient) throws {
        let world = "/~suite-\(number)"
        let year = 2030 + number % 60
        let day = String(format: "%02d", 1 + number % 28)
        let time = "\(year)-03-\(day)T00:00:00Z"
        try fixture.clock(["set": time, "freeze": true], world: world)
        // Each suite orders a different fault, a different number of times.
        let status = 500 + number % 100
        let times = 1 + number % 3
        try fixture.order(["status": status], at: ["path": "/auth/keys"], ["times": times], world: world)
        try fixture.order(
            ["token": ["claims": ["nonce": "world \(number)"]]], at: ["path": "*/apple/authorizations"], world: world)
        for round in 0..<4 {
            let found = try client.get("\(world)/appleid.apple.com/auth/keys").status
            try expect(found == (round < times ? status : 200), "round \(round): \(found)")
        }
        let credential = try Site.natives[0].call(client, world)
        let claims = AppleFixture.claims(credential["identityToken"] ?? "")
        try expect(claims["nonce"] as? String == "world \(number)", "nonce \(claims)")
        let iat = ISO8601DateFormatter().date(from: time).map { Int($0.timeIntervalSince1970) }
        try expect(claims["iat"] as? Int == iat, "iat \(claims)")
        // A user signs up at Firebase: the only one in this world.
        let made = try client.post(
            "\(world)/identitytoolkit.googleapis.com/v1/accounts:signUp?key=demo-api-key",
            json: ["email": "same@example.com", "password": "correct horse"])
        try expect(made.status == 200, "sign-up \(made)")
        let requests = try client.get("\(world)\(FaultFixture.api)/requests")
        try expect((requests.json["requests"] as? [Any])?.count == 6, "recording \(requests.text.prefix(300))")
        let clock = try client.get("\(world)\(FaultFixture.api)/clock")
        try expect(clock["now"] == time, "clock \(clock)")
        try expect(
            try client.get("\(world)\(FaultFixture.api)/faults").json["faults"] as? [String] == [], "faults remain")
    }

    @Test("worlds are listed, and deleted with all that is in them")
    func list() throws {
        let fixture = try FaultFixture(isAlone: true)
        _ = try fixture.client.post("/~one\(FaultFixture.api)/accounts", json: ["id": "max"])
        _ = try fixture.client.get("/~two/appleid.apple.com/auth/keys")
        let listed =
            try fixture.client.get("\(FaultFixture.api)/worlds").json["worlds"] as? [[String: Any]] ?? []
        #expect(listed.compactMap { $0["name"] as? String } == ["default", "one", "two"])
        #expect(listed[2]["requests"] as? Int == 1)
        #expect(try fixture.client.request("DELETE", "\(FaultFixture.api)/worlds/one").status == 204)
        #expect(try fixture.client.request("DELETE", "\(FaultFixture.api)/worlds/one").status == 404)
        #expect(try fixture.client.request("DELETE", "\(FaultFixture.api)/worlds/default").status == 409)
        #expect(try fixture.client.get("/~one\(FaultFixture.api)/accounts/max").status == 404)
    }

    @Test("a world that nobody has used for an hour is dropped; the default one stays")
    func idle() throws {
        let time = Mutex(0)
        let registry = WorldRegistry(
            seed: try Seed([], format: Providers.seedFormat), generator: .ofTests, now: { time.withLock { $0 } })
        _ = try registry.world("idle")
        let kept = try #require(try registry.world("kept"))
        time.withLock { $0 = 3_500 }
        try #expect(registry.world("kept") === kept)
        time.withLock { $0 = 3_700 }
        try #expect(registry.world("kept") === kept)
        #expect(registry.count == 2)
        #expect(registry.all.map(\.world.name) == ["default", "kept"])
        time.withLock { $0 = 10_000 }
        #expect(registry.all.map(\.world.name) == ["default"])
        try #expect(registry.world("kept") !== kept)
    }

    @Test("the default world is idle from the daemon's start, not from the machine's")
    func idleAtStart() throws {
        let registry = WorldRegistry(
            seed: try Seed([], format: Providers.seedFormat), generator: .ofTests, now: { 5_000 })
        #expect(registry.all.map(\.idle) == [0])
    }

    @Test("never more than ten thousand worlds: those that were only looked at make way; one costs less than 20 kB")
    func limit() throws {
        let registry = WorldRegistry(seed: try Seed([], format: Providers.seedFormat), generator: .ofTests)
        let before = try WorldTests.residentBytes()
        for number in 1..<10_000 { try #expect(registry.world("w\(number)") != nil) }
        let cost = (try WorldTests.residentBytes() - before) / 9_999
        #expect(cost < 20_000, "\(cost) bytes")
        let first = try #require(try registry.world("w1"))
        for number in 10_000..<40_000 {
            let isMade = try registry.world("w\(number)") != nil
            if !isMade { Issue.record("w\(number)") }
            if number % 1_000 == 0 { try #expect(registry.world("w1") === first) }
        }
        #expect(registry.count <= 10_000)
        #expect(registry.counts.untouched >= 30_000)
        #expect(registry.counts.changed == 0)
    }

    @Test("worlds that hold something go only when nobody has used them for a minute, and that is counted")
    func inUse() throws {
        let time = Mutex(0)
        let registry = WorldRegistry(
            seed: try Seed([], format: Providers.seedFormat), generator: .ofTests, now: { time.withLock { $0 } })
        for number in 1..<10_000 {
            let world = try #require(try registry.world("w\(number)"))
            try world.update { _ = $0.random.bytes(1) }
        }
        try #expect(registry.world("one-too-many") == nil)
        #expect(registry.counts.refused == 1)
        time.withLock { $0 = 59 }
        for number in 5_000..<10_000 { _ = try registry.world("w\(number)") }
        try #expect(registry.world("one-too-many") == nil)
        time.withLock { $0 = 61 }
        let kept = try #require(try registry.world("w9999"))
        try #expect(registry.world("one-more") != nil)
        #expect(registry.counts.changed > 0)
        #expect(registry.counts.untouched == 0)
        try #expect(registry.world("w9999") === kept)
        try #expect(registry.drop("w9998"))
        try #expect(registry.world("one-more-still") != nil)
    }

    @Test(
        "worlds in which nothing happens aren't refused, however many are asked for",
        .disabled(
            if: ProcessInfo.processInfo.environment["UNDERSTUDY_STORE"]?.hasPrefix("postgresql:") == true,
            "with PostgreSQL, no world makes way that was used a moment ago"))
    func lookedAt() throws {
        let fixture = try FaultFixture(isAlone: true)
        _ = try fixture.client.post("/~kept\(FaultFixture.api)/accounts", json: ["id": "max"])
        try WorldTests.look(at: 11_000, fixture.client.port)
        #expect(try fixture.client.get("/~kept\(FaultFixture.api)/accounts/max").status == 200)
        let memory = try fixture.client.get("\(FaultFixture.api)/health").json["memory"] as? [String: Any]
        #expect((memory?["worlds"] as? [String: Any])?["untouched"] as? Int ?? 0 > 0)
    }

    /// Sends requests that change nothing to this number of worlds, on one connection.
    private static func look(at count: Int, _ port: Int) throws {
        let wire = try Wire(port: port)
        for first in stride(from: 0, to: count, by: 50) {
            let numbers = first..<min(first + 50, count)
            wire.send(numbers.map { "GET /~w\($0)/favicon.ico HTTP/1.1\r\nHost: localhost\r\n\r\n" }.joined())
            for number in numbers where try wire.receive().status != 204 { Issue.record("w\(number)") }
        }
    }

    @Test("a world whose seed's fault was used up by a GET is one that holds something")
    func usedUp() throws {
        let fixture = try FaultFixture(
            seed: #"{"faults":[{"match":{"path":"/auth/keys"},"times":1,"effect":{"status":503}}]}"#,
            isAlone: true)
        #expect(try fixture.client.get("/~mine/appleid.apple.com/auth/keys").status == 503)
        try WorldTests.look(at: 10_500, fixture.client.port)
        #expect(try fixture.client.get("/~mine/appleid.apple.com/auth/keys").status == 200)
    }

    private static func residentBytes() throws -> Int {
        let bytes = understudy_resident_bytes()
        try #require(bytes > 0)
        return Int(bytes)
    }

    @Test("a name that can't be is a clear 404", arguments: ["", "a%20b", "a:b", String(repeating: "x", count: 65)])
    func names(name: String) throws {
        let fixture = try FaultFixture(isAlone: true)
        let answer = try fixture.client.get("/~\(name)/appleid.apple.com/auth/keys")
        #expect(answer.status == 404)
        #expect(answer.diagnosis.contains("a test world's name is"))
    }

    @Test("a reset of one world is none of another's business")
    func reset() throws {
        let fixture = try FaultFixture(isAlone: true)
        for world in ["", "/~one"] {
            try fixture.order(["status": 500], at: ["path": "/auth/keys"], ["times": NSNull()], world: world)
        }
        #expect(try fixture.client.request("POST", "/~one\(FaultFixture.api)/reset").status == 200)
        #expect(try fixture.client.get("/~one/appleid.apple.com/auth/keys").status == 200)
        #expect(try fixture.client.get("/appleid.apple.com/auth/keys").status == 500)
    }
}
