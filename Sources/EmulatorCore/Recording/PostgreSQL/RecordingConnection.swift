import PostgreSQL
import Synchronization

/// A connection for the recording alone, made again when it has ended. Who calls waits for who called before.
final class RecordingConnection: Sendable {
    private struct Held: @unchecked Sendable {
        let connection: PostgreSQLConnection
    }

    private struct State {
        var held: Held?
        /// Why there is none, and until when nobody tries again.
        var failure: (failure: StoreFailure, until: ContinuousClock.Instant)?
    }

    private static let pause = Duration.milliseconds(250)
    /// As many times calls are run that others' calls got in the way of.
    private static let attempts = 5
    private static let answerLimit = Duration.seconds(8)
    private static let conflicts: Set<String> = ["40001", "40P01"]

    private let connect: @Sendable () throws(StoreFailure) -> PostgreSQLConnection
    private let first: [PostgreSQLCall]
    private let state = Mutex(State())

    /// `first` is run on each new connection.
    init(_ connect: @escaping @Sendable () throws(StoreFailure) -> PostgreSQLConnection, first: [PostgreSQLCall]) {
        self.connect = connect
        self.first = first
    }

    /// Runs calls that are a transaction of their own. After a failure it may not be known whether they have run. Where they are
    /// repeatable, because it doesn't matter whether they run once or twice, they run again when the connection has ended.
    @discardableResult
    func run(_ calls: [PostgreSQLCall], isRepeatable: Bool = true) throws(StoreFailure) -> [PostgreSQLResult] {
        let outcome = state.withLock { state -> Outcome in
            do throws(StoreFailure) { return Outcome(.success(try run(calls, isRepeatable, &state))) } catch {
                return Outcome(.failure(error))
            }
        }
        return try outcome.result.get()
    }

    /// Results are this thread's alone.
    private struct Outcome: @unchecked Sendable {
        let result: Result<[PostgreSQLResult], StoreFailure>
        init(_ result: Result<[PostgreSQLResult], StoreFailure>) { self.result = result }
    }

    private func run(
        _ calls: [PostgreSQLCall], _ isRepeatable: Bool, _ state: inout State
    ) throws(StoreFailure) -> [PostgreSQLResult] {
        for attempt in 1...RecordingConnection.attempts {
            let isFresh = state.held == nil
            let connection = try connected(&state)
            do throws(PostgreSQLError) {
                return try connection.run(calls, until: .now + RecordingConnection.answerLimit)
            } catch {
                if !connection.isBroken, !connection.isIdle {
                    _ = try? connection.run(
                        [RecordingSchema.rollback()], until: .now + RecordingConnection.answerLimit)
                }
                if connection.isBroken || !connection.isIdle { state.held = nil }
                let hasEnded = state.held == nil && error.kind != .late && !isFresh && isRepeatable
                let isConflict = RecordingConnection.conflicts.contains(error.state)
                guard hasEnded || isConflict, attempt < RecordingConnection.attempts else { throw StoreFailure(error) }
            }
        }
        throw StoreFailure(.slow, "PostgreSQL: too many conflicts")
    }

    private func connected(_ state: inout State) throws(StoreFailure) -> PostgreSQLConnection {
        if let held = state.held { return held.connection }
        if let (failure, until) = state.failure, ContinuousClock.now < until { throw failure }
        do throws(StoreFailure) {
            let connection = try connect()
            if !first.isEmpty {
                do throws(PostgreSQLError) {
                    try connection.run(first, until: .now + RecordingConnection.answerLimit)
                } catch { throw StoreFailure(error) }
            }
            state.held = Held(connection: connection)
            state.failure = nil
            return connection
        } catch {
            state.failure = (failure: error, until: .now + RecordingConnection.pause)
            throw error
        }
    }
}
