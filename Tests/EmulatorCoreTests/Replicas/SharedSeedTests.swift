import Foundation
import HTTPServer
import JSON
import TestSupport
import Testing
import Understudy
@testable import Worlds

@testable import EmulatorCore

@Suite("seeds that shared worlds get")
struct SharedSeedTests {
    private func people(_ replica: Replica, _ world: String? = nil) -> [String] {
        let list = replica.call("GET", "accounts", world: world).json["accounts"]?.array ?? []
        return list.compactMap { $0["id"]?.string }
    }

    @Test("a seed that one was sent is played by the other at its next request", arguments: SharedStores.allCases)
    func replaced(kind: SharedStores) throws {
        let pair = try kind.pair()
        defer { pair.end() }
        let (a, b) = (pair.a, pair.b)
        _ = b.call("GET", "accounts", world: "own")
        let client: JSONValue = [
            "clientID": "web", "clientSecret": "s", "redirectURIs": ["http://localhost:3000/callback"],
        ]
        let issuer: JSONValue = ["id": "staff", "issuer": "https://login.staff.example", "clients": [client]]
        let seed: JSONValue = ["accounts": [["id": "grace"]], "openid": ["issuers": [issuer]]]
        #expect(b.send("GET", "/~own/login.staff.example/.well-known/openid-configuration").status == 404)
        let sent = a.call("PUT", "seed", seed, world: "own")
        #expect(sent.status == 200, "\(sent.text)")
        #expect(people(b, "own") == ["grace"])
        #expect(b.call("GET", "seed", world: "own").text == a.call("GET", "seed", world: "own").text)
        #expect(b.send("GET", "/~own/login.staff.example/.well-known/openid-configuration").status == 200)
        // The host may name the world, too.
        let host = [(name: "Host", value: "login.staff.example.own.localhost")]
        let below = b.send(
            Request(method: "GET", target: "/.well-known/openid-configuration", headers: host, body: []))
        #expect(below.status == 200)
        #expect(people(b).contains("ada"))
    }

    @Test("a world with a seed of its own stays so when the other resets it", arguments: SharedStores.allCases)
    func reset(kind: SharedStores) throws {
        let pair = try kind.pair()
        defer { pair.end() }
        let (a, b) = (pair.a, pair.b)
        _ = a.call("PUT", "seed", ["accounts": [["id": "grace"]]], world: "own")
        _ = a.call("POST", "accounts", ["id": "zoe"], world: "own")
        #expect(people(b, "own") == ["grace", "zoe"])
        #expect(b.call("POST", "reset", world: "own").status == 200)
        #expect(people(a, "own") == ["grace"])
        _ = a.call("POST", "seed", ["accounts": [["id": "joan"]]], world: "own")
        #expect(people(b, "own") == ["grace", "joan"])
        #expect(b.call("DELETE", "worlds/own").status == 204)
        #expect(people(a, "own").contains("ada"))
    }

    @Test("what both add is there", arguments: SharedStores.allCases)
    func extended(kind: SharedStores) throws {
        let pair = try kind.pair()
        defer { pair.end() }
        let (a, b) = (pair.a, pair.b)
        #expect(a.call("POST", "seed", ["accounts": [["id": "grace"]]]).status == 200)
        let order: JSONValue = [
            "outcomes": [["provider": "github", "outcome": "approve"]], "accounts": [["id": "joan"]],
        ]
        #expect(b.call("POST", "seed", order).status == 200)
        for replica in [a, b] {
            #expect(people(replica).filter { ["grace", "joan"].contains($0) } == ["grace", "joan"])
            #expect(replica.call("GET", "outcomes").json["outcomes"]?.array?.count == 1)
            #expect(replica.call("GET", "seed").text.contains("grace"))
        }
    }

