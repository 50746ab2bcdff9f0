import CConnections
import CMicrohttpd
import Platform
import Synchronization

/// The inside of an HTTP server: libmicrohttpd's daemon, the thread that accepts connections, and the state that their
/// callbacks share.
final class Workers: Sendable {
    let options: Server.Options
    let gate: ConnectionGate
    let inFlight = Atomic<Int>(0)
    let isStopping = Atomic<Bool>(false)
    /// Whether the server closes each connection after its next answer.
    let isEnding = Atomic<Bool>(false)
    let secrets: CopiedTLS?
    let handler: Server.Handler
    let suspensions = Suspensions()
    let streams = Mutex<[ObjectIdentifier: EventStream]>([:])
    let port: UInt16
    private let mustStopNow = Atomic<Bool>(false)
    private let running = Mutex(Running())
    private let refusals: RefusedConnections
    /// The time at which the server last looked for connections that have long waited for their answer.
    private let lastLook = Mutex(ContinuousClock.now)

    private struct Running: @unchecked Sendable {
        var daemon: OpaquePointer?
        var watch: Watch?
    }

    init(_ options: Server.Options, handler: @escaping Server.Handler) throws(ListenError) {
        self.options = options
        self.handler = handler
        secrets = options.tls.map { CopiedTLS($0) }
        DescriptorLimit.raise()
        try DescriptorLimit.check()
        signal(SIGPIPE, SIG_IGN)
        let refusals = RefusedConnections(isPlain: options.tls == nil, header: options.diagnosisHeader)
        self.refusals = refusals
        gate = ConnectionGate(
            .init(
                connections: min(options.connectionLimit, DescriptorLimit.connections),
                connectionsPerAddress: options.connectionLimitPerAddress, bodyBytes: options.bodyLimitBytesTogether,
                answerBytes: options.answerLimitBytesTogether, requestSeconds: options.requestSeconds,
                answerSeconds: options.answerSeconds)
        ) { refusals.answer($0, $1) }
        let listeners =
            options.listening.isEmpty
            ? try Listener.all(on: options.host, port: options.port) : options.listening.map { Listener(listening: $0) }
        port = listeners.last?.port ?? options.port
        let watch = Watch(
            listeners.map(\.descriptor),
            Watch.Hooks(
                isFull: { [gate] in gate.isFull }, accepted: { [weak self] in self?.accepted($0, $1, $2, label: $3) },
                outOfDescriptors: { [weak self] in self?.outOfDescriptors($0) }, tick: { [weak self] in self?.tick() }))
        guard let daemon = startDaemon() else {
            throw ListenError(description: "libmicrohttpd couldn't start on \(options.host):\(port)")
        }
        running.withLock { $0 = Running(daemon: daemon, watch: watch) }
        guard watch.start() else {
            stop()
            throw ListenError(
                description: "can't listen on \(options.host):\(port): the system gives no more threads or files")
        }
    }

    private func startDaemon() -> OpaquePointer? {
        var daemonOptions = understudy_daemon_options()
        daemonOptions.workers = UInt32(options.workers)
        // The gate limits connections. libmicrohttpd divides its own limit among its workers, so one of them could
        // refuse connections while the others are idle. Its limit is therefore high enough for all connections at one
        // worker.
        let limit = (gate.limits.connections + gate.limits.slack) * max(1, options.workers)
        daemonOptions.connection_limit = UInt32(clamping: limit)
        daemonOptions.idle_timeout_seconds = UInt32(options.idleTimeoutSeconds)
        // The memory holds a header well over the limit, so that the refusal is ours and gives the reason.
        daemonOptions.connection_memory_bytes = options.connectionMemory
        daemonOptions.context = Unmanaged.passUnretained(self).toOpaque()
        daemonOptions.handle = handleCallback
        daemonOptions.begin = beginCallback
        daemonOptions.completed = completedCallback
        daemonOptions.connection = connectionCallback
        daemonOptions.polls = options.polls ? 1 : 0
        understudy_take_log(logCallback)
        if let secrets {
            daemonOptions.tls_certificate = UnsafePointer(secrets.chain)
            daemonOptions.tls_key = UnsafePointer(secrets.key)
        }
        return understudy_start_daemon(&daemonOptions)
    }

    var watch: Watch? { running.withLock { $0.watch } }

    // MARK: - Accepting

