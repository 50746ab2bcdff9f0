import CConnections
import CMicrohttpd
import Platform
import Synchronization

/// The inside of a server: libmicrohttpd's daemon, the thread that accepts, and what their callbacks share.
final class Workers: Sendable {
    let options: Server.Options
    let gate: ConnectionGate
    let inFlight = Atomic<Int>(0)
    let isStopping = Atomic<Bool>(false)
    /// Every answer is the last on its connection.
    let isEnding = Atomic<Bool>(false)
    let secrets: CopiedTLS?
    let handler: Server.Handler
    let suspensions = Suspensions()
    let streams = Mutex<[ObjectIdentifier: EventStream]>([:])
    /// The port that is listened on.
    let port: UInt16
    private let mustStopNow = Atomic<Bool>(false)
    private let running = Mutex(Running())
    private let refusals: RefusedConnections
    /// When the suspended ones were last looked at.
    private let lastLook = Mutex(ContinuousClock.now)

    private struct Running: @unchecked Sendable {
        var daemon: OpaquePointer?
        var watch: Watch?
    }

    /// Starts listening; the handler is called on a worker's thread and should not block it.
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
                requestSeconds: options.requestSeconds, answerSeconds: options.answerSeconds)
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
        // The gate limits connections. libmicrohttpd divides its own limit among its workers, and one of them would refuse
        // connections while others have room, so that limit is high enough for all connections to be with one worker.
        let limit = (gate.limits.connections + gate.limits.slack) * max(1, options.workers)
        daemonOptions.connection_limit = UInt32(clamping: limit)
        daemonOptions.idle_timeout_seconds = UInt32(options.idleTimeoutSeconds)
        // Room for a header well over the limit, so that the refusal is ours and says why.
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

    /// Accepts connections and notices when the client of a suspended one goes.
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

    /// Watches the clients of connections that were suspended when this was last called, and still are: most answers come sooner, and
    /// watching costs as much as suspending.
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

    /// Stops accepting, ends streams, lets requests in flight finish within the grace, answers 503 to those still suspended,
    /// and closes everything. Safe to call twice.
    func stop() {
        mustStopNow.store(true, ordering: .relaxed)
        guard !isStopping.exchange(true, ordering: .sequentiallyConsistent) else { return }
        quiesce()
        finish()
    }

    /// Stops when another server has taken over the listening sockets: clients that are connected already may send one more
    /// request, within `grace`. `stop` cuts that short.
    func retire(within grace: Duration) {
        guard !isStopping.exchange(true, ordering: .sequentiallyConsistent) else { return }
        quiesce()
        let deadline = ContinuousClock.now.advanced(by: grace)
        while gate.count > 0, ContinuousClock.now < deadline, !mustStopNow.load(ordering: .relaxed) { usleep(20_000) }
        finish()
    }

    /// Why a request is refused while the server ends.
    static let stopping = "the server is stopping"

    /// Accepts no more, and ends streams.
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
            // Requests that are still being sent aren't waited for as long as those that are being answered.
            if isPatient, ContinuousClock.now >= patience {
                gate.closeUnfinished()
                isPatient = false
            }
            usleep(2000)
        }
        // Whatever a connection that is kept asks for from now on is answered at once or refused.
        suspensions.close()
        // The worker of a resumed connection runs once more, so that its answer is sent. A connection that was about to be
        // suspended is found in the next round.
        let last = ContinuousClock.now.advanced(by: .milliseconds(200))
        while inFlight.load(ordering: .relaxed) > 0 && ContinuousClock.now < last || !suspensions.areResumed {
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

/// PEM texts in memory that stays where it is for as long as libmicrohttpd reads it.
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
