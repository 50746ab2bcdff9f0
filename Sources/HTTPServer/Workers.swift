import CMicrohttpd
import Glibc
import Synchronization

/// The inside of a server: libmicrohttpd's daemons, and what their callbacks share.
final class Workers: Sendable {
    let options: Server.Options
    let gate: ConnectionGate
    let inFlight = Atomic<Int>(0)
    let isStopping = Atomic<Bool>(false)
    private let isHurried = Atomic<Bool>(false)
    private let handler: Server.Handler
    private let secrets: CopiedTLS?
    private let suspended = Mutex<[ObjectIdentifier: Transaction]>([:])
    private let streams = Mutex<[ObjectIdentifier: EventStream]>([:])
    private let daemons = Mutex<Daemons>(Daemons())

    private struct Daemons: @unchecked Sendable {
        var running: [OpaquePointer] = []
        var port: UInt16 = 0
    }

    /// Starts listening; the handler is called on a worker's thread and should not block it.
    init(_ options: Server.Options, handler: @escaping Server.Handler) throws(ListenError) {
        self.options = options
        self.handler = handler
        secrets = options.tls.map { CopiedTLS($0) }
        gate = ConnectionGate(limit: options.connectionLimit, limitPerAddress: options.connectionLimitPerAddress)
        understudy_raise_file_limit()
        signal(SIGPIPE, SIG_IGN)
        let listeners =
            options.listening.isEmpty
            ? try Listener.all(on: options.host, port: options.port) : options.listening.map { Listener(listening: $0) }
        for listener in listeners {
            var daemonOptions = understudy_daemon_options()
            daemonOptions.listening_socket = listener.descriptor
            daemonOptions.workers = UInt32(options.workers)
            daemonOptions.connection_limit = UInt32(max(options.connectionLimit, options.workers))
            daemonOptions.idle_timeout_seconds = UInt32(options.idleTimeoutSeconds)
            // Room for a header well over the limit, so that the refusal is ours and says why.
            daemonOptions.connection_memory_bytes = options.headerLimitBytes * 2
            daemonOptions.context = Unmanaged.passUnretained(self).toOpaque()
            daemonOptions.accept = acceptCallback
            daemonOptions.handle = handleCallback
            daemonOptions.begin = beginCallback
            daemonOptions.completed = completedCallback
            daemonOptions.connection = connectionCallback
            daemonOptions.log = logCallback
            if let secrets {
                daemonOptions.tls_certificate = UnsafePointer(secrets.chain)
                daemonOptions.tls_key = UnsafePointer(secrets.key)
            }
            guard let daemon = understudy_start_daemon(&daemonOptions) else {
                close(listener.descriptor)
                stop()
                throw ListenError(description: "libmicrohttpd couldn't start on \(options.host):\(listener.port)")
            }
            daemons.withLock {
                $0.running.append(daemon)
                $0.port = listener.port
            }
        }
    }

    /// The port that is listened on.
    var port: UInt16 { daemons.withLock { $0.port } }

    /// Stops accepting, ends streams, lets requests in flight finish within the grace, answers 503 to those still suspended,
    /// and closes everything. Safe to call twice.
    func stop() {
        isHurried.store(true, ordering: .relaxed)
        guard !isStopping.exchange(true, ordering: .sequentiallyConsistent) else { return }
        finish(quiesce())
    }

    /// The same for one whose listening sockets others serve, too: those who are connected already may ask once more, within
    /// `grace`. `stop` cuts it short.
    func retire(within grace: Duration) {
        guard !isStopping.exchange(true, ordering: .sequentiallyConsistent) else { return }
        let running = quiesce()
        let deadline = ContinuousClock.now.advanced(by: grace)
        // One that was just being accepted isn't counted yet.
        var quietRounds = 0
        while quietRounds < 10, ContinuousClock.now < deadline, !isHurried.load(ordering: .relaxed) {
            quietRounds = gate.count == 0 ? quietRounds + 1 : 0
            usleep(20_000)
        }
        finish(running)
    }

    private struct Quiet {
        let daemons: [OpaquePointer]
        let sockets: [Int32]
    }

    /// Accepts no more, and ends streams.
    private func quiesce() -> Quiet {
        let running = daemons.withLock { daemons in
            defer { daemons.running = [] }
            return daemons.running
        }
        let sockets = running.map { MHD_quiesce_daemon($0) }
        for stream in streams.withLock({ Array($0.values) }) { stream.end() }
        return Quiet(daemons: running, sockets: sockets)
    }

