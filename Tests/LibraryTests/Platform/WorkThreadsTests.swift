import Dispatch
import Foundation
import Synchronization
import Testing

@testable import Platform

@Suite("Threads for work that blocks")
struct WorkThreadsTests {
    private final class Box: Sendable {}

    @Test("finished work keeps nothing that it refers to")
    func finished() async throws {
        let threads = WorkThreads(limit: 1)
        weak var box: Box?
        await withCheckedContinuation { continuation in
            let made = Box()
            box = made
            threads.run { withExtendedLifetime(made) { continuation.resume() } }
        }
        // The thread may still be leaving the closure.
        for _ in 0..<500 where box != nil { try await Task.sleep(for: .milliseconds(10)) }
        #expect(box == nil)
    }

    @Test("all work is done, in order of arrival where there is one thread")
    func order() async {
        let threads = WorkThreads(limit: 1)
        let numbers = AsyncStream<Int> { stream in
            for number in 0..<1_000 { threads.run { stream.yield(number) } }
            threads.run { stream.finish() }
        }
        var found: [Int] = []
        for await number in numbers { found.append(number) }
        #expect(found == Array(0..<1_000))
    }

    @Test("owners take turns, and one piece of an owner's work runs at a time")
    func owners() async {
        let threads = WorkThreads(limit: 2)
        let running = Atomic<Int>(0)
        let works = AsyncStream<String> { stream in
            let begin = DispatchSemaphore(value: 0)
            threads.run(for: "busy") { begin.wait() }
            for number in 0..<50 {
                threads.run(for: "busy") {
                    let count = running.add(1, ordering: .relaxed).newValue
                    #expect(count == 1)
                    stream.yield("busy \(number)")
                    running.subtract(1, ordering: .relaxed)
                }
            }
            threads.run(for: "quiet") {
                stream.yield("quiet")
                begin.signal()
            }
            threads.run(for: "busy") { stream.finish() }
        }
        var found: [String] = []
        for await work in works { found.append(work) }
        #expect(found == ["quiet"] + (0..<50).map { "busy \($0)" })
    }

    @Test("work that is cancelled before its turn ends at once, keeps nothing, and isn't done")
    func cancelled() async throws {
        let threads = WorkThreads(limit: 1)
        let turn = DispatchSemaphore(value: 0)
        threads.run(for: "owner") { turn.wait() }
        weak var box: Box?
        let isDone = Atomic<Bool>(false)
        let task: Task<Void, any Error>
        do {
            let made = Box()
            box = made
            task = Task {
                try await threads.value(for: "owner") {
                    withExtendedLifetime(made) { isDone.store(true, ordering: .relaxed) }
                }
            }
        }
        try await Task.sleep(for: .milliseconds(50))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        for _ in 0..<500 where box != nil { try await Task.sleep(for: .milliseconds(10)) }
        #expect(box == nil)
        turn.signal()
        #expect(try await threads.value(for: "owner") { 7 } == 7)
        let wasDone = isDone.load(ordering: .relaxed)
        #expect(!wasDone)
    }
}
