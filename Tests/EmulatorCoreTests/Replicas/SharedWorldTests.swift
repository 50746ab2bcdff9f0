import HTTPServer
import JSON
@testable import Recordings
import TestSupport
import Testing
import Time
import Understudy
@testable import Worlds

@testable import EmulatorCore

@Suite("replicas that share worlds")
struct SharedWorldTests {
    private func names(_ answer: Replica.Answer) -> [String] {
        (answer.json["worlds"]?.array ?? []).compactMap { $0["name"]?.string }
    }

    private static let order: JSONValue = ["provider": "github", "outcome": "approve", "account": "ada"]
    private static let fault: JSONValue = ["match": ["path": "/user"], "effect": ["status": 418]]

    @Test("what one has answered, the other knows at its next request", arguments: SharedStores.allCases)
    func changes(kind: SharedStores) throws {
        let pair = try kind.pair()
        defer { pair.end() }
        let (a, b) = (pair.a, pair.b)
        #expect(a.call("POST", "accounts", ["id": "zoe"]).status == 201)
        #expect(b.call("GET", "accounts").text.contains("\"zoe\""))
        #expect(b.call("POST", "outcomes", SharedWorldTests.order).json["id"] == "outcome-1")
        #expect(a.call("POST", "outcomes", SharedWorldTests.order).json["id"] == "outcome-2")
        #expect(b.call("DELETE", "accounts/zoe").status == 204)
        #expect(a.call("GET", "accounts/zoe").status == 404)
    }

    @Test("a request refreshes its world once, however much is done for it")
    func refreshes() throws {
        let memory = SharedMemory()
        let a = try Replica(of: memory.archive(replica: 1))
        _ = a.call("GET", "accounts")
        let before = memory.refreshes
        #expect(a.call("POST", "scenarios/clock-ahead").status < 500)
        #expect(memory.refreshes == before + 1)
    }

    @Test("a fault that one was told meets requests to the other", arguments: SharedStores.allCases)
    func faults(kind: SharedStores) throws {
        let pair = try kind.pair()
        defer { pair.end() }
        let (a, b) = (pair.a, pair.b)
        let place = "/api.github.com/user"
        #expect(b.send("GET", place).status == 403)
        #expect(a.call("POST", "faults", SharedWorldTests.fault).status == 201)
        #expect(b.send("GET", place).status == 418)
        #expect(a.send("GET", place).status == 403)
    }

    @Test("all list all worlds, whoever made them", arguments: SharedStores.allCases)
    func listing(kind: SharedStores) throws {
        let pair = try kind.pair()
        defer { pair.end() }
        let (a, b) = (pair.a, pair.b)
        #expect(a.call("POST", "worlds", ["name": "one"]).status == 201)
        #expect(names(b.call("GET", "worlds")) == ["default", "one"])
        #expect(b.call("POST", "worlds", ["name": "one"]).status == 200)
        _ = b.call("GET", "accounts", world: "two")
        #expect(names(a.call("GET", "worlds")) == ["default", "one", "two"])
    }

    @Test("a world that one deletes is gone for all", arguments: SharedStores.allCases)
    func deletion(kind: SharedStores) throws {
        let pair = try kind.pair()
        defer { pair.end() }
        let (a, b) = (pair.a, pair.b)
        #expect(a.call("POST", "outcomes", SharedWorldTests.order, world: "one").status == 201)
        #expect(b.call("GET", "outcomes", world: "one").text.contains("ada"))
        #expect(b.call("DELETE", "worlds/one").status == 204)
        #expect(a.call("POST", "worlds/one/reset").status == 404)
        #expect(a.call("DELETE", "worlds/one").status == 404)
        #expect(names(a.call("GET", "worlds")) == ["default"])
        #expect(a.worlds.held("one") == nil)
        #expect(!a.call("GET", "outcomes", world: "one").text.contains("ada"))
        #expect(names(b.call("GET", "worlds")) == ["default", "one"])
    }

