import Foundation
import JOSE
import JSON
import TestSupport
import Testing
import Time

@testable import Firebase
@testable import EmulatorCore

@Suite("Projects that no seed holds, and users without end")
struct RoomTests {
    @Test("those in which nothing has happened make way; those with users stay, and further ones are refused")
    func projects() {
        let allowance = Allowance(limit: 6_000)
        var state = FirebaseState()
        for number in 0..<20_000 {
            let key = FirebaseState.Key(project: "demo-\(number)", tenant: nil)
            let isAdmitted = state.admit(key, counting: allowance)
            if !isAdmitted { Issue.record("demo-\(number)") }
        }
        #expect(state.projects.count <= FirebaseState.unseededLimit)
        #expect(allowance.count == state.projects.count)
        state = FirebaseState()
        #expect(allowance.count == 0)
        for number in 0..<FirebaseState.unseededLimit {
            let key = FirebaseState.Key(project: "demo-\(number)", tenant: nil)
            let isAdmitted = state.admit(key, counting: allowance)
            if !isAdmitted { Issue.record("demo-\(number)") }
            state.projects[key]?.insert(User(localId: "u", now: .first))
        }
        let last = FirebaseState.Key(project: "demo-last", tenant: nil)
        let takesMore = state.admit(last, counting: allowance)
        #expect(!takesMore)
        let takesKnown = state.admit(FirebaseState.Key(project: "demo-0", tenant: nil), counting: allowance)
        #expect(takesKnown)
        var other = FirebaseState()
        for number in 0..<2_000 {
            let key = FirebaseState.Key(project: "demo-\(number)", tenant: nil)
            let isAdmitted = other.admit(key, counting: allowance)
            if isAdmitted { other.projects[key]?.insert(User(localId: "u", now: .first)) }
            #expect(isAdmitted == (number < 1_000))
        }
        #expect(allowance.refused > 0)
    }

    @Test("a world takes half a million users and no more")
    func users() {
        var state = FirebaseState()
        let answers = [FirebaseState.userLimit - 10, FirebaseState.userLimit + 1, .max].map { state.hasRoom(for: $0) }
        #expect(answers == [true, false, false])
    }

    @Test("the refusal is Firebase's, with a diagnosis")
    func refusal() throws {
        let fixture = try FirebaseFixture()
        for number in 0...FirebaseState.unseededLimit {
            let answer = try fixture.v1("signUp", [:], key: "demo-project-\(number)")
            guard number == FirebaseState.unseededLimit else {
                if answer.status != 200 { Issue.record("\(answer)") }
                continue
            }
            #expect(answer.status == 429)
            #expect(answer.message.hasPrefix("QUOTA_EXCEEDED"))
            #expect(answer.diagnosis.contains("no seed holds it"))
        }
        let memory = try fixture.client.get("\(FirebaseFixture.control)/health").json["memory"] as? [String: Any]
        let projects = memory?["projects"] as? [String: Any]
        #expect(projects?["count"] as? Int == FirebaseState.unseededLimit)
        _ = try fixture.client.request("POST", "\(FirebaseFixture.control)/reset")
        #expect(try fixture.v1("signUp", [:], key: "demo-project-x").status == 200)
    }
}

@Suite("Parsed key sets")
struct KeySetCacheTests {
    @Test("belong to their world: gone with it and with its reset, and a rotated key verifies nothing more")
    func cache() throws {
        let registry = WorldRegistry(seed: try Seed([]), generator: KeyGenerator())
        let world = try #require(registry.world("one"))
        weak let cache = world.caches[KeySetCache.self]
        #expect(cache === world.caches[KeySetCache.self])
        #expect(cache !== registry.main.caches[KeySetCache.self])
        world.reset()
        #expect(cache == nil)
        let key = try Key.generateRSA()
        let sets = registry.main.caches[KeySetCache.self]
        let text: JSONValue = ["keys": [key.jwk(keyID: "k1", algorithm: .rs256)]]
        #expect(sets.keys("appleid.apple.com", text.serialized()).keys.sorted() == ["k1"])
        #expect(sets.keys("appleid.apple.com", Array(#"{"keys":[]}"#.utf8)).isEmpty)
        for number in 0..<1_000 { _ = sets.keys("host-\(number)", text.serialized()) }
        #expect(sets.count <= 16)
    }
}
