import HTTPServer
import Logging
@testable import Recordings
import Synchronization
import Testing
import Time

@testable import EmulatorCore

@Suite("All recordings together")
struct RecordingStoreTests {
    private static func exchange(
        _ number: Int, parent: Int? = nil, isRefused: Bool = false, request: String = "", response: String = "",
        size: Int = 0
    ) -> RecordedExchange {
        let response = Response(status: 200, contentType: "application/json", body: response)
        return RecordedExchange(
            id: "r\(number)", parent: parent.map { "r\($0)" }, world: "default", host: "example.com", path: "/",
            client: nil,
            request: Request(
                method: "POST", target: "/",
                headers: [(name: "Content-Type", value: "application/x-www-form-urlencoded")],
                body: Array(request.utf8) + Array(repeating: 0x78, count: size)),
            response: isRefused ? response.diagnosed(Diagnosis("no")) : response, time: .first, began: 0, duration: 0,
            fault: nil)
    }

    @Test("are bounded, and the oldest exchange of any world goes first")
    func bound() {
        let budget = ProcessBudget(recordingLimit: 1_000_000)
        let worlds = (0..<4).map { _ in Recording(in: budget.recordings) }
        for number in 0..<100 { worlds[number % 4].add(Self.exchange(number, size: 50_000)) }
        let usage = budget.recordings.usage
        #expect(usage.bytes <= 1_000_000)
        #expect(usage.bytes > 900_000)
        let kept = worlds.map { $0.exchanges.map(\.number) }
        #expect(kept.joined().sorted() == Array((100 - kept.joined().count)..<100))
        #expect(usage.dropped == 100 - kept.joined().count)
    }

    @Test("what a world held is given back when it is cleared or goes")
    func givenBack() throws {
        let budget = ProcessBudget()
        var recording: Recording? = Recording(in: budget.recordings)
        let other = Recording(in: budget.recordings)
        for number in 0..<10 { recording?.add(Self.exchange(number, size: 10_000)) }
        // Bytes that malloc adds count, too, so equal exchanges may differ by some.
        let first = budget.recordings.usage.bytes
        for number in 0..<10 { other.add(Self.exchange(number, size: 10_000)) }
        #expect(budget.recordings.usage.bytes >= first + 10 * 10_000)
        try other.clear(forgetting: true)
        #expect(budget.recordings.usage.bytes == first)
        other.add(Self.exchange(11, size: 10_000))
        let last = budget.recordings.usage.bytes - first
        #expect(other.exchanges.map(\.id) == ["r11"])
        #expect(other.known().first == 10)
        recording = nil
        #expect(last >= 10_000 && budget.recordings.usage.bytes == last)
        #expect(budget.recordings.usage.dropped == 0)
    }

    @Test("what a world refused outlives it, in order and within bounds, until it is forgotten")
    func goneWorlds() throws {
        let budget = ProcessBudget(keepingRefusals: true)
        var recording: Recording? = Recording(in: budget.recordings)
        let other = Recording(in: budget.recordings)
        for number in 0..<10 {
            recording?.add(Self.exchange(number, isRefused: number % 2 == 0, size: 10_000))
            other.add(Self.exchange(number + 100, isRefused: true))
        }
        recording = nil
        try other.clear(forgetting: false)
        other.add(Self.exchange(500, isRefused: true))
        let kept = budget.recordings.refusedByGoneWorlds
        #expect(kept.map(\.number) == [0, 2, 4, 6, 8] + Array(100..<110))
        #expect(kept[1].order == 4 && kept[5].order == 1)
        for number in 0..<Recording.countLimit { other.add(Self.exchange(number, isRefused: true)) }
        try other.clear(forgetting: false)
        #expect(budget.recordings.refusedByGoneWorlds.count == Recording.countLimit)
        other.add(Self.exchange(501, isRefused: true))
        try other.clear(forgetting: true)
        #expect(budget.recordings.refusedByGoneWorlds.last?.number == Recording.countLimit - 1)
        try budget.recordings.forgetGoneWorlds()
        #expect(budget.recordings.usage.bytes == 0)
    }

    @Test("one exchange's account covers its bodies and headers, and a large body is cut at a character")
    func size() {
        let small = Self.exchange(1)
        let headers = (0..<100).map { (name: "X-Header-Number-\($0)", value: String(repeating: "v", count: 100)) }
        let large = RecordedExchange(
            id: "r2", parent: nil, world: "default", host: nil, path: "/", client: nil,
            request: Request(
                method: "POST", target: "/", headers: headers, body: Array(repeating: 0x61, count: 100_000)),
            response: Response(status: 200), time: .first, began: 0, duration: 0, fault: nil)
        #expect(large.size >= small.size + 100_000 + 100 * (100 + 32))
        #expect(!large.isCut)
        let text = String(repeating: "é", count: 300_000)
        let cut = Self.exchange(3, request: "x" + text)
        #expect(cut.isCut)
        #expect(cut.requestBodySize == 600_001)
        #expect((Recording.bodyLimit - 4...Recording.bodyLimit).contains(cut.request.body.count))
        #expect(String(validating: cut.request.body, as: UTF8.self) != nil)
        #expect(cut.size < Recording.bodyLimit + 10_000)
    }

