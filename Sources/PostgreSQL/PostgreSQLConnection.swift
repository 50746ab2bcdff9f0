import CPostgreSQL
import Platform

/// A connection to a PostgreSQL database in libpq's pipeline mode: several statements are sent together and answered
/// together. <https://www.postgresql.org/docs/current/libpq-pipeline-mode.html>
///
/// Only one thread may use it at a time. Every wait ends at a deadline.
package final class PostgreSQLConnection {
    private let libpq: UnsafePointer<understudy_libpq>
    private let pointer: OpaquePointer
    private let address: PostgreSQLAddress
    /// The names of the SQL statements that the server has prepared for this connection.
    private var prepared: Set<String> = []
    /// Whether the database connection is broken, so that it can't be used any more.
    package private(set) var isBroken = false

    /// Connects to a PostgreSQL database.
    ///
    /// The library libpq looks up host names itself, which may take longer than the deadline.
    package init(
        _ address: PostgreSQLAddress, until deadline: ContinuousClock.Instant
    ) throws(PostgreSQLError) {
        libpq = try PostgreSQLLibrary.opened()
        self.address = address
        let options = [
            ("dbname", address.url), ("client_encoding", "UTF8"), ("fallback_application_name", "understudy"),
        ]
        guard let pointer = PostgreSQLConnection.start(options, libpq) else {
            throw PostgreSQLError(.unreachable, "\(address.title): no memory is left")
        }
        self.pointer = pointer
        try connect(until: deadline)
        // Without this, libpq writes notices to standard error.
        _ = libpq.pointee.setNoticeProcessor(pointer, { _, _ in }, nil)
        guard libpq.pointee.setnonblocking(pointer, 1) == 0, libpq.pointee.enterPipelineMode(pointer) == 1 else {
            throw PostgreSQLError(.unreachable, "\(address.title): \(message)")
        }
    }

    deinit { libpq.pointee.finish(pointer) }

    private static func start(
        _ options: [(name: String, value: String)], _ libpq: UnsafePointer<understudy_libpq>
    ) -> OpaquePointer? {
        let texts = options.map { (strdup($0.name), strdup($0.value)) }
        defer {
            for text in texts {
                free(text.0)
                free(text.1)
            }
        }
        let names = texts.map { UnsafePointer<CChar>($0.0) } + [nil]
        let values = texts.map { UnsafePointer<CChar>($0.1) } + [nil]
        // The first value is a URL, which libpq splits into its parts.
        return libpq.pointee.connectStartParams(names, values, 1)
    }

    private func connect(until deadline: ContinuousClock.Instant) throws(PostgreSQLError) {
        var state = understudy_pg_polling_writing
        if libpq.pointee.status(pointer) == understudy_pg_bad {
            state = understudy_pg_polling_failed
        }
        while state != understudy_pg_polling_ok {
            guard state != understudy_pg_polling_failed else {
                throw PostgreSQLError(.unreachable, message)
            }
            let event = state == understudy_pg_polling_reading ? POLLIN : POLLOUT
            guard wait(for: Int16(event), until: deadline) else {
                throw PostgreSQLError(.unreachable, "\(address.title): no connection in time")
            }
            state = libpq.pointee.connectPoll(pointer)
        }
    }

    private var message: String {
        libpq.pointee.errorMessage(pointer).map { address.line(String(cString: $0)) } ?? "the connection failed"
    }

    /// Waits until one of `events` happens at the socket of the database connection. `events` are flags of the system
    /// call `poll`. Returns `false` if the deadline has passed.
    private func wait(for events: Int16, until deadline: ContinuousClock.Instant) -> Bool {
        while true {
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { return false }
            let milliseconds = left >= .seconds(86_400) ? 86_400_000 : Int32((left / .milliseconds(1)).rounded(.up))
            var entry = pollfd(fd: libpq.pointee.socket(pointer), events: events, revents: 0)
            // If a signal ends the wait, it is repeated.
            if poll(&entry, 1, milliseconds) > 0 { return true }
        }
    }

    // MARK: - Statements

    /// Whether no transaction is open on the database connection.
    package var isIdle: Bool { libpq.pointee.transactionStatus(pointer) == understudy_pg_idle }

    /// Sends all SQL statements at once and returns their results in the same sequence. They are one transaction, so
    /// that either all or none take effect. That isn't so if they contain BEGIN and COMMIT, or if a transaction is
    /// already open.
    ///
    /// - Throws: The error of the first statement that the database refused. The later statements haven't run then. If
    ///   the connection failed, the reason.
    @discardableResult
    package func run(
        _ calls: [PostgreSQLCall], until deadline: ContinuousClock.Instant
    ) throws(PostgreSQLError) -> [PostgreSQLResult] {
        guard !isBroken, isOpen else {
            isBroken = true
            throw PostgreSQLError(.closed, "\(address.title): the connection is closed")
        }
        var expected: [String?] = []
        for call in calls {
            if !prepared.contains(call.statement.name), !expected.contains(call.statement.name) {
                try sent(libpq.pointee.sendPrepare(pointer, call.statement.name, call.statement.sql, 0, nil))
                expected.append(call.statement.name)
            }
            try send(call)
            expected.append(nil)
        }
        try sent(libpq.pointee.pipelineSync(pointer))
        try flush(until: deadline)
        return try results(expected, until: deadline)
    }

    /// Whether the database connection is still open, as far as this process knows. Pending notices of the server are
    /// read.
    private var isOpen: Bool {
        for _ in 0..<2 {
            var entry = pollfd(fd: libpq.pointee.socket(pointer), events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, 0) > 0 else { return true }
            guard libpq.pointee.consumeInput(pointer) == 1 else { return false }
        }
        return true
    }

    private func sent(_ result: Int32) throws(PostgreSQLError) {
        guard result == 1 else { throw lost() }
    }

    private func lost() -> PostgreSQLError {
        isBroken = true
        return PostgreSQLError(.lost, message)
    }

    private func late() -> PostgreSQLError {
        isBroken = true
        return PostgreSQLError(.late, "\(address.title): no answer in time")
    }

    private func send(_ call: PostgreSQLCall) throws(PostgreSQLError) {
        let count = Int32(call.values.count)
        // All values are in one array, and libpq gets the position of each. It copies them.
        var bytes: [UInt8] = []
        var places: [(start: Int, length: Int)?] = []
        for value in call.values {
            guard let start = value.append(to: &bytes) else {
                places.append(nil)
                continue
            }
            guard bytes.count < Int(Int32.max) else {
                isBroken = true
                throw PostgreSQLError(.refused, "a value is too large", state: "54000")
            }
            places.append((start: start, length: bytes.count - start))
        }
        // An empty array has no address, and libpq treats a value without an address as NULL.
        bytes.append(0)
        let result = bytes.withUnsafeBytes { bytes in
            let base = bytes.bindMemory(to: CChar.self).baseAddress
            let starts = places.map { place in place.flatMap { place in base.map { $0 + place.start } } }
            let lengths = places.map { Int32($0?.length ?? 0) }
            let formats = [Int32](repeating: 1, count: places.count)
            return libpq.pointee.sendQueryPrepared(
                pointer, call.statement.name, count, starts, lengths, formats, 1)
        }
        try sent(result)
    }

    /// Sends the bytes that libpq has buffered, and reads the bytes that arrive meanwhile, because the database server
    /// may stop reading until its answers are read.
    private func flush(until deadline: ContinuousClock.Instant) throws(PostgreSQLError) {
        while true {
            switch libpq.pointee.flush(pointer) {
            case 0: return
            case 1:
                guard wait(for: Int16(POLLIN | POLLOUT), until: deadline) else { throw late() }
                guard libpq.pointee.consumeInput(pointer) == 1 else { throw lost() }
            default: throw lost()
            }
        }
    }

    // MARK: - Results

    /// Reads the results of the statements that were sent. `expected` has an element for each result: the statement's
    /// name if the statement was only prepared, or `nil` if it was run.
    private func results(
        _ expected: [String?], until deadline: ContinuousClock.Instant
    ) throws(PostgreSQLError) -> [PostgreSQLResult] {
        var results: [PostgreSQLResult] = []
        var refusal: PostgreSQLError?
        for name in expected {
            guard let result = try next(until: deadline) else { throw lost() }
            // A statement's results end with a null result.
            while try next(until: deadline) != nil {}
            switch result.status {
            case understudy_pg_command_ok, understudy_pg_tuples_ok,
                understudy_pg_empty_query:
                if let name { prepared.insert(name) } else { results.append(result) }
            case understudy_pg_pipeline_aborted: break
            default: refusal = refusal ?? result.error(address)
            }
        }
        guard let end = try next(until: deadline), end.status == understudy_pg_pipeline_sync else {
            // The connection ended after the refusal, which gives the reason.
            isBroken = true
            throw refusal ?? lost()
        }
        if let refusal { throw refusal }
        return results
    }

    private func next(until deadline: ContinuousClock.Instant) throws(PostgreSQLError) -> PostgreSQLResult? {
        while libpq.pointee.isBusy(pointer) == 1 {
            guard wait(for: Int16(POLLIN), until: deadline) else { throw late() }
            guard libpq.pointee.consumeInput(pointer) == 1 else { throw lost() }
        }
        return libpq.pointee.getResult(pointer).map { PostgreSQLResult($0, libpq) }
    }
}
