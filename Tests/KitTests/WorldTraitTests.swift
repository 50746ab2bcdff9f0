import Foundation
import TestSupport
import Testing
import Understudy
import UnderstudyInProcess
import UnderstudyTesting

@testable import UnderstudyClient

@Suite("A suite with the trait .world", .world(at: .process))
struct WorldTraitTests {
    @Test("has a world for each test, in the process")
    func world() async throws {
        let world = try World.current
        #expect(world.name?.hasPrefix("has-a-world-for-each-test-in-the-proces") == true)
        #expect(try await world.requests().isEmpty)
        _ = try await world.apple.authorize(client: "com.example.app", account: "ada")
        #expect(try await world.requests().count == 1)
    }

    @Test("has a world for each argument", arguments: 1...3)
    func argument(number: Int) async throws {
        #expect(try await World.current.requests().isEmpty)
        _ = try await World.current.apple.authorize(client: "com.example.app", account: "ada")
    }

    @Test("has a world with what its seed adds", .world(at: .process, seed: ["accounts": [["id": "zoe"]]]))
    func seeded() async throws {
        #expect(try await World.current.accounts.list().map(\.id) == ["ada", "grace", "linus", "zoe"])
    }

    @Test("lets a test say more, in the suite's daemon", .world(seed: ["accounts": [["id": "zoe"]]]), .world)
    func nested() async throws {
        #expect(try await World.current.accounts.list().map(\.id).last == "zoe")
        #expect(try World.current.daemon == DaemonSource.process.daemon())
    }

    @Test("has the world in child tasks, and not in detached ones")
    func tasks() async throws {
        let world = try World.current
        async let child = try World.current
        #expect(try await child == world)
        let error = await #expect(throws: NoWorld.self) { try await Task.detached { try World.current }.value }
        #expect(error?.description.contains(".world") == true)
    }

    @Test("lets the world go")
    func gone() async throws {
        let server = try TestServer.start()
        defer { server.stop() }
        let trait = WorldTrait.world(at: .url(server.url))
        let test = try #require(Test.current)
        try await trait.provideScope(for: test, testCase: nil) {
            _ = try await World.current.apple.authorize(client: "com.example.app", account: "ada")
            #expect(try await World.current.daemon.worlds().count == 2)
        }
        #expect(try await UnderstudyClient.Understudy(url: server.url).worlds().map(\.name) == ["default"])
    }

    @Test("lets the world of a cancelled test go, too")
    func cancelled() async throws {
        let server = try TestServer.start()
        defer { server.stop() }
        let trait = WorldTrait.world(at: .url(server.url))
        let test = try #require(Test.current)
        let run = Task {
            try await trait.provideScope(for: test, testCase: nil) {
                try await World.current.clock.freeze()
                withUnsafeCurrentTask { $0?.cancel() }
            }
        }
        try await run.value
        #expect(try await UnderstudyClient.Understudy(url: server.url).worlds().map(\.name) == ["default"])
    }

    @Test("fails where there is no daemon")
    func unreachable() async throws {
        let trait = WorldTrait.world(at: .url("http://127.0.0.1:1"), seed: ["accounts": []])
        let test = try #require(Test.current)
        await #expect(throws: UnderstudyError.self) {
            try await trait.provideScope(for: test, testCase: nil) { Issue.record("it ran") }
        }
    }
}

@Suite("A source of daemons")
struct DaemonSourceTests {
    @Test("in the process starts one daemon, and another one for each source")
    func process() throws {
        let first = DaemonSource.process { try RunningServer.start() }
        let second = DaemonSource.process { try RunningServer.start() }
        #expect(try first.daemon() == first.daemon())
        #expect(try first.daemon() != second.daemon())
    }

    @Test("in the process starts it as it is told, and says the token")
    func options() async throws {
        let token = "0123456789abcdef"
        let source = DaemonSource.process(controlToken: token) {
            var options = RunningServer.Options()
            options.controlToken = token
            return try RunningServer.start(options: options)
        }
        #expect(try await source.daemon().world("w1").outcomes().isEmpty)
    }

    @Test("that can't start says why, each time")
    func failing() {
        let source = DaemonSource.process { try RunningServer.start(seeds: [.json("[]")]) }
        for _ in 1...2 { #expect(throws: StartError.self) { try source.daemon() } }
    }

    @Test("of the environment is where the environment says")
    func environment() throws {
        #expect(try DaemonSource.environment.daemon() == UnderstudyClient.Understudy())
        let named = try DaemonSource.url("http://127.0.0.1:9", controlToken: "0123456789abcdef").daemon()
        #expect(named == UnderstudyClient.Understudy(url: "http://127.0.0.1:9", controlToken: "0123456789abcdef"))
    }
}

/// A file can import both: a type's name takes precedence over a module's.
@Suite("The library and the client, in one file")
struct BothImportedTests {
    @Test("are told apart")
    func both() async throws {
        let server: RunningServer = try RunningServer.start()
        defer { server.stop() }
        let world = UnderstudyClient.Understudy(url: server.url).world("w1")
        #expect(try await world.requests().isEmpty)
        let named: Understudy = Understudy(url: server.url)
        #expect(named.world("w1") == world)
    }
}