    private func finish(_ quiet: Quiet) {
        let deadline = ContinuousClock.now.advanced(by: options.stopGrace)
        while inFlight.load(ordering: .relaxed) > 0, ContinuousClock.now < deadline { usleep(2000) }
        // A resumed connection needs its worker once more before the daemon may go; one that was just about to be
        // suspended is found in the next round.
        let last = ContinuousClock.now.advanced(by: .milliseconds(200))
        while inFlight.load(ordering: .relaxed) > 0, ContinuousClock.now < last {
            for transaction in suspended.withLock({ Array($0.values) }) where transaction.isWaiting {
                transaction.resume(with: refuse(503, "the server is stopping"))
            }
            usleep(2000)
        }
        for daemon in quiet.daemons { MHD_stop_daemon(daemon) }
        for socket in quiet.sockets where socket >= 0 { close(socket) }
    }

    // MARK: - One request

    /// A part of the body, or its end.
    func receive(
        _ transaction: Transaction, method: String, data: UnsafePointer<CChar>?, size: inout Int
    ) -> MHD_Result {
        guard transaction.isStarted else {
            transaction.isStarted = true
            if let refusal = refusal(of: transaction) { return send(refusal, on: transaction) }
            return .YES
        }
        if size > 0, let data {
            defer { size = 0 }
            guard transaction.body.count + size <= options.bodyLimitBytes, transaction.discarded == 0 else {
                // libmicrohttpd takes an answer only before the body or after it: read on, but not for ever.
                transaction.discarded += size
                transaction.body = []
                return transaction.discarded > options.bodyLimitBytes * 16 ? .NO : .YES
            }
            transaction.body.append(contentsOf: UnsafeRawBufferPointer(start: data, count: size))
            return .YES
        }
        if let response = transaction.response { return send(response, on: transaction) }
        if transaction.isWaiting { return .YES }
        if transaction.discarded > 0 { return send(tooLarge, on: transaction) }
        let request = Request(
            method: method, target: transaction.target, headers: Workers.headers(of: transaction.connection),
            body: transaction.body, isSecure: secrets != nil)
        switch handler(request) {
        case .now(let response):
            return send(response, on: transaction)
        case .later(let start):
            suspended.withLock { $0[ObjectIdentifier(transaction)] = transaction }
            transaction.suspend()
            start { transaction.resume(with: $0) }
            return .YES
        }
    }

    func finished(_ transaction: Transaction) {
        suspended.withLock { $0[ObjectIdentifier(transaction)] = nil }
        if let stream = transaction.stream {
            streams.withLock { $0[ObjectIdentifier(transaction)] = nil }
            stream.close()
        }
        inFlight.subtract(1, ordering: .relaxed)
    }

    private var tooLarge: Response {
        refuse(413, "the request's body is larger than \(options.bodyLimitBytes) bytes")
    }

    private func refuse(_ status: Int, _ reason: String) -> Response {
        Response(
            status: status, contentType: "text/plain", headers: options.refusalHeaders(reason), body: reason + "\n")
    }

    /// What can be refused from the header alone.
    private func refusal(of transaction: Transaction) -> Response? {
        var bytes = transaction.target.utf8.count
        var declaredLength = 0
        for header in Workers.headers(of: transaction.connection) {
            bytes += header.name.utf8.count + header.value.utf8.count + 4
            if header.name.equalsIgnoringASCIICase("Content-Length") { declaredLength = Int(header.value) ?? 0 }
        }
        if bytes > options.headerLimitBytes {
            return refuse(431, "the request's header is larger than \(options.headerLimitBytes) bytes")
        }
        return declaredLength > options.bodyLimitBytes ? tooLarge : nil
    }

    private func send(_ response: Response, on transaction: Transaction) -> MHD_Result {
        guard let message = Message(response, on: transaction) else { return .NO }
        defer { message.release() }
        if isStopping.load(ordering: .relaxed) { message.add("Connection", "close") }
        if let stream = transaction.stream {
            streams.withLock { $0[ObjectIdentifier(transaction)] = stream }
            if isStopping.load(ordering: .relaxed) { stream.end() }
        }
        return message.queue(on: transaction.connection, status: response.status)
    }

    private static func headers(of connection: OpaquePointer?) -> [(name: String, value: String)] {
        var headers: [(name: String, value: String)] = []
        headers.reserveCapacity(8)
        withUnsafeMutablePointer(to: &headers) { pointer in
            _ = MHD_get_connection_values(connection, .HEADER_KIND, collectHeader, pointer)
        }
        return headers
    }
}

/// PEM texts in memory that stays where it is for as long as libmicrohttpd reads it.
private final class CopiedTLS: @unchecked Sendable {
    let chain: UnsafeMutablePointer<CChar>?
    let key: UnsafeMutablePointer<CChar>?

    init(_ tls: Server.TLS) {
        chain = strdup(tls.chain)
        key = strdup(tls.key)
    }

    deinit {
        free(chain)
        free(key)
    }
}
