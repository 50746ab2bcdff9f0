import Foundation
import PostgreSQL
@testable import Recordings
import Synchronization
import Testing
@testable import Worlds

@testable import EmulatorCore

@Suite("Recordings in PostgreSQL", .enabled(if: TestedKeeping.hasServer))
struct DatabaseRecordingTests {
    private func recordings() throws -> DatabaseRecordings {
        for case .postgresql(let url) in TestedKeeping.all { return try DatabaseRecordings(url) }
        throw StoreFailure(.unreachable, "there is no server")
    }

    private static let limit = 64_000_000

    private static func exchange(
        _ id: String, world: String = "w", size: Int = 1_000, isRefused: Bool = false
    ) -> AppendedExchange {
        AppendedExchange(id: id, world: world, size: size, isRefused: isRefused, bytes: Array(id.utf8))
    }

    private func run(_ sql: String, _ recordings: DatabaseRecordings) throws -> PostgreSQLResult {
        let connection = try recordings.connected()
        return try connection.run([PostgreSQLStatement(sql, sql)()], until: .now + .seconds(10))[0]
    }

    @Test("whoever sees a number has seen all lower ones, with many who append")
    func commits() async throws {
        let recordings = try recordings()
        let worlds = (0..<3).map { "w\($0)" }
        let reader = recordings.keeper()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                let keeper = recordings.keeper()
                group.addTask {
                    for number in 1...150 {
                        let world = worlds[(number + writer) % 3]
                        _ = try keeper.append(Self.exchange("\(writer)-\(number)", world: world), limit: Self.limit)
                    }
                }
            }
            group.addTask {
                var seen: Set<Int> = []
                var last: [String: Int] = [:]
                while seen.count < 600 {
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
        #expect(try run("SELECT sum(count)::bigint FROM understudy_recorded", recordings).integer(0, 0) == 600)
    }

    @Test("an exchange is there once, however often it is appended")
    func once() throws {
        let recordings = try recordings()
        let keeper = recordings.keeper()
        for id in ["a", "a", "b", "a", "b"] { _ = try keeper.append(Self.exchange(id), limit: Self.limit) }
        let news = try keeper.read([(name: "w", after: 0)])
        #expect(news.exchanges.map { String(decoding: $0.bytes, as: UTF8.self) } == ["a", "b"])
        #expect(news.exchanges.map(\.number) == [1, 2] && news.worlds.first?.count == 2)
    }

    @Test("the oldest go when there are too many, of one world and of all")
    func room() throws {
        let recordings = try recordings()
        let keeper = recordings.keeper()
        for number in 1...1_200 { _ = try keeper.append(Self.exchange("\(number)"), limit: Self.limit) }
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

        // An exchange stays if it alone is larger than the limit of a world.
        for (id, factor) in [("x", 2), ("y", 1), ("z", 1)] {
            let large = Self.exchange(id, world: "large", size: Recording.sizeLimit * factor)
            _ = try keeper.append(large, limit: Self.limit)
        }
        #expect(try keeper.read([(name: "large", after: 0)]).exchanges.count == 1)

        var usage = (bytes: 0, dropped: 0)
        for number in 0..<10 {
            usage = try #require(try keeper.append(Self.exchange("o\(number)", world: "other"), limit: 1_000_000))
        }
        #expect(usage.bytes <= 1_000_000 && usage.dropped > 1_000)
        #expect(try keeper.read([(name: "other", after: 0)]).exchanges.count == 10)
        summary = try #require(try keeper.summaries().first { $0.world == "w" })
        #expect(summary.count == 0 && summary.dropped == 1_200)
        let size = try run("SELECT coalesce(sum(size), 0)::bigint FROM understudy_exchanges", recordings)
        #expect(Int(size.integer(0, 0)) == usage.bytes)
    }

    @Test("the last thousand refusals of worlds that are gone stay, and aren't sent twice")
    func gone() throws {
        let keeper = try recordings().keeper()
        for number in 1...1_200 {
            let exchange = Self.exchange("\(number)", world: "w\(number % 12)", isRefused: true)
            _ = try keeper.append(exchange, limit: Self.limit)
        }
        _ = try keeper.append(Self.exchange("last", world: "w1"), limit: Self.limit)
        try keeper.clear((0..<12).map { "w\($0)" }, keepingRefusals: true)
        #expect(try keeper.summaries().isEmpty)
        let (numbers, exchanges) = try keeper.refusedByGoneWorlds(known: [])
        #expect(numbers == Array(201...1_200) && exchanges.count == 1_000)
        #expect(try keeper.refusedByGoneWorlds(known: Set(numbers.dropFirst())).exchanges.map(\.number) == [201])
        try keeper.forgetGoneWorlds()
        #expect(try keeper.refusedByGoneWorlds(known: []).numbers.isEmpty)
    }
}
