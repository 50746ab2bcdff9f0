import Foundation
import HTTPServer
import JOSE
import JSON
import TestSupport
import Testing
import Understudy
import Time

@testable import Firebase
@testable import EmulatorCore

@Suite("Projects that no seed holds, and users without end")
struct RoomTests {
    private let registry: WorldRegistry

    init() throws {
        registry = WorldRegistry(seed: try Seed([], format: Providers.seedFormat), generator: .ofTests)
    }

    private static func pool(_ number: Int) -> UserPool { UserPool(project: "demo-\(number)", tenant: nil) }

    private static func addUser(_ number: Int, to world: World) throws {
        let user = User(localId: "u", in: pool(number), now: .first)
        try world.update { $0.put(user) }
    }

    @Test("those in which nothing has happened make way; those with users stay, and further ones are refused")
    func projects() throws {
        let allowance = Allowance(limit: 6_000)
        let world = registry.main
        for number in 0..<20_000 {
            let isAdmitted = try world.admit(RoomTests.pool(number), counting: allowance)
            if !isAdmitted { Issue.record("demo-\(number)") }
        }
        #expect(world.read { $0.count(UnseededPool.self) } == UnseededPool.limit)
        #expect(allowance.count == UnseededPool.limit)
        try world.reset()
        #expect(allowance.count == 0)
        for number in 0..<UnseededPool.limit {
            let isAdmitted = try world.admit(RoomTests.pool(number), counting: allowance)
            if !isAdmitted { Issue.record("demo-\(number)") }
            try RoomTests.addUser(number, to: world)
        }
        let takesMore = try world.admit(RoomTests.pool(-1), counting: allowance)
        #expect(!takesMore)
        let takesKnown = try world.admit(RoomTests.pool(0), counting: allowance)
        #expect(takesKnown)
        let other = try #require(try registry.world("other"))
        for number in 0..<2_000 {
            let isAdmitted = try other.admit(RoomTests.pool(number), counting: allowance)
            if isAdmitted { try RoomTests.addUser(number, to: other) }
            #expect(isAdmitted == (number < 1_000))
        }
        #expect(allowance.refused > 0)
        // A project whose last user is deleted is removed for a new one of the same world.
        try world.deleteUsers(of: RoomTests.pool(7))
        let takesAnother = try world.admit(RoomTests.pool(-1), counting: allowance)
        #expect(takesAnother)
        #expect(world.read { $0.find(UnseededPool.self, RoomTests.pool(7)) } == nil)
        #expect(allowance.count == 6_000)
    }

    @Test("what an administrator set up stays, and a deleted tenant gives its place back")
    func settings() throws {
        let allowance = Allowance(limit: 2)
        let world = registry.main
        let (project, tenant) = (RoomTests.pool(1), UserPool(project: "demo-2", tenant: "t"))
        try world.update { tables in
            tables.put(ProjectSettings(project: "demo-1", hidesEmails: true))
            tables.put(Tenant(project: "demo-2", id: "t"))
        }
        try #expect([project, tenant].allSatisfy { try world.admit($0, counting: allowance) })
        try #expect(!world.admit(RoomTests.pool(3), counting: allowance))
        try #expect(world.remove(tenant))
        try #expect(!world.remove(tenant))
        #expect(allowance.count == 1)
        try #expect(world.admit(RoomTests.pool(3), counting: allowance))
        // The third project is still empty, so it is removed for the new one.
        try #expect(world.admit(RoomTests.pool(4), counting: allowance))
        #expect(world.read { $0.all(UnseededPool.self) }.map(\.pool) == [project, RoomTests.pool(4)])
        #expect(allowance.count == 2)
    }

    @Test("the refusal is Firebase's, with a diagnosis", .oneProcess("health counts what its process holds"))
    func refusal() throws {
        let fixture = try FirebaseFixture(isAlone: true)
        for number in 0...UnseededPool.limit {
            let answer = try fixture.v1("signUp", [:], key: "demo-project-\(number)")
            guard number == UnseededPool.limit else {
                if answer.status != 200 { Issue.record("\(answer)") }
                continue
            }
            #expect(answer.status == 429)
            #expect(answer.message.hasPrefix("QUOTA_EXCEEDED"))
            #expect(answer.diagnosis.contains("too many projects and tenants outside the seed"))
        }
        let memory = try fixture.client.get("\(FirebaseFixture.control)/health").json["memory"] as? [String: Any]
        let projects = memory?["projects"] as? [String: Any]
        #expect(projects?["count"] as? Int == UnseededPool.limit && projects?["refused"] as? Int == 1)
        _ = try fixture.client.request("POST", "\(FirebaseFixture.control)/reset")
        #expect(try fixture.v1("signUp", [:], key: "demo-project-x").status == 200)
    }