    // MARK: - Flows

    private func flows(_ recording: Recording) -> [String: String] {
        Dictionary(uniqueKeysWithValues: recording.known().exchanges.map { ($0.exchange.id, $0.flow) })
    }

    @Test("a flow goes on from code to token to use, whenever it is asked for")
    func flow() throws {
        let recording = Recording(in: ProcessBudget().recordings)
        recording.add(
            Self.exchange(1, request: "state=state-of-mine&client_id=c1", response: #"{"code":"code-code-1"}"#))
        #expect(flows(recording) == ["r1": "r1"])
        recording.add(Self.exchange(2, request: "code=code-code-1", response: #"{"access_token":"token-token-1"}"#))
        recording.add(Self.exchange(3, request: "code=code-code-2"))
        #expect(flows(recording) == ["r1": "r1", "r2": "r1", "r3": "r3"])
        recording.add(Self.exchange(4, request: "token=token-token-1"))
        #expect(flows(recording)["r4"] == "r1")
        #expect(recording.known().exchanges.map(\.client) == ["c1", "c1", nil, "c1"])
        try recording.clear(forgetting: true)
        recording.add(Self.exchange(5, request: "token=token-token-1"))
        #expect(flows(recording) == ["r5": "r5"])
    }

    @Test("what an exchange asks of others ends first, and belongs to its flow all the same")
    func parents() {
        let recording = Recording(in: ProcessBudget().recordings)
        recording.add(Self.exchange(1, response: #"{"id_token":"token-token-1"}"#))
        recording.add(Self.exchange(4, parent: 3, request: "access_token=token-token-2"))
        #expect(flows(recording) == ["r1": "r1", "r4": "r3"])
        recording.add(Self.exchange(3, parent: 2))
        recording.add(Self.exchange(2, request: "id_token=token-token-1"))
        #expect(flows(recording) == ["r1": "r1", "r2": "r1", "r3": "r1", "r4": "r1"])
        recording.add(Self.exchange(5, request: "access_token=token-token-2"))
        #expect(flows(recording)["r5"] == "r1")
    }

    @Test("what is known of exchanges is let go with them")
    func forgotten() {
        var index = FlowIndex()
        let first = Self.exchange(1, request: "state=state-of-mine", response: #"{"code":"code-code-1"}"#)
        let second = Self.exchange(2, request: "code=code-code-1")
        index.add([first, second], from: 0)
        index.drop(before: 1)
        #expect(index.known(second).flow == "r1")
        index.drop(before: 2)
        let third = Self.exchange(3, request: "code=code-code-1&state=state-of-mine")
        index.add([third], from: 2)
        #expect(index.known(third).flow == "r3")
        for number in 0..<5_000 {
            index.add([Self.exchange(10 + number, request: "code=code-code-1")], from: 3 + number)
        }
        index.drop(before: 5_003)
        #expect(index.end == 5_003)
    }

    @Test("clients that send the same state sign in each by itself, and what names no client goes on with the last")
    func sameState() {
        var index = FlowIndex()
        let sent = ["client_id=one&state=one-constant", "client_id=two&state=one-constant", "state=one-constant"]
        let exchanges = sent.enumerated().map { Self.exchange($0.offset + 1, request: $0.element) }
        index.add(exchanges, from: 0)
        #expect(exchanges.map { index.known($0).flow } == ["r1", "r2", "r2"])
        index.drop(before: 3)
        #expect(index.end == 3)
    }

    @Test("listeners are told once for many exchanges, on the store's thread")
    func listeners() async throws {
        let recording = Recording(in: ProcessBudget().recordings)
        let (told, continuation) = AsyncStream<Int>.makeStream()
        let number = recording.listen { continuation.yield(recording.count) }
        for number in 0..<100 { recording.add(Self.exchange(number)) }
        for await count in told where count == 100 { break }
        recording.stopListening(number)
        #expect(!recording.isListenedTo)
    }

    @Test("arrival order: any place can be taken out, and is used again")
    func arrival() {
        var order = ArrivalOrder()
        let places = (0..<4).map { order.append($0) }
        order.remove(places[1])
        order.remove(places[0])
        #expect(order.first == 2)
        let reused = [order.append(5), order.append(6)]
        #expect(Set(reused) == Set(places[0...1]))
        order.remove(places[2])
        order.remove(places[3])
        #expect(order.first == 5)
        #expect(order.count == 2)
    }
}
