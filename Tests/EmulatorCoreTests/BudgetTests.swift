import Logging
import Synchronization
import Testing
@testable import Worlds

@testable import EmulatorCore

@Suite("Budgets of the process")
struct BudgetTests {
    @Test("an allowance counts leases for as long as they are held")
    func allowance() {
        let allowance = Allowance(limit: 2)
        let first = allowance.acquire()
        var second = allowance.acquire()
        #expect(first != nil && second != nil)
        #expect(allowance.acquire() == nil)
        #expect(allowance.refused == 1)
        second = nil
        #expect(allowance.count == 1)
        second = allowance.acquire()
        #expect(second != nil)
    }

    @Test("each kind of warning is written once, however often there is cause")
    func notices() {
        let lines = Mutex<[String]>([])
        let notices = Notices(Logger(label: "test") { _ in LineHandler { line in lines.withLock { $0.append(line) } } })
        for number in 0..<1_000 { notices.warnOncePerMinute(.recordings, "recordings \(number)") }
        notices.warnOncePerMinute(.worlds, "worlds")
        #expect(lines.withLock { $0 } == ["recordings 0", "worlds"])
    }

    @Test("a thousand rotations at once make no more keys than may wait, and nobody is left without an answer")
    func rotations() async throws {
        let generator = KeyGenerator(waitingLimit: 4)
        let answers = Mutex<[String?]>([])
        let (all, continuation) = AsyncStream<Void>.makeStream()
        for _ in 0..<1_000 {
            generator.fresh(.rs256, for: "default") { key in
                let count = answers.withLock { answers in
                    answers.append(key?.id)
                    return answers.count
                }
                if count == 1_000 { continuation.finish() }
            }
        }
        for await _ in all {}
        let made = answers.withLock { $0.compactMap { $0 } }
        #expect(made.count >= 4)
        #expect(made.count < 1_000)
        #expect(Set(made).count == made.count)
    }

    @Test("worlds that rotate their keys get them in turn")
    func turns() async throws {
        let generator = KeyGenerator()
        let done = Mutex<[String]>([])
        let (all, continuation) = AsyncStream<Void>.makeStream()
        let calls = ["busy", "busier"].flatMap { [String](repeating: $0, count: 12) } + ["quiet"]
        for world in calls {
            generator.fresh(.es256, for: world) { _ in
                let count = done.withLock { done in
                    done.append(world)
                    return done.count
                }
                if count == calls.count { continuation.finish() }
            }
        }
        for await _ in all {}
        let place = try #require(done.withLock { $0.firstIndex(of: "quiet") })
        #expect(place < 5)
    }

    @Test("rotations of one algorithm's keys don't delay another algorithm's keys")
    func algorithms() async throws {
        let generator = KeyGenerator()
        let done = Mutex<[String]>([])
        let (all, continuation) = AsyncStream<Void>.makeStream()
        let finish: @Sendable (String) -> Void = { name in
            let count = done.withLock { done in
                done.append(name)
                return done.count
            }
            if count == 14 { continuation.finish() }
        }
        for _ in 0..<12 { generator.fresh(.es256, for: "busy") { _ in finish("busy") } }
        generator.fresh(.es512, for: "quiet") { _ in finish("fresh") }
        generator.whenReady(.es384, turns: false) { _ in finish("initial") }
        for await _ in all {}
        let order = done.withLock { $0 }
        #expect(try #require(order.firstIndex(of: "fresh")) < 6)
        #expect(try #require(order.firstIndex(of: "initial")) < 6)
    }
}

private struct LineHandler: LogHandler {
    let write: @Sendable (String) -> Void
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    init(_ write: @escaping @Sendable (String) -> Void) { self.write = write }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { write("\(event.message)") }
}
