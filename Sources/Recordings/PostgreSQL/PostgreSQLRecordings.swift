import PostgreSQL
import Worlds

/// Keeps the recorded requests and answers of test worlds in a PostgreSQL database.
package final class PostgreSQLRecordings: RecordingKeeper {
    /// Returns by how much a recording may exceed a limit before the oldest requests are removed. It is a tenth of the
    /// limit, so that removals, each of which reads the whole recording, are rare.
    private static func slack(_ limit: Int) -> Int { limit / 10 }

    private let pool: PostgreSQLPool

    package static let tables = RecordingSchema.tables

    package init(_ pool: PostgreSQLPool) { self.pool = pool }

    @discardableResult
    private func run(_ calls: [PostgreSQLCall]) throws(StoreFailure) -> [PostgreSQLResult] {
        try pool.use { connection throws(PostgreSQLError) in
            try connection.run(calls, until: .now + PostgreSQLPool.answerLimit)
        }
    }

    // MARK: - Appending

    package func append(_ exchange: AppendedExchange, limit: Int) throws(StoreFailure) -> (bytes: Int, dropped: Int)? {
        let (world, size) = (PostgreSQLValue.text(exchange.world), PostgreSQLValue.integer(Int64(exchange.size)))
        let calls = [
            RecordingSchema.begin(), RecordingSchema.hurry(), RecordingSchema.count(size),
            RecordingSchema.append(
                .text(exchange.id), world, size, .integer(exchange.isRefused ? 1 : 0), .bytes(exchange.bytes)),
            RecordingSchema.appendWorld(world, size), RecordingSchema.status(), RecordingSchema.commit(),
        ]
        // If a connection was lost, the exchange may be there already when this runs again.
        let results = try pool.use { connection throws(PostgreSQLError) -> [PostgreSQLResult]? in
            do throws(PostgreSQLError) {
                return try connection.run(calls, until: .now + PostgreSQLPool.answerLimit)
            } catch {
                guard error.state == RecordingSchema.isThereState else { throw error }
                try connection.run([RecordingSchema.rollback()], until: .now + PostgreSQLPool.answerLimit)
                return nil
            }
        }
        guard let results else { return nil }
        let (count, bytes) = (Int(results[4].integer(0, 0)), Int(results[4].integer(0, 1)))
        var room: [PostgreSQLCall] = []
        if count > Recording.countLimit + PostgreSQLRecordings.slack(Recording.countLimit)
            || bytes > Recording.sizeLimit + PostgreSQLRecordings.slack(Recording.sizeLimit) && count > 1
        {
            room.append(
                RecordingSchema.trimWorld(
                    world, .integer(Int64(Recording.countLimit)), .integer(Int64(Recording.sizeLimit))))
        }
        let status = results[5]
        if Int(status.integer(0, 0)) > limit + PostgreSQLRecordings.slack(limit) {
            room.append(RecordingSchema.trimAll(.integer(Int64(limit))))
        }
        guard !room.isEmpty else { return PostgreSQLRecordings.usage(status) }
        let trimmed = try run(
            [RecordingSchema.begin(), RecordingSchema.lock()] + room
                + [RecordingSchema.status(), RecordingSchema.commit()])
        return PostgreSQLRecordings.usage(trimmed[trimmed.count - 2])
    }

    private static func usage(_ status: PostgreSQLResult) -> (bytes: Int, dropped: Int) {
        (bytes: Int(status.integer(0, 0)), dropped: Int(status.integer(0, 1)))
    }

    // MARK: - Reading

    package func read(_ worlds: [(name: String, after: Int)]) throws(StoreFailure) -> RecordingNews {
        let names = PostgreSQLValue.texts(worlds.map(\.name))
        // All calls see the same moment, so that a world's summary fits its exchanges.
        let results = try run([
            RecordingSchema.beginReading(), RecordingSchema.summariesOf(names),
            RecordingSchema.news(names, .integers(worlds.map(\.after))), RecordingSchema.commit(),
        ])
        let exchanges = PostgreSQLRecordings.exchanges(results[2])
        let most = Dictionary(grouping: exchanges, by: \.world).values.map(\.count).max() ?? 0
        return RecordingNews(
            worlds: PostgreSQLRecordings.summaries(results[1]), exchanges: exchanges,
            hasMore: exchanges.count >= RecordingSchema.pageCount || most >= RecordingSchema.worldCount)
    }

    package func summaries() throws(StoreFailure) -> [RecordingSummary] {
        PostgreSQLRecordings.summaries(try run([RecordingSchema.summaries()])[0])
    }

    private static func summaries(_ result: PostgreSQLResult) -> [RecordingSummary] {
        (0..<result.count).map { row in
            RecordingSummary(
                world: result.text(row, 0), first: Int(result.integer(row, 1)), count: Int(result.integer(row, 2)),
                dropped: Int(result.integer(row, 3)))
        }
    }

    private static func exchanges(_ result: PostgreSQLResult) -> [KeptExchange] {
        (0..<result.count).map { row in
            KeptExchange(
                number: Int(result.integer(row, 0)), world: result.text(row, 1), bytes: result.bytes(row, 2))
        }
    }

    // MARK: - Clearing

    package func clear(_ worlds: [String], keepingRefusals: Bool) throws(StoreFailure) {
        guard !worlds.isEmpty else { return }
        let names = PostgreSQLValue.texts(worlds)
        var calls = [RecordingSchema.begin(), RecordingSchema.lock()]
        if keepingRefusals { calls.append(RecordingSchema.keepRefusals(names)) }
        calls += [RecordingSchema.clear(names), RecordingSchema.clearWorlds(names)]
        if keepingRefusals {
            calls.append(
                RecordingSchema.trimGone(
                    .integer(Int64(Recording.countLimit)), .integer(Int64(Recording.sizeLimit))))
        }
        try run(calls + [RecordingSchema.commit()])
    }

    package func refusedByGoneWorlds(
        known: Set<Int>
    ) throws(StoreFailure) -> (numbers: [Int], exchanges: [KeptExchange]) {
        let results = try run([
            RecordingSchema.beginReading(), RecordingSchema.gone(), RecordingSchema.goneBodies(.integers(Array(known))),
            RecordingSchema.commit(),
        ])
        return (
            (0..<results[1].count).map { Int(results[1].integer($0, 0)) }, PostgreSQLRecordings.exchanges(results[2])
        )
    }

    package func forgetGoneWorlds() throws(StoreFailure) { try run([RecordingSchema.forgetGone()]) }
}