    @Test("one can delete and reset a world that it has never been asked for", arguments: SharedStores.allCases)
    func unheld(kind: SharedStores) throws {
        let pair = try kind.pair()
        defer { pair.end() }
        let (a, b) = (pair.a, pair.b)
        for call in ["POST", "DELETE"] {
            #expect(a.call("POST", "outcomes", SharedWorldTests.order, world: "one").status == 201)
            #expect(b.worlds.held("one") == nil)
            #expect(b.call(call, call == "POST" ? "worlds/one/reset" : "worlds/one").status < 300)
            #expect(!a.call("GET", "outcomes", world: "one").text.contains("ada"))
            b.worlds.state.withLock { $0.worlds["one"] = nil }
        }
    }

    @Test("a world that one resets is new for all", arguments: SharedStores.allCases)
    func reset(kind: SharedStores) throws {
        let pair = try kind.pair()
        defer { pair.end() }
        let (a, b) = (pair.a, pair.b)
        _ = a.call("POST", "clock", ["set": "2031-02-03T04:05:06Z", "freeze": true])
        _ = a.call("POST", "outcomes", SharedWorldTests.order)
        _ = a.call("POST", "faults", SharedWorldTests.fault)
        let world = try #require(try b.worlds.existing("default"))
        #expect(world.now == Instant(seconds: 1_927_857_906))
        #expect(b.send("GET", "/api.github.com/user").status == 418)
        let inbox = world.inboxNumber
        #expect(a.call("POST", "reset").status == 200)
        #expect(b.call("GET", "outcomes").json["outcomes"]?.array?.isEmpty == true)
        #expect(b.call("GET", "requests").json["requests"]?.array?.isEmpty == true)
        #expect(b.send("GET", "/api.github.com/user").status == 403)
        #expect(world.now != Instant(seconds: 1_927_857_906))
        #expect(world.inboxNumber != inbox)
    }

    @Test(
        "a world that is deleted while a request is under way isn't brought back by it",
        arguments: SharedStores.allCases)
    func late(kind: SharedStores) throws {
        let pair = try kind.pair()
        defer { pair.end() }
        let (a, b) = (pair.a, pair.b)
        _ = a.call("POST", "worlds", ["name": "one"])
        let world = try #require(try a.worlds.existing("one"))
        #expect(b.call("DELETE", "worlds/one").status == 204)
        _ = try world.order(Fault.any)
        #expect(names(b.call("GET", "worlds")) == ["default"])
        #expect(a.call("GET", "faults", world: "one").json["faults"]?.array?.isEmpty == true)
    }

    @Test("while the store fails, requests are refused, and nothing of it stays")
    func failing() throws {
        let memory = SharedMemory()
        let a = try Replica(of: memory.archive(replica: 1))
        let b = try Replica(of: memory.archive(replica: 2))
        #expect(a.call("POST", "accounts", ["id": "zed"]).status == 201)
        memory.fail(StoreFailure(.unreachable, "the database has stopped"))
        for world in [nil, "new"] {
            let refusal = a.call("POST", "outcomes", SharedWorldTests.order, world: world)
            #expect(refusal.status == 503)
            #expect(refusal.header("Understudy-Diagnosis")?.contains("the database has stopped") == true)
            #expect(refusal.header("Retry-After") == "1")
        }
        #expect(a.call("GET", "worlds").status == 503)
        #expect(a.call("GET", "health").json["status"] != nil)
        // The seed doesn't have this person, and the world begins anew.
        #expect(a.call("PATCH", "accounts/zed", ["email": "other@example.com"]).status == 503)
        #expect(a.call("POST", "reset").status == 503)
        memory.fail(nil)
        #expect(b.call("GET", "accounts/zed").json["email"] == "zed@example.com")
        #expect(a.call("GET", "outcomes").json["outcomes"]?.array?.isEmpty == true)
        #expect(a.call("POST", "outcomes", SharedWorldTests.order, world: "new").json["id"] == "outcome-1")
        #expect(b.call("GET", "outcomes", world: "new").text.contains("ada"))
    }

