import Dispatch
import HTTPServer
@testable import Recordings
import Synchronization
import Testing
import Time
@testable import Worlds

@testable import EmulatorCore

@Suite("A recording that replicas share")
struct SharedRecordingTests {
    /// One replica's part of the recordings.
    private final class Replica: Sendable {
        let budget: ProcessBudget

        init(_ keeper: any RecordingKeeper, limit: Int = RecordingStore.standardLimit) {
            budget = ProcessBudget(recordingLimit: limit, keepingRefusals: true, recordings: keeper)
        }

        deinit { budget.recordings.close() }

        func recording(_ world: String = "default") -> Recording { budget.recordings.recording(of: world) }

        func ids(_ world: String = "default") async throws -> [String] {
            let recording = recording(world)
            return try await recording.search { recording.known().exchanges.map(\.exchange.id) }
        }
    }

    private static func exchange(
        _ number: Int, world: String = "default", isRefused: Bool = false, request: String = "", size: Int = 0,
        began: Int64 = 0
    ) -> RecordedExchange {
        let response = Response(status: 200, contentType: "application/json", body: "{}")
        return RecordedExchange(
            id: "r\(number)", parent: nil, world: world, host: "example.com", path: "/", client: nil,
            request: Request(
                method: "POST", target: "/",
                headers: [(name: "Content-Type", value: "application/x-www-form-urlencoded")],
                body: Array(request.utf8) + Array(repeating: 0x78, count: size)),
            response: isRefused ? response.diagnosed(Diagnosis("no")) : response, time: .first, began: began,
            duration: 0,
            fault: nil)
    }

    /// Makes two replicas.
    private func replicas(_ kept: any RecordingKeeper, limit: Int = RecordingStore.standardLimit) -> [Replica] {
        [Replica(kept, limit: limit), Replica(kept, limit: limit)]
    }

    @Test(
        "shows everything that was answered before it was asked for, in one order, at each replica",
        arguments: TestedKeeping.all)
    func order(_ tested: TestedKeeping) async throws {
        let both = try replicas(tested.make())
        let recordings = both.map { $0.recording() }
        for round in 0..<20 {
            for number in 0..<10 {
                both[number % 2].recording().add(Self.exchange(round * 10 + number + 1))
            }
            let first = try await both[round % 2].ids()
            #expect(Set(first) == Set((1...(round + 1) * 10).map { "r\($0)" }))
            try #expect(await both[(round + 1) % 2].ids() == first)
            // The exchanges of one replica are in the order of their answers.
            let odd = first.filter { Int($0.dropFirst()).map { $0 % 2 == 1 } ?? false }
            #expect(odd == (0..<(round + 1) * 5).map { "r\($0 * 2 + 1)" })
        }
        for recording in recordings { try await recording.refresh() }
        let orders = recordings.map { $0.exchanges.map(\.order) }
        #expect(orders[0].count == 200 && orders[0] == orders[1] && orders[0] == orders[0].sorted())
    }

    @Test("finds the same flows at each replica, whichever of them answered", arguments: TestedKeeping.all)
    func flows(_ tested: TestedKeeping) async throws {
        let both = try replicas(tested.make())
        both[0].recording().add(Self.exchange(1, request: "code=code-code-1"))
        _ = try await both[0].ids()
        both[1].recording().add(Self.exchange(2, request: "code=code-code-1"))
        both[0].recording().add(Self.exchange(3, request: "code=code-code-2"))
        for replica in both {
            let recording = replica.recording()
            let flows = try await recording.search {
                recording.known().exchanges.reduce(into: [:]) { $0[$1.exchange.id] = $1.flow }
            }
            #expect(flows == ["r1": "r1", "r2": "r1", "r3": "r3"])
        }
    }

    @Test("is emptied at all replicas", arguments: TestedKeeping.all)
    func cleared(_ tested: TestedKeeping) async throws {
        let both = try replicas(tested.make())
        for number in 0..<10 { both[number % 2].recording().add(Self.exchange(number)) }
        for number in 10..<14 { both[0].recording("other").add(Self.exchange(number, world: "other")) }
        try #expect(await both[1].ids().count == 10)
        both[1].recording().add(Self.exchange(20))
        try both[0].recording().clear(forgetting: true)
        try #expect(await both[0].ids() == [])
        try #expect(await both[1].ids() == [])
        try #expect(await both[1].ids("other").count == 4)
        both[1].recording().add(Self.exchange(21))
        try #expect(await both[0].ids() == ["r21"])
        #expect(both[0].recording().dropped == 0)
    }

