import PostgreSQL
import Synchronization

/// Keeps the recordings of worlds in a database of PostgreSQL's.
final class PostgreSQLRecordings: RecordingKeeper {
    /// A tenth more than the limits is let in before the oldest are removed: each removal reads all that is kept.
    private static func slack(_ limit: Int) -> Int { limit / 10 }

    /// How often this writer says that it is there.
    private static let presencePause = Duration.seconds(1)

    private struct Written {
        /// When this writer said last that it is there, and what it said.
        var presence: ContinuousClock.Instant?
        var flushed = 0
        /// The last batch that was appended, and one of which that isn't known.
        var batch = 0
        var uncertain: Int?
    }

    /// Unlike that of all other daemons.
    private let writer: PostgreSQLValue
    /// For what the writer does, and for what readers ask for.
    private let writing: RecordingConnection
    private let reading: RecordingConnection
    private let written = Mutex(Written())

    init(writer: Int64, connect: @escaping @Sendable () throws(StoreFailure) -> PostgreSQLConnection) {
        self.writer = .integer(writer)
        writing = RecordingConnection(connect, first: [RecordingSchema.hurry()])
        reading = RecordingConnection(connect, first: [])
    }

    // MARK: - Appending

    func append(_ batch: RecordingBatch, _ presence: WriterPresence) throws(StoreFailure) -> RecordingStatus {
        do throws(StoreFailure) { return try appendOnce(batch, presence) } catch {
            // The server may have been started anew since the last batch.
            guard error.kind == .gone else { throw error }
            return try appendOnce(batch, presence)
        }
    }

    private func appendOnce(
        _ batch: RecordingBatch, _ presence: WriterPresence
    ) throws(StoreFailure) -> RecordingStatus {
        if written.withLock({ $0.uncertain == batch.number }), try isAppended(batch.number) {
            note(batch.number)
            return try attend(presence)
        }
        let entries = batch.entries
        let size = entries.reduce(0) { $0 + $1.size }
        let count = PostgreSQLValue.integer(Int64(entries.count))
        var worlds: [String: (place: Int, count: Int, size: Int)] = [:]
        for (place, entry) in entries.enumerated() {
            worlds[entry.world, default: (place: place + 1, count: 0, size: 0)].count += 1
            worlds[entry.world]?.size += entry.size
        }
        let names = Array(worlds.keys)
        let all = names.compactMap { worlds[$0] }
        written.withLock { $0.uncertain = batch.number }
        let calls = [
            RecordingSchema.begin(), RecordingSchema.count(count, .integer(Int64(size))),
            RecordingSchema.append(
                count, .texts(entries.map(\.world)), .integers(entries.map(\.size)), .flags(entries.map(\.isRefused)),
                .blobs(entries.map(\.bytes))),
            RecordingSchema.appendWorlds(
                count, .texts(names), .integers(all.map(\.place)), .integers(all.map(\.count)),
                .integers(all.map(\.size))),
            RecordingSchema.present(
                writer, .integer(Int64(presence.flushed)), .integer(Int64(batch.number))),
            RecordingSchema.status(writer), RecordingSchema.commit(),
        ]
        let results = try writing.run(calls, isRepeatable: false)
        note(batch.number, presence)
        return try makeRoom(results[3], PostgreSQLRecordings.status(results[5]), limit: presence.limit)
    }

    private func note(_ batch: Int, _ presence: WriterPresence? = nil) {
        written.withLock { written in
            written.batch = batch
            written.uncertain = nil
            guard let presence else { return }
            written.presence = .now
            written.flushed = presence.flushed
        }
    }

    /// Whether it was, when the answer was lost.
    private func isAppended(_ batch: Int) throws(StoreFailure) -> Bool {
        let result = try writing.run([RecordingSchema.batch(writer)])[0]
        return result.count > 0 && result.integer(0, 0) >= batch
    }

    private static func status(_ result: PostgreSQLResult) -> RecordingStatus {
        RecordingStatus(
            wanted: Int(result.integer(0, 0)), hasOthers: result.integer(0, 3) > 0, size: Int(result.integer(0, 1)),
            dropped: Int(result.integer(0, 2)))
    }

