import EmulatorCore
import TestSupport
import Testing
import Understudy

@testable import Apple

@Suite("Apple: people of an app's former team")
struct TransferredPeopleTests {
    private static let kinds: [FormerIdentifier] = [
        .subject(team: "A1B2C3D4E5"), .transferSubject(from: "A1B2C3D4E5", to: "F6G7H8J9K0"),
    ]

    private func world(people: Int) throws -> World {
        let accounts = (0..<people).map { ##"{"id":"p\##($0)","email":"p\##($0)@example.com"}"## }
        let seed = try SeedInput.load([.json(##"{"accounts":[\##(accounts.joined(separator: ","))]}"##)])
        return WorldRegistry(seed: seed, generator: .ofTests).main
    }

    @Test("everybody is found by what the former team called them, and by nothing else", arguments: kinds)
    func everybody(kind: FormerIdentifier) throws {
        let world = try world(people: 2_500)
        for number in [0, 999, 1_000, 1_001, 2_499] {
            #expect(world.account(kind.text(of: "p\(number)"), as: kind)?.id == "p\(number)")
        }
        #expect(world.account("p7", as: kind) == nil)
        let other = TransferredPeopleTests.kinds.first { $0 != kind }
        #expect(world.account(other?.text(of: "p7") ?? "", as: kind) == nil)
    }

    @Test("who goes isn't found, who comes later is", arguments: kinds)
    func changes(kind: FormerIdentifier) throws {
        let world = try world(people: 3)
        let text = kind.text(of: "p2")
        #expect(world.account(text, as: kind) != nil)
        let account = try #require(world.update { $0.pop(Account.self, "p2") })
        #expect(world.account(text, as: kind) == nil)
        try world.update { $0.put(account) }
        #expect(world.account(text, as: kind) != nil)
        #expect(world.account(kind.text(of: "p0"), as: kind) != nil)
    }

    @Test("the cache of many teams is bounded, also while they are asked for at the same time")
    func teams() async throws {
        let world = try world(people: 2_500)
        let kinds = (0..<40).map { FormerIdentifier.subject(team: "TEAM0000\($0 + 10)") }
        await withTaskGroup(of: String?.self) { group in
            for kind in kinds { group.addTask { world.account(kind.text(of: "p2499"), as: kind)?.id } }
            for await found in group { #expect(found == "p2499") }
        }
        #expect(world.caches[TransferredPeople.self].count <= 4 * 2_500)
    }

    @Test("what is remembered of people who have gone is bounded")
    func bound() throws {
        let world = try world(people: 3_000)
        let kind = TransferredPeopleTests.kinds[0]
        let cache = world.caches[TransferredPeople.self]
        #expect(world.account(kind.text(of: "p0"), as: kind) != nil)
        #expect(cache.count == 3_000)
        let account = try #require(world.read { $0.account("p1000") })
        try world.update { tables in
            for number in 10..<3_000 { tables.remove(Account.self, "p\(number)") }
            tables.put(account)
        }
        #expect(world.account(kind.text(of: "p0"), as: kind)?.id == "p0")
        #expect(cache.count == 11)
    }
}