    @Test(
        "of two seeds that are given at once, the second is refused and tried again", arguments: SharedStores.allCases)
    func conflict(kind: SharedStores) throws {
        let pair = try kind.pair()
        defer { pair.end() }
        let (a, b) = (pair.a, pair.b)
        let (mine, others) = (
            try #require(try a.worlds.existing("default")), try #require(try b.worlds.existing("default"))
        )
        let seed = try SeedInput.checked([SeedSource(name: "x", sent: Array(#"{"accounts":[{"id":"x"}]}"#.utf8))])
        let played = PlayedSeed(seed, providers: [], own: [])
        let addition = LocatedJSON(["accounts": [["id": "x"]]], file: "x")
        let leases = (
            try #require(a.worlds.budget.seeds.reserve(10, playing: played)),
            try #require(b.worlds.budget.seeds.reserve(10, playing: played))
        )
        try #expect(a.worlds.give(played, leases.0, to: mine, adding: addition))
        // The other replica hasn't seen that yet.
        try #expect(!b.worlds.give(played, leases.1, to: others, adding: addition))
        #expect(b.worlds.held("default") === others)
    }
}

@Suite("keys of shared worlds")
struct SharedKeyTests {
    private func published(_ replica: Replica) -> [String] {
        let set = replica.send("GET", "/appleid.apple.com/auth/keys").json
        return (set["keys"]?.array ?? []).compactMap { $0["kid"]?.string }
    }

    @Test("all begin with the same keys, and publish what one has rotated", arguments: SharedStores.allCases)
    func rotated(kind: SharedStores) throws {
        let pair = try kind.pair()
        defer { pair.end() }
        let (a, b) = (pair.a, pair.b)
        let begun = published(a)
        #expect(begun.count == 3 && published(b) == begun)
        let new = try #require(a.call("POST", "apple/keys/rotate", [:]).json["signing"]?.string)
        #expect(published(b) == Array(begun.dropFirst()) + [new])
        let world = try #require(try b.worlds.existing("default"))
        #expect(world.keys[.init("apple")].signing(at: world.now)?.id == new)
        let newest = try #require(b.call("POST", "apple/keys/rotate", [:]).json["signing"]?.string)
        #expect(published(a) == [begun[2], new, newest])
        #expect(a.call("POST", "reset").status == 200)
        #expect(published(b) == begun)
    }

    @Test("a rotation that can't be written isn't used")
    func unwritten() throws {
        let memory = SharedMemory()
        let a = try Replica(of: memory.archive(replica: 1))
        let b = try Replica(of: memory.archive(replica: 2))
        let begun = published(a)
        let world = try #require(try a.worlds.existing("default"))
        memory.fail(StoreFailure(.readOnly, "the database has become read-only"))
        #expect(a.call("POST", "apple/keys/rotate", [:]).status == 503)
        memory.fail(nil)
        #expect(published(a) == begun && published(b) == begun)
        #expect(world.keys[.init("apple")].signing(at: world.now)?.id == begun.last)
    }

    @Test("a key that one never publishes is known to the other", arguments: SharedStores.allCases)
    func unpublished(kind: SharedStores) async throws {
        let pair = try kind.pair()
        defer { pair.end() }
        let (a, b) = (pair.a, pair.b)
        let ring = try #require(try a.worlds.existing("default")).keys[.init("apple")]
        await ring.unpublishedIsReady()
        let key = try #require(ring.unpublished())
        let others = try #require(try b.worlds.existing("default")).keys[.init("apple")]
        try #expect(others.known(key.id)?.state == .neverPublished)
    }
}

@Suite("scenarios with which shared worlds begin")
struct SharedPreparationTests {
    private static let scenario = "slow-provider"

    private func orders(_ replica: Replica, _ world: String) -> Int {
        replica.call("GET", "faults", world: world).json["faults"]?.array?.count ?? 0
    }

    @Test("are played once, by one of the replicas, and again after a reset", arguments: SharedStores.allCases)
    func once(kind: SharedStores) throws {
        let pair = try kind.pair(scenarios: [SharedPreparationTests.scenario])
        defer { pair.end() }
        let (a, b) = (pair.a, pair.b)
        let played = orders(a, "one")
        #expect(played > 0)
        #expect(orders(b, "one") == played)
        let ids = a.call("GET", "faults", world: "one").text
        #expect(b.call("GET", "faults", world: "one").text == ids)
        #expect(b.call("POST", "reset", world: "one").status == 200)
        #expect(orders(a, "one") == played && orders(b, "one") == played)
    }

    @Test("one that resets its world isn't played again at the next request", arguments: SharedStores.allCases)
    func resetting(kind: SharedStores) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).json")
        defer { try? FileManager.default.removeItem(at: file) }
        let order = #"{"call":"POST outcomes","body":{"provider":"apple","outcome":"cancel"}}"#
        try #"{"title":"t","happens":"h","advice":"a","startsWorlds":true,"orders":[{"call":"POST reset"},\#(order)]}"#
            .write(to: file, atomically: true, encoding: .utf8)
        let pair = try kind.pair(scenarios: [file.path()])
        defer { pair.end() }
        let (a, b) = (pair.a, pair.b)
        #expect(a.call("POST", "outcomes", ["provider": "github", "outcome": "cancel"], world: "one").status == 201)
        for replica in [a, b, a] {
            #expect(replica.call("GET", "outcomes", world: "one").json["outcomes"]?.array?.count == 2)
        }
    }

    @Test("another replica's turn is waited for, and taken when it gives no sign", arguments: SharedStores.allCases)
    func turns(kind: SharedStores) throws {
        let pair = try kind.pair()
        defer { pair.end() }
        let (a, b) = (pair.a, pair.b)
        let (mine, others) = (try #require(try a.worlds.world("one")), try #require(try b.worlds.world("one")))
        var (first, second) = (SharedPreparation(mine, by: 1), SharedPreparation(others, by: 2))
        try #expect(first.next(at: 0) == .mine)
        try #expect(second.next(at: 100) == .wait)
        try #expect(second.next(at: 109) == .wait)
        // This is a heartbeat of the first one.
        try #expect(first.next(at: 9) == .mine)
        try #expect(second.next(at: 110) == .wait)
        try #expect(second.next(at: 120) == .mine)
        // The first one ends too late, so its end doesn't count.
        try #expect(!first.finish())
        #expect(!mine.isPrepared)
        try #expect(second.finish())
        try #expect(second.next(at: 121) == .done)
        try #expect(first.next(at: 22) == .done)
        // The store knows, once this replica has read it.
        #expect(a.call("GET", "faults", world: "one").status == 200)
        #expect(mine.isPrepared)
    }
}