    /// Removes the oldest exchanges of worlds that have too many. `appended` says what each world has now.
    private func makeRoom(
        _ appended: PostgreSQLResult, _ status: RecordingStatus, limit: Int
    ) throws(StoreFailure) -> RecordingStatus {
        var calls: [PostgreSQLCall] = []
        for row in 0..<appended.count {
            let (count, size) = (Int(appended.integer(row, 1)), Int(appended.integer(row, 2)))
            guard
                count > Recording.countLimit + PostgreSQLRecordings.slack(Recording.countLimit)
                    || size > Recording.sizeLimit + PostgreSQLRecordings.slack(Recording.sizeLimit) && count > 1
            else { continue }
            calls.append(
                RecordingSchema.trimWorld(
                    .text(appended.text(row, 0)), .integer(Int64(Recording.countLimit)),
                    .integer(Int64(Recording.sizeLimit))))
        }
        if status.size > limit + PostgreSQLRecordings.slack(limit) {
            calls.append(RecordingSchema.trimAll(.integer(Int64(limit))))
        }
        guard !calls.isEmpty else { return status }
        let results = try writing.run(
            [RecordingSchema.begin(), RecordingSchema.lock()] + calls
                + [RecordingSchema.forgetWriters(), RecordingSchema.status(writer), RecordingSchema.commit()])
        return PostgreSQLRecordings.status(results[results.count - 2])
    }

    // MARK: - Replicas

    func attend(_ presence: WriterPresence) throws(StoreFailure) -> RecordingStatus {
        let (isDue, batch) = written.withLock { written in
            let since = written.presence.map { $0.duration(to: .now) }
            let isDue = written.flushed != presence.flushed || since.map { $0 > Self.presencePause } ?? true
            return (isDue, written.batch)
        }
        guard isDue else { return PostgreSQLRecordings.status(try writing.run([RecordingSchema.status(writer)])[0]) }
        let results = try writing.run([
            RecordingSchema.begin(),
            RecordingSchema.present(writer, .integer(Int64(presence.flushed)), .integer(Int64(batch))),
            RecordingSchema.status(writer), RecordingSchema.commit(),
        ])
        written.withLock { written in
            written.presence = .now
            written.flushed = presence.flushed
        }
        return PostgreSQLRecordings.status(results[2])
    }

    func requestFlush() throws(StoreFailure) -> FlushRequest? {
        let result = try reading.run([RecordingSchema.requestFlush(writer)])[0]
        guard result.count > 0 else { return nil }
        let number = Int(result.integer(0, 0))
        return FlushRequest(number: number, others: try lacking(number))
    }

    func lacking(_ request: Int) throws(StoreFailure) -> Set<Int> {
        let result = try reading.run([RecordingSchema.lacking(writer, .integer(Int64(request)))])[0]
        return Set((0..<result.count).map { Int(result.integer($0, 0)) })
    }

    func leave() { _ = try? writing.run([RecordingSchema.leave(writer)]) }

    // MARK: - Reading

    func read(_ worlds: [(name: String, after: Int)]) throws(StoreFailure) -> RecordingNews {
        let names = PostgreSQLValue.texts(worlds.map(\.name))
        // As of one moment: what is said of a world fits its exchanges.
        let results = try reading.run([
            RecordingSchema.beginReading(), RecordingSchema.summariesOf(names),
            RecordingSchema.news(names, .integers(worlds.map(\.after))), RecordingSchema.commit(),
        ])
        let exchanges = PostgreSQLRecordings.exchanges(results[2])
        let most = Dictionary(grouping: exchanges, by: \.world).values.map(\.count).max() ?? 0
        return RecordingNews(
            worlds: PostgreSQLRecordings.summaries(results[1]), exchanges: exchanges,
            hasMore: exchanges.count >= RecordingSchema.pageCount || most >= RecordingSchema.worldCount)
    }

    func summaries() throws(StoreFailure) -> [RecordingSummary] {
        PostgreSQLRecordings.summaries(try reading.run([RecordingSchema.summaries()])[0])
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

    func clear(_ worlds: [String], keepingRefusals: Bool) throws(StoreFailure) {
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
        try reading.run(calls + [RecordingSchema.commit()])
    }

    func refusedByGoneWorlds(
        known: Set<Int>
    ) throws(StoreFailure) -> (numbers: [Int], exchanges: [KeptExchange]) {
        let results = try reading.run([
            RecordingSchema.beginReading(), RecordingSchema.gone(), RecordingSchema.goneBodies(.integers(Array(known))),
            RecordingSchema.commit(),
        ])
        return (
            (0..<results[1].count).map { Int(results[1].integer($0, 0)) }, PostgreSQLRecordings.exchanges(results[2])
        )
    }

    func forgetGoneWorlds() throws(StoreFailure) { try reading.run([RecordingSchema.forgetGone()]) }
}