    func accepted(
        _ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t, label: String?,
        isAdopted: Bool = false
    ) {
        switch gate.admit(descriptor, address, label: label, isAdopted: isAdopted) {
        case .refused(let reason): refusals.refuse(descriptor, reason)
        case .admitted:
            // libmicrohttpd closes the descriptor when it can't take the connection.
            let daemon = running.withLock { $0.daemon }
            if let daemon { MHD_add_connection(daemon, descriptor, address, length) } else { close(descriptor) }
        }
    }

    /// Starts watching the clients of suspended connections, to notice when they disconnect. Watching costs as much as
    /// suspending. So a client is watched only if its connection was already suspended when this method last looked, at
    /// least 100 ms earlier.
    private func watchSuspended() {
        let now = ContinuousClock.now
        let isDue = lastLook.withLock { last in
            guard now - last >= Workers.lookPause else { return false }
            last = now
            return true
        }
        guard isDue else { return }
        for transaction in suspensions.transactions {
            if transaction.wasSeenWaiting.exchange(true, ordering: .relaxed) { transaction.watchClient() }
        }
    }

    private static let lookPause = Duration.milliseconds(100)

    private func outOfDescriptors(_ descriptor: Int32) {
        gate.countRefusal()
        refusals.sendRefusal(descriptor, "the process has no file descriptor left")
    }

    private func tick() {
        gate.expire()
        refusals.tick()
        watchSuspended()
        guard let report = refusals.report(of: gate.counters) else { return }
        options.warn(
            "too many connections: \(report.refused) refused, \(report.evicted) slow ones closed; at most "
                + "\(gate.limits.connections) connections (this follows from ulimit -n) and \(gate.limits.bodyBytes) bytes of "
                + "request bodies are held at once")
    }

    // MARK: - Stopping

    func stop() {
        mustStopNow.store(true, ordering: .relaxed)
        guard !isStopping.exchange(true, ordering: .sequentiallyConsistent) else { return }
        quiesce()
        finish()
    }

    func retire(within grace: Duration) {
        guard !isStopping.exchange(true, ordering: .sequentiallyConsistent) else { return }
        quiesce()
        let deadline = ContinuousClock.now.advanced(by: grace)
        while gate.count > 0, ContinuousClock.now < deadline, !mustStopNow.load(ordering: .relaxed) { usleep(20_000) }
        finish()
    }

    /// The reason that clients get for refused requests while the server is stopping.
    static let stopping = "the server is stopping"

    /// Makes the HTTP server accept no more connections, and ends its streams.
    private func quiesce() {
        watch?.stopAccepting()
        for stream in streams.withLock({ Array($0.values) }) { stream.end() }
    }

    private func finish() {
        let begin = ContinuousClock.now
        let deadline = begin.advanced(by: options.stopGrace)
        let patience = begin.advanced(by: options.stopGrace / 3)
        var isPatient = true
        while inFlight.load(ordering: .relaxed) > 0, ContinuousClock.now < deadline {
            // Requests that are still arriving get less time than those that are being answered.
            if isPatient, ContinuousClock.now >= patience {
                gate.closeUnfinished()
                isPatient = false
            }
            usleep(2000)
        }
        // Further requests on the remaining connections are answered at once, or refused.
        suspensions.close()
        // The worker of a resumed connection runs once more, so that its answer is sent. A connection that was about to
        // be suspended is found in the next round. This ends 200 ms after the last answer, and after two seconds at most.
        let end = ContinuousClock.now.advanced(by: .seconds(2))
        var progressDeadline = ContinuousClock.now.advanced(by: .milliseconds(200))
        var previousCount = inFlight.load(ordering: .relaxed)
        while true {
            let count = inFlight.load(ordering: .relaxed)
            if count < previousCount {
                progressDeadline = min(end, ContinuousClock.now.advanced(by: .milliseconds(200)))
            }
            previousCount = count
            guard count > 0 && ContinuousClock.now < progressDeadline || !suspensions.areResumed else { break }
            for transaction in suspensions.transactions where transaction.isWaiting {
                transaction.resume(with: refuse(503, Workers.stopping, transaction.target))
            }
            usleep(2000)
        }
        let (daemon, watch) = running.withLock { running in
            defer { running.daemon = nil }
            return (running.daemon, running.watch)
        }
        watch?.stop()
        if let daemon { MHD_stop_daemon(daemon) }
        refusals.closeAll()
    }
}

/// A TLS certificate and its key, as PEM texts in memory that doesn't move while libmicrohttpd reads it.
final class CopiedTLS: @unchecked Sendable {
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