    @Test("exchanges have IDs that no other replica gives, in the order of time", arguments: SharedStores.allCases)
    func numbers(kind: SharedStores) throws {
        let pair = try kind.pair()
        defer { pair.end() }
        let (a, b) = (pair.a, pair.b)
        var numbers: [Int] = []
        for replica in [a, b, b, a, b] {
            let id = try #require(replica.call("GET", "worlds").header("Understudy-Request"))
            numbers.append(try #require(RecordedExchange.number(of: id)))
        }
        #expect(numbers.map { $0 % 10_000 } == [a, b, b, a, b].map(\.worlds.archive?.replica))
        #expect(Set(numbers).count == numbers.count)
        let one = ExchangeNumbers(replica: 7, outlivesProcess: true)
        let many = (0..<2_000).map { _ in one.next }
        #expect(many == many.sorted() && Set(many).count == many.count)
        let alone = ExchangeNumbers(replica: 0, outlivesProcess: false)
        #expect((0..<3).map { _ in alone.next } == [1, 2, 3])
    }
}

extension Fault {
    fileprivate static var any: Fault {
        Fault(reading: ["match": ["path": "/user"], "effect": ["status": 418]])
    }
}

@Suite("shared worlds that nobody uses")
struct IdleSharedWorldTests {
    private let memory = SharedMemory()

    private func replica(_ number: Int) throws -> Replica {
        try Replica(
            of: memory.archive(replica: number), now: { [memory] in memory.clock.load(ordering: .relaxed) })
    }

    private func pass(_ seconds: Int) { memory.clock.add(seconds, ordering: .relaxed) }

    @Test("stay as long as one replica uses them, and go for all after that")
    func idle() throws {
        let (a, b) = (try replica(1), try replica(2))
        for replica in [a, b] { try #expect(replica.worlds.world("one") != nil) }
        _ = try a.worlds.world("two")
        for _ in 0..<3 {
            pass(1_800)
            _ = try b.worlds.world("one")
            try b.worlds.reportUses()
            try a.worlds.letIdleGo(forAll: true)
        }
        // A world that only others use is removed from memory, but not lost.
        #expect(a.worlds.held("one") == nil)
        #expect(memory.state.withLock { $0.worlds.keys.sorted() } == ["default", "one"])
        // Both replicas remove idle worlds by themselves, so either may have removed it.
        #expect(a.worlds.counts.idle + b.worlds.counts.idle == 1)
        pass(3_700)
        try b.worlds.letIdleGo(forAll: true)
        #expect(memory.state.withLock { $0.worlds.keys.sorted() } == ["default"])
    }

    @Test("are kept in memory where somebody listens to them")
    func listened() throws {
        let a = try replica(1)
        let world = try #require(try a.worlds.world("one"))
        let number = world.recording.listen {}
        pass(4_000)
        try a.worlds.letIdleGo(forAll: false)
        #expect(a.worlds.held("one") === world)
        world.recording.stopListening(number)
        try a.worlds.letIdleGo(forAll: false)
        #expect(a.worlds.held("one") == nil)
    }

    @Test("go from the memory of a replica that isn't asked for them, once another has deleted them")
    func deleted() throws {
        let (a, b) = (try replica(1), try replica(2))
        for name in ["one", "two"] { try #expect(a.worlds.world(name) != nil) }
        try #expect(b.worlds.drop("one"))
        #expect(a.worlds.held("one") != nil)
        try a.worlds.compareWithAll()
        #expect(a.worlds.held("one") == nil && a.worlds.held("two") != nil)
    }

    @Test("make way when there are too many")
    func limit() throws {
        let a = try replica(1)
        memory.state.withLock { state in
            for number in 1..<WorldRegistry.limit {
                state.worlds["w\(number)"] = MemoryArchive.World(id: Int64(number + 1_000), lastUse: 0)
            }
        }
        try a.worlds.compareWithAll()
        try #expect(a.worlds.world("more") == nil)
        #expect(a.worlds.counts.refused == 1)
        pass(200)
        try #expect(a.worlds.world("more") != nil)
        #expect(memory.state.withLock { $0.worlds["more"] != nil && $0.worlds.count < WorldRegistry.limit - 600 })
    }
}