    @Test("a user beyond the world's last one is refused, whichever call would make it; deleting one makes room")
    func users() async throws {
        let seed = try Seed([], format: Providers.seedFormat)
        let worlds = WorldRegistry(seed: seed, generator: .ofTests, budget: ProcessBudget(usersOfWorld: 2))
        let dispatcher = try Composition.dispatcher(seed, worlds, RunningServer.Options())
        func call(_ path: String, _ body: String) async throws -> (status: Int, text: String, diagnosis: String) {
            let request = Request(
                method: "POST", target: "/identitytoolkit.googleapis.com/v1/\(path)?key=demo-app",
                headers: [
                    (name: "Host", value: "localhost"), (name: "Content-Type", value: "application/json"),
                    (name: "Authorization", value: "Bearer owner"),
                ], body: Array(body.utf8))
            let reply = dispatcher.handle(request)
            let answer = await withCheckedContinuation { continuation in
                reply.deliver(Completion { continuation.resume(returning: $0) })
            }
            return (
                answer.status, String(decoding: answer.body, as: UTF8.self), answer.header(Diagnosis.headerName) ?? ""
            )
        }
        let project = "projects/demo-app/accounts"
        for id in ["a", "b"] { #expect(try await call(project, #"{"localId":"\#(id)"}"#).status == 200) }
        // A batch is refused as a whole.
        for (path, body) in [
            (project, #"{"localId":"c"}"#), ("accounts:signUp", "{}"),
            ("accounts:signUp", #"{"email":"ada@example.com","password":"secret!"}"#),
            ("\(project):batchCreate", #"{"users":[{"localId":"c"}]}"#),
        ] {
            let answer = try await call(path, body)
            #expect(answer.status == 429, "\(path): \(answer)")
            #expect(answer.text.contains("QUOTA_EXCEEDED : Exceeded the number of accounts."))
            #expect(answer.diagnosis.contains("its limit of 2 users"))
        }
        #expect(worlds.main.read { $0.count(User.self) } == 2)
        #expect(try await call("\(project):delete", #"{"localId":"a"}"#).status == 200)
        let tooMany = #"{"users":[{"localId":"c"},{"localId":"d"}]}"#
        #expect(try await call("\(project):batchCreate", tooMany).status == 429)
        #expect(try await call(project, #"{"localId":"c"}"#).status == 200)
    }

    @Test("a change is refused when the texts of a world's users would be too long; a shorter text makes room")
    func userTexts() throws {
        let seed = try Seed([], format: Providers.seedFormat)
        let worlds = WorldRegistry(seed: seed, generator: .ofTests, budget: ProcessBudget(userBytesOfWorld: 1_000))
        let world = worlds.main
        var user = User(localId: "a", in: UserPool(project: "demo-app", tenant: nil), now: world.now)
        func put(_ name: String?) throws {
            user.displayName = name
            let changed = user
            try world.update { tables in
                tables.put(changed)
                try tables.checkRoom(for: 0, in: world)
            }
        }
        try put(String(repeating: "x", count: 900))
        #expect(throws: FirebaseError.self) { try put(String(repeating: "x", count: 1_000)) }
        #expect(world.read { $0.size(User.self) } == 901)
        try put(nil)
        #expect(world.read { $0.size(User.self) } == 1)
    }

    @Test("settings of projects are refused when those of a world would be too long")
    func settingsTexts() throws {
        let seed = try Seed([], format: Providers.seedFormat)
        let worlds = WorldRegistry(
            seed: seed, generator: .ofTests, budget: ProcessBudget(settingsBytesOfWorld: 1_000))
        let world = worlds.main
        func put(_ project: String) throws {
            var settings = ProjectSettings(project: project)
            settings.domains = [String(repeating: "x", count: 600)]
            let changed = settings
            try world.update { tables in
                tables.put(changed)
                try tables.checkRoomForSettings(in: world)
            }
        }
        try put("demo-one")
        #expect(throws: FirebaseError.self) { try put("demo-two") }
        #expect(world.read { $0.find(ProjectSettings.self, "demo-two") } == nil)
        try put("demo-one")
        // Providers' settings count, too.
        #expect(throws: FirebaseError.self) {
            try world.update { tables in
                var config = OAuthIdpConfig(pool: UserPool(project: "demo-one", tenant: nil), id: "oidc.a")
                config.clientID = String(repeating: "x", count: 600)
                tables.put(config)
                try tables.checkRoomForSettings(in: world)
            }
        }
    }
}

@Suite("Parsed key sets")
struct KeySetCacheTests {
    @Test("belong to their world: gone with it and with its reset, and a rotated key verifies nothing more")
    func cache() throws {
        let registry = WorldRegistry(seed: try Seed([], format: Providers.seedFormat), generator: .ofTests)
        let world = try #require(try registry.world("one"))
        weak let cache = world.caches[KeySetCache.self]
        #expect(cache === world.caches[KeySetCache.self])
        #expect(cache !== registry.main.caches[KeySetCache.self])
        try world.reset()
        #expect(cache == nil)
        let key = try Key.generateRSA()
        let sets = registry.main.caches[KeySetCache.self]
        let text: JSONValue = ["keys": [key.jwk(keyID: "k1", algorithm: .rs256)]]
        #expect(!sets.keys("appleid.apple.com", text.serialized()).isEmpty)
        #expect(sets.keys("appleid.apple.com", Array(#"{"keys":[]}"#.utf8)).isEmpty)
        for number in 0..<1_000 { _ = sets.keys("host-\(number)", text.serialized()) }
        #expect(sets.count <= 16)
    }
}
