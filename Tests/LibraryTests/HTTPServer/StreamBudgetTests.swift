import HTTPServer
import Synchronization
import Testing

@Suite("What streams hold for readers that are behind")
struct StreamBudgetTests {
    @Test("what many streams send is held once, and let go when nobody sends it any more")
    func shared() {
        let budget = StreamBudget(limit: 1_000)
        var streams = (0..<100).map { _ in EventStream() }
        var chunk: StreamChunk? = StreamChunk(Array(repeating: 0x61, count: 600), in: budget)
        for stream in streams {
            budget.add(stream)
            if let chunk { stream.send(chunk) }
        }
        chunk = nil
        #expect(budget.bytes == 600)
        #expect(budget.enforce() == 0)
        #expect(streams.allSatisfy { $0.backlog == 600 })
        streams[0].send(StreamChunk(Array(repeating: 0x62, count: 600), in: budget))
        #expect(budget.bytes == 1_200)
        // The slowest stream is ended, which is enough.
        #expect(budget.enforce() == 1)
        #expect(budget.bytes == 600)
        #expect(budget.dropped == 1)
        #expect(streams[0].backlog == 0)
        #expect(!streams[0].send(Array("more".utf8)))
        #expect(streams[1].send(Array("more".utf8)))
        for stream in streams { stream.end() }
        streams = []
    }

    @Test("a stream that nobody has any more is closed, and holds nothing")
    func unsent() {
        let budget = StreamBudget(limit: 1_000)
        let closed = Atomic<Int>(0)
        do {
            let stream = EventStream()
            budget.add(stream)
            stream.whenClosed { closed.add(1, ordering: .relaxed) }
            stream.send(StreamChunk(Array(repeating: 0x61, count: 600), in: budget))
        }
        #expect(closed.load(ordering: .relaxed) == 1)
        #expect(budget.bytes == 0 && budget.enforce() == 0)
    }

    @Test("a reader that falls behind by 4 MB is let go, with all that it hadn't taken")
    func behind() {
        let budget = StreamBudget()
        let stream = EventStream()
        var count = 0
        while stream.send(StreamChunk(Array(repeating: 0x61, count: 1 << 20), in: budget)) { count += 1 }
        #expect(count == 4)
        #expect(budget.bytes == 0)
        // A single chunk may be larger.
        #expect(EventStream().send(StreamChunk(Array(repeating: 0x61, count: 5 << 20), in: budget)))
    }
}
