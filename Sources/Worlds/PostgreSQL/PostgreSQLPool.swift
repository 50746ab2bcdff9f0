import Dispatch
import Platform
import PostgreSQL
import Synchronization
import Time

/// A daemon's few connections to the database that keeps its test worlds. All requests share them.
///
/// While the database server can't be reached, requests are refused at once. Only one request at a time, after a pause,
/// tries to connect.
package final class PostgreSQLPool: Sendable {
    /// A connection to the database. One thread uses the connection at a time.
    private struct Held: @unchecked Sendable {
        let connection: PostgreSQLConnection
        /// The number of outages of the database server that were noticed before this connection was made.
        let outages: Int
    }

    private struct State {
        var idle: [Held] = []
        var count = 0
        var waiting: [DispatchSemaphore] = []
        var failure: StoreFailure?
        var failingSince: Instant?
        /// The failure of a database server that can be reached but has no space for changes; `nil` when it has space.
        var full: (failure: StoreFailure, since: Instant)?
        /// The time from which a request may try again to connect to the database.
        var retry = ContinuousClock.now
        var outages = 0
        var isClosed = false
    }

    /// The most connections to the database at the same time.
    static let limit = 8
    /// The most time that connecting to the database may take.
    static let connectLimit = Duration.seconds(3)
    /// The most time that an answer of the database may take. PostgreSQL's `lock_timeout` and `statement_timeout` are
    /// set to less, and their errors say more.
    package static let answerLimit = Duration.seconds(8)
    /// The least time between two attempts to reach a database server that can't be reached.
    private static let pause = Duration.milliseconds(500)

    let address: PostgreSQLAddress
    /// The database schema that contains the tables; `nil` means the schema that the database URL selects.
    let schema: String?
    private let state = Mutex(State())

    init(_ address: PostgreSQLAddress, schema: String?) {
        self.address = address
        self.schema = schema
    }

    /// The reason why the database can't be reached or takes no changes, and the time when this failure began; `nil`
    /// when the database works.
    var failure: (failure: StoreFailure, since: Instant)? {
        state.withLock { state in
            guard let failure = state.failure, let since = state.failingSince else { return state.full }
            return (failure: failure, since: since)
        }
    }

    /// Records that the database server has space for changes again.
    func markNotFull() { state.withLock { $0.full = nil } }

    /// Runs `body` with a database connection. If the connection ends, `body` runs once more with another connection,
    /// although the first run may have changed something.
    package func use<Value>(
        _ body: (PostgreSQLConnection) throws(PostgreSQLError) -> Value
    ) throws(StoreFailure) -> Value {
        var isRepeated = false
        while true {
            let held = try acquire()
            do throws(PostgreSQLError) {
                let value = try body(held.connection)
                give(held)
                return value
            } catch {
                give(held, after: error)
                guard !isRepeated, error.isEnd else { throw StoreFailure(error) }
                isRepeated = true
            }
        }
    }

    package func useOnce<Value>(
        _ body: (PostgreSQLConnection) throws(PostgreSQLError) -> Value
    ) throws(StoreFailure) -> Result<Value, PostgreSQLError> {
        let held = try acquire()
        do throws(PostgreSQLError) {
            let value = try body(held.connection)
            give(held)
            return .success(value)
        } catch {
            give(held, after: error)
            return .failure(error)
        }
    }

    func close() {
        let (idle, waiting) = state.withLock { state in
            defer { (state.idle, state.waiting, state.isClosed) = ([], [], true) }
            return (state.idle, state.waiting)
        }
        _ = consume idle
        for semaphore in waiting { semaphore.signal() }
    }

    // MARK: - Taking and giving back

    private enum Step {
        case use(Held)
        case connect(outages: Int)
        case wait(DispatchSemaphore)
        case fail(StoreFailure)
    }

    private func acquire() throws(StoreFailure) -> Held {
        let deadline = ContinuousClock.now + PostgreSQLPool.answerLimit
        while true {
            let step = state.withLock { state -> Step in
                if state.isClosed { return .fail(StoreFailure(.unreachable, "the daemon has stopped")) }
                if let held = state.idle.popLast() { return .use(held) }
                if let failure = state.failure {
                    let now = ContinuousClock.now
                    guard now >= state.retry else { return .fail(failure) }
                    // Other requests are refused while this one tries.
                    state.retry = now + PostgreSQLPool.connectLimit + PostgreSQLPool.pause
                    state.count += 1
                    return .connect(outages: state.outages)
                }
                let isCrowded = state.count > 0 && ContinuousClock.now < state.retry
                guard isCrowded || state.count >= PostgreSQLPool.limit else {
                    state.count += 1
                    return .connect(outages: state.outages)
                }
                let semaphore = DispatchSemaphore(value: 0)
                state.waiting.append(semaphore)
                return .wait(semaphore)
            }
            switch step {
            case .use(let held): return held
            case .connect(let outages): if let held = try connected(outages) { return held }
            case .fail(let failure): throw failure
            case .wait(let semaphore):
                let left = ContinuousClock.now.duration(to: deadline)
                _ = semaphore.wait(timeout: .now() + max(0, left / .seconds(1)))
                state.withLock { $0.waiting.removeAll { $0 === semaphore } }
                guard ContinuousClock.now < deadline else {
                    throw StoreFailure(.slow, "PostgreSQL: all connections were in use for too long")
                }
            }
        }
    }

    /// Connects to the database. Returns `nil` if the server takes no more connections, but the pool has other
    /// connections that will become free.
    private func connected(_ outages: Int) throws(StoreFailure) -> Held? {
        let result: Result<PostgreSQLConnection, StoreFailure>
        do throws(StoreFailure) { result = .success(try checked(connect())) } catch { result = .failure(error) }
        let (waiting, isCrowded) = state.withLock { state -> ([DispatchSemaphore], Bool) in
            switch result {
            case .success:
                guard state.failure != nil else { return ([], false) }
                (state.failure, state.failingSince, state.retry) = (nil, nil, ContinuousClock.now)
            case .failure(let failure):
                state.count -= 1
                if failure.kind == .unreachable, state.failure == nil, state.count > 0 {
                    state.retry = ContinuousClock.now + PostgreSQLPool.pause
                    return ([], true)
                }
                if state.failure == nil { state.failingSince = MachineClock.now }
                state.failure = failure
                state.retry = ContinuousClock.now + PostgreSQLPool.pause
            }
            defer { state.waiting = [] }
            return (state.waiting, false)
        }
        if isCrowded { return nil }
        for semaphore in waiting { semaphore.signal() }
        return Held(connection: try result.get(), outages: outages)
    }

    private func give(_ held: Held, after error: PostgreSQLError? = nil) {
        // A session that is read-only stays so, even when the server takes changes again or another server takes over.
        let hasEnded = held.connection.isBroken || error?.state == PostgreSQLSchema.readOnlyState
        let isUsable = !hasEnded && held.connection.isIdle
        let (dropped, waiting) = state.withLock { state -> ([Held], DispatchSemaphore?) in
            var dropped: [Held] = []
            if let error, error.state == PostgreSQLSchema.fullState {
                state.full = (failure: StoreFailure(error), since: state.full?.since ?? MachineClock.now)
            }
            if hasEnded, held.outages == state.outages {
                // The other connections will have ended, too.
                state.outages += 1
                dropped = state.idle
                state.idle = []
                state.count -= dropped.count
            }
            if isUsable, held.outages == state.outages, !state.isClosed {
                state.idle.append(held)
            } else {
                state.count -= 1
            }
            return (dropped, state.waiting.isEmpty ? nil : state.waiting.removeFirst())
        }
        _ = consume dropped
        waiting?.signal()
    }

    // MARK: - Connecting

    /// Returns a new database connection that doesn't belong to the pool.
    func connect() throws(StoreFailure) -> PostgreSQLConnection {
        do throws(PostgreSQLError) {
            let deadline = ContinuousClock.now + PostgreSQLPool.connectLimit
            let connection = try PostgreSQLConnection(address, until: deadline)
            try connection.run(PostgreSQLPool.settings(schema), until: deadline)
            return connection
        } catch { throw StoreFailure(error) }
    }

    /// Checks that the tables have this program's layout, and that the database isn't read-only, as a standby server
    /// is. Another version of this program may have changed the layout.
    private func checked(_ connection: PostgreSQLConnection) throws(StoreFailure) -> PostgreSQLConnection {
        do throws(PostgreSQLError) {
            let results = try connection.run(
                [PostgreSQLSchema.text(.text("schema")), PostgreSQLSchema.readOnly()],
                until: .now + PostgreSQLPool.connectLimit)
            guard let version = Int(results[0].text(0, 0)) else {
                throw PostgreSQLError(.refused, "the tables of the test worlds have been removed", state: "42P01")
            }
            guard results[1].text(0, 0) != "on" else {
                throw PostgreSQLError(
                    .refused, "the database is read-only, as a standby is", state: PostgreSQLSchema.readOnlyState)
            }
            guard version != PostgreSQLSchema.version else { return connection }
        } catch { throw StoreFailure(error) }
        throw StoreFailure(.newer, "PostgreSQL: another version of understudy has changed the format of the tables")
    }

    private static func settings(_ schema: String?) -> [PostgreSQLCall] {
        // A daemon that was stopped in the middle of a change must not lock others out of the world.
        let limits = [("lock_timeout", 3), ("statement_timeout", 5), ("idle_in_transaction_session_timeout", 5)]
        var calls = limits.map { name, seconds in
            PostgreSQLSchema.statement("set_\(name)", "SET \(name) = '\(seconds)s'")()
        }
        if let schema {
            calls.append(PostgreSQLSchema.statement("set_schema", #"SET search_path = "\#(schema)""#)())
        }
        return calls
    }
}

extension PostgreSQLError {
    /// Whether the database server ended the connection by itself, for example because it shuts down.
    var isShutdown: Bool { state.hasPrefix("57P0") }

    /// Whether the error means that the connection to the database has ended.
    var isEnd: Bool { kind == .lost || kind == .closed || isShutdown }

    /// Whether the database server may have run the statements although the call failed.
    var isUncertain: Bool { kind == .lost || kind == .late || isShutdown }

    /// Whether the error is a conflict with another transaction, after which the transaction can run again.
    var isConflict: Bool { state == "40001" || state == "40P01" }
}

extension StoreFailure {
    /// Maps a PostgreSQL error to the reason why test worlds can't be read or changed:
    /// <https://www.postgresql.org/docs/current/errcodes-appendix.html>
    init(_ error: PostgreSQLError) {
        let kind: Kind =
            switch (error.kind, error.state) {
            case (.library, _), (.address, _), (.unreachable, _), (.closed, _), (.lost, _): .unreachable
            case (.late, _): .slow
            case (_, "55P03"), (_, "57014"), (_, "40001"), (_, "40P01"): .slow
            case (_, PostgreSQLSchema.fullState), (_, "53200"), (_, "53400"), (_, "54000"): .full
            case (_, PostgreSQLSchema.readOnlyState), (_, "42501"): .readOnly
            case (_, let state) where state.hasPrefix("22") || state.hasPrefix("42") || state.hasPrefix("XX"):
                .unreadable
            default: .unreachable
            }
        self.init(kind, "PostgreSQL: \(error.message)")
    }
}
