import Foundation
import JOSE
import JSON
import Testing
import Understudy
@testable import Worlds

@testable import EmulatorCore

/// Tests that a world's clock, generator and orders can be encoded and decoded, as its rows can.
@Suite("a world's values, written down and read back")
struct WorldValueTests {
    private static let orders = #"""
        {"clock": {"set": "2030-01-01T00:00:00Z", "freeze": true}, "randomSeed": "tests",
         "outcomes": [{"provider": "apple", "outcome": "approve", "shareEmail": false,
                       "name": {"given": "A", "family": "L"}, "scopes": ["email"], "times": 2}],
         "faults": [{"match": {"host": "github.com", "path": "/login/*", "fields": {"grant_type": "x"}}, "after": 1, "times": 2,
                     "effect": {"status": 503, "headers": {"Retry-After": "1", "Age": "2"}, "body": {"z": 1, "a": [null, 1.5]}}},
                    {"effect": {"token": {"claims": {"exp": "-1h"}}, "delay": "2s", "rotateKeys": true}, "probability": 0.5}]}
        """#

    private let seed: Seed

    init() throws {
        let source = SeedSource(name: "seed", text: WorldValueTests.orders, directory: ".")
        seed = try Seed([source], format: Providers.seedFormat)
    }

    private func copy<Value: WorldValue>(_ value: Value) throws -> Value {
        try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
    }

    @Test("of a value that several changes have, daemons that are behind read the last one")
    func lastValues() {
        func change(_ version: Int64, _ values: [String: String], isReset: Bool = false) -> ArchivedChange {
            let values = values.sorted { $0.key < $1.key }.map { ArchivedValue(name: $0.key, value: $0.value) }
            return ArchivedChange(
                version: version, before: version - 1, change: WorldChange(isReset: isReset, values: values))
        }
        let changes = [
            change(2, ["faults": "1", "clock": "1"]), change(3, ["faults": "2"]), change(4, [:], isReset: true),
            change(5, ["faults": "3", "random": "1"]),
        ].withLastValues
        let left = changes.map { $0.change.values.map { "\($0.name) \($0.value)" } }
        #expect(left == [["clock 1"], [], [], ["faults 3", "random 1"]])
        #expect(changes.map(\.version) == [2, 3, 4, 5] && changes.map(\.before) == [1, 2, 3, 4])
        #expect(changes.map(\.change.isReset) == [false, false, true, false])
    }

    @Test("the clock stands where it stood")
    func clock() throws {
        #expect(try copy(WorldClock(seed)).now == WorldClock(seed).now)
        #expect(try copy(WorldClock(seed)).isFrozen)
    }

    @Test("a seeded generator goes on where it was")
    func generator() throws {
        var source = RandomSource(seed)
        _ = source.generator.bytes(40)
        var read = try copy(source)
        let next = source.generator.bytes(100)
        #expect(read.generator.bytes(100) == next)
    }

    @Test("the system's generator doesn't give the same bytes twice")
    func system() throws {
        var generator = Randomness(seed: nil)
        _ = generator.bytes(1)
        var read = try JSONDecoder().decode(Randomness.self, from: JSONEncoder().encode(generator))
        #expect(read.isUsed)
        #expect(read.bytes(32) != generator.bytes(32))
    }

    @Test("outcomes are taken as often as they have left")
    func outcomes() throws {
        var queue = OutcomeQueue(seed)
        _ = queue.consumeNext(provider: "apple", client: "any")
        let id = queue.nextID()
        var read = try copy(queue)
        #expect(read.queued == queue.queued)
        #expect(read.nextID() != id)
        #expect(read.consumeNext(provider: "apple", client: "any")?.name == .init(given: "A", family: "L"))
        #expect(read.consumeNext(provider: "apple", client: "any") == nil)
    }

    @Test("faults keep what was ordered, byte by byte, and their counts")
    func faults() throws {
        var queue = FaultQueue(seed)
        var random = Randomness(seed: "x")
        for _ in 0..<2 { _ = queue.beginUse(&random) { $0.effect.answer != nil } }
        var read = try copy(queue)
        #expect(read.queued.map(\.json) == queue.queued.map(\.json))
        #expect(read.queued.first?.json["done"] == 1)
        let answer = try #require(read.queued.first?.effect.answer)
        #expect(String(decoding: answer.body, as: UTF8.self) == #"{"z":1,"a":[null,1.5]}"#)
        #expect(answer.headers.map(\.name) == ["Retry-After", "Age", "Content-Type"])
        #expect(read.queued.last?.effect.rotation == .keep)
        #expect(read.beginUse(&random) { $0.effect.answer != nil } != nil)
        #expect(read.beginUse(&random) { $0.effect.answer != nil } == nil)
    }

    @Test("a request that began before a reset or a loaded snapshot doesn't count at the same fault afterwards")
    func faultsAfterReset() {
        var random = Randomness(seed: "x")
        func queue() -> FaultQueue {
            var queue = FaultQueue()
            let order: JSONValue = ["effect": ["status": 503], "times": 1]
            let wasAdded = queue.add(Fault(reading: order).named(queue.nextID()))
            #expect(wasAdded)
            return queue
        }
        var (before, after) = (queue(), queue())
        let used = before.beginUse(&random) { _ in true }
        #expect(used?.id == "fault-1")
        after.finish("fault-1", before.mark, isUsed: false)
        #expect(after.queued.first?.json["seen"] == 0)
        let usedAfterwards = after.beginUse(&random) { _ in true }
        #expect(usedAfterwards?.id == "fault-1")
        after.finish("fault-1", before.mark, isUsed: false)
        #expect(after.queued.isEmpty)
        let mark = before.mark
        var snapshot = before.withoutMark
        snapshot.finish("fault-1", mark, isUsed: false)
        #expect(snapshot.queued.isEmpty)
        before.finish("fault-1", mark, isUsed: false)
        #expect(before.queued.count == 1)
    }
}
