import Foundation
import PostgreSQL
import Synchronization
import Testing

@testable import EmulatorCore

@Suite("Recordings in PostgreSQL", .enabled(if: TestedKeeping.hasServer))
struct DatabaseRecordingTests {
    private static let presence = WriterPresence(flushed: 0, limit: 64_000_000)

    private func recordings() throws -> DatabaseRecordings {
        for case .postgresql(let url) in TestedKeeping.all { return try DatabaseRecordings(url) }
        throw StoreFailure(.gone, "there is no server")
    }

    private static func batch(
        _ number: Int, _ count: Int = 1, world: String = "w", size: Int = 1_000, isRefused: Bool = false
    ) -> RecordingBatch {
        let entry = RecordingBatch.Entry(
            world: world, size: size, isRefused: isRefused, bytes: Array("\(number)".utf8))
        return RecordingBatch(number: number, entries: Array(repeating: entry, count: count))
    }

    private func run(_ sql: String, _ recordings: DatabaseRecordings) throws -> PostgreSQLResult {
        let connection = try recordings.connected()
        return try connection.run([PostgreSQLStatement(sql, sql)()], until: .now + .seconds(10))[0]
    }

    @Test("whoever sees a number has seen all lower ones, with many who append")
    func commits() async throws {
        let recordings = try recordings()
        let worlds = (0..<3).map { "w\($0)" }
        let reader = try recordings.keeper(of: 100)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                let keeper = try recordings.keeper(of: writer)
                group.addTask {
                    for number in 1...50 {
                        let world = worlds[(number + writer) % 3]
                        _ = try keeper.append(Self.batch(number, number % 7 + 1, world: world), Self.presence)
                    }
                }
            }
            group.addTask {
                var seen: Set<Int> = []
                var last: [String: Int] = [:]
                while seen.count < 4 * 198 {
                    let news = try reader.read(worlds.map { (name: $0, after: last[$0] ?? 0) })
                    for exchange in news.exchanges {
                        seen.insert(exchange.number)
                        last[exchange.world] = exchange.number
                    }
                    if !news.hasMore { #expect(seen.max() ?? 0 == seen.count) }
                }
            }
            try await group.waitForAll()
        }
        let summaries = try reader.summaries()
        #expect(Set(summaries.map(\.world)) == Set(worlds))
        #expect(try run("SELECT sum(count)::bigint FROM understudy_recorded", recordings).integer(0, 0) == 4 * 198)
    }

    @Test("a batch is there once, however often its connection ends")
    func killed() async throws {
        let recordings = try recordings()
        let keeper = try recordings.keeper(of: 1)
        let killer = Killer(recordings)
        // On a thread of its own: tests that wait may occupy all others.
        Thread.detachNewThread { killer.run() }
        defer { killer.stop() }
        var number = 0
        while killer.count < 8 || number < 100 {
            number += 1
            while true {
                do {
                    _ = try keeper.append(Self.batch(number), Self.presence)
                    break
                } catch { try await Task.sleep(for: .milliseconds(5)) }
            }
            try #require(number < 100_000)
        }
        killer.stop()
        let found = try run("SELECT body FROM understudy_exchanges ORDER BY number", recordings)
        let bodies = (0..<found.count).map { found.text($0, 0) }
        #expect(bodies == (number - bodies.count + 1...number).map { "\($0)" })
    }

    /// Ends the connections of all others, again and again.
    private final class Killer: Sendable {
        private struct State {
            var count = 0
            var isStopped = false
        }

        private let recordings: DatabaseRecordings
        private let state = Mutex(State())

        init(_ recordings: DatabaseRecordings) { self.recordings = recordings }

        /// How many it has ended.
        var count: Int { state.withLock { $0.count } }

        func stop() { state.withLock { $0.isStopped = true } }

        func run() {
            let kill = PostgreSQLStatement(
                "kill",
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE application_name = '\(recordings.schema)' AND pid <> pg_backend_pid()
                """)
            guard let connection = try? recordings.connected() else { return }
            while !state.withLock({ $0.isStopped }) {
                let killed = try? connection.run([kill()], until: .now + .seconds(10))[0].count
                state.withLock { $0.count += killed ?? 0 }
                usleep(15_000)
            }
        }
    }

    @Test("the oldest go when there are too many, of one world and of all")
    func room() throws {
        let recordings = try recordings()
        let keeper = try recordings.keeper(of: 1)
        for number in 1...12 { _ = try keeper.append(Self.batch(number, 100), Self.presence) }
        var summary = try #require(try keeper.summaries().first)
        #expect(summary.count + summary.dropped == 1_200)
        #expect((Recording.countLimit...Recording.countLimit + 100).contains(summary.count))
        #expect(summary.first == summary.dropped + 1)
        var after = 0
        var found: [Int] = []
        while true {
            let news = try keeper.read([(name: "w", after: after)])
            found += news.exchanges.map(\.number)
            after = found.last ?? 0
            if !news.hasMore { break }
        }
        #expect(found == Array(summary.first...1_200))

        // One that alone is larger than a world may be stays.
        let large = Self.batch(13, world: "large", size: Recording.sizeLimit * 2)
        _ = try keeper.append(large, Self.presence)
        _ = try keeper.append(Self.batch(14, 2, world: "large", size: Recording.sizeLimit), Self.presence)
        #expect(try keeper.read([(name: "large", after: 0)]).exchanges.count == 1)

        let status = try keeper.append(
            Self.batch(15, 10, world: "other"), WriterPresence(flushed: 0, limit: 1_000_000))
        #expect(status.size <= 1_000_000 && status.dropped > 1_000)
        #expect(try keeper.read([(name: "other", after: 0)]).exchanges.count == 10)
        summary = try #require(try keeper.summaries().first { $0.world == "w" })
        #expect(summary.count == 0 && summary.dropped == 1_200)
        let size = try run("SELECT coalesce(sum(size), 0)::bigint FROM understudy_exchanges", recordings)
        #expect(Int(size.integer(0, 0)) == status.size)
    }

    @Test("the last thousand refusals of worlds that are gone stay, and aren't sent twice")
    func gone() throws {
        let keeper = try recordings().keeper(of: 1)
        for number in 1...12 {
            _ = try keeper.append(Self.batch(number, 100, world: "w\(number)", isRefused: true), Self.presence)
        }
        _ = try keeper.append(Self.batch(13, world: "w1"), Self.presence)
        try keeper.clear((1...12).map { "w\($0)" }, keepingRefusals: true)
        #expect(try keeper.summaries().isEmpty)
        let (numbers, exchanges) = try keeper.refusedByGoneWorlds(known: [])
        #expect(numbers == Array(201...1_200) && exchanges.count == 1_000)
        #expect(try keeper.refusedByGoneWorlds(known: Set(numbers.dropFirst())).exchanges.map(\.number) == [201])
        #expect(try keeper.attend(Self.presence).size == 0)
        try keeper.forgetGoneWorlds()
        #expect(try keeper.refusedByGoneWorlds(known: []).numbers.isEmpty)
    }
}