    @Test(
        "keeps the refusals of worlds that are gone, and shows the recordings of worlds that this replica hasn't made",
        arguments: TestedKeeping.all)
    func all(_ tested: TestedKeeping) async throws {
        let both = try replicas(tested.make())
        for number in 0..<6 {
            both[number % 2].recording("one").add(Self.exchange(number, world: "one", isRefused: number < 3))
        }
        both[0].recording("two").add(Self.exchange(10, world: "two"))
        try both[1].recording("one").clear(forgetting: false)
        for replica in both {
            let recordings = replica.budget.recordings
            let found = try await recordings.searchAll {
                (recordings.refusedByGoneWorlds.map(\.id), recordings.sharedRecordings?.map(\.world) ?? [])
            }
            #expect(Set(found.0) == ["r0", "r1", "r2"])
            #expect(found.1.contains("two"))
        }
        try #expect(await both[1].ids("two") == ["r10"])
        try both[0].budget.recordings.forgetGoneWorlds()
        let second = both[1].budget.recordings
        try #expect(await second.searchAll { second.refusedByGoneWorlds.count } == 0)
        try second.clear([]) { $0.hasPrefix("t") }
        try #expect(await both[0].ids("two") == [])
    }

    @Test(
        "keeps to a world's limit and to that of all, and counts what it dropped alike at each replica",
        arguments: TestedKeeping.all)
    func bounds(_ tested: TestedKeeping) async throws {
        let both = try replicas(tested.make(), limit: 2_000_000)
        for number in 0..<Recording.countLimit + 200 {
            both[number % 2].recording().add(Self.exchange(number))
        }
        for replica in both {
            // Copies are released with the last reference to the recording.
            let recording = replica.recording()
            try #expect(await replica.ids().count == Recording.countLimit)
            #expect(recording.exchanges.count + recording.dropped == Recording.countLimit + 200)
        }
        for number in 0..<30 { both[0].recording("large").add(Self.exchange(number, world: "large", size: 50_000)) }
        try #expect(await both[1].ids("large").last == "r29")
        #expect(both[0].budget.recordings.usage.bytes <= 2_200_000)
        #expect(both[0].budget.recordings.usage.dropped > 0)
    }

    @Test("tells those who listen at another replica", arguments: TestedKeeping.all)
    func listening(_ tested: TestedKeeping) async throws {
        let both = try replicas(tested.make())
        let recording = both[1].recording()
        let (told, continuation) = AsyncStream<String>.makeStream()
        let number = recording.listen {
            for exchange in recording.known().exchanges { continuation.yield(exchange.exchange.id) }
        }
        try await Task.sleep(for: .milliseconds(50))
        for number in 0..<5 {
            both[0].recording().add(Self.exchange(number))
            // Nobody asks for it: the listener is notified.
            for await id in told where id == "r\(number)" { break }
        }
        recording.stopListening(number)
    }

    @Test("nobody asks for exchanges that nobody asked for")
    func idle() async throws {
        let kept = KeptRecordings()
        let both = replicas(kept)
        for number in 0..<100 { both[number % 2].recording().add(Self.exchange(number)) }
        #expect(kept.state.withLock { $0.reads } == 0)
    }

    @Test("what can't be recorded is left out, and what comes after it isn't")
    func failures() async throws {
        let kept = KeptRecordings()
        let both = replicas(kept)
        both[0].recording().add(Self.exchange(1))
        kept.fail(StoreFailure(.unreachable, "it is gone"))
        both[0].recording().add(Self.exchange(2))
        await #expect(throws: StoreFailure(.unreachable, "it is gone")) { _ = try await both[0].ids() }
        kept.fail(nil)
        for number in 3..<6 { both[0].recording().add(Self.exchange(number)) }
        // The answer to the first attempt was lost.
        both[0].recording().add(Self.exchange(5))
        try #expect(await both[1].ids() == ["r1", "r3", "r4", "r5"])
    }
}
