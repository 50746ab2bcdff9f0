import Platform
import HTTPServer
import Synchronization

/// The test world that a client of the HTTP proxy chooses by sending the world's name as its user name.
package enum ProxyWorld: Sendable, Equatable {
    /// The client sent no user name, so the daemon's own rules choose the test world.
    case unnamed
    case named(String)
    /// The header with the user name is invalid. The text says what is wrong, and how to correct it.
    case refused(String)
}

/// An HTTP proxy in front of the daemon, for the hosts of the providers. A `CONNECT` request leads to the daemon's
/// HTTPS port (<https://www.rfc-editor.org/rfc/rfc9110#section-9.3.6>), and a request in absolute form leads to its
/// HTTP port. Requests for other hosts are refused, unless `passesThrough` is true.
package final class ProxyServer: Sendable {
    package struct Options: Sendable {
        package var host = "127.0.0.1"
        /// The port on which the HTTP proxy listens; 0 chooses a free one.
        package var port: UInt16 = 0
        /// The IP address of the daemon behind the proxy.
        package var upstream = "127.0.0.1"
        /// The HTTP port of the daemon behind the proxy; `nil` if it serves only HTTPS.
        package var httpPort: UInt16?
        package var tlsPort: UInt16 = 0
        /// Returns whether the daemon stands in for this host of a provider.
        package var plays: @Sendable (String) -> Bool = { _ in false }
        /// Reads from a `Proxy-Authorization` header which test world the client chooses.
        package var world: @Sendable (_ header: String) -> ProxyWorld = { _ in
            .refused("this proxy serves no test worlds")
        }
        /// Gives the daemon one end of a connection whose requests are all for the test world `world`. If `world` is
        /// `nil`, the daemon's own rules choose the world of each request. `isSecure` is true for HTTPS. Returns
        /// `false` if the daemon refuses the connection. In any case, the daemon closes the descriptor.
        package var handOver: @Sendable (_ descriptor: Int32, _ isSecure: Bool, _ world: String?) -> Bool = {
            descriptor, _, _ in
            close(descriptor)
            return false
        }
        /// Whether clients may connect through the proxy to hosts that the daemon doesn't stand in for.
        package var passesThrough = false
        /// The most connections (tunnels) through the proxy; fewer if the limit of open files is low.
        package var tunnelLimit = 512
        /// The most connections through the proxy from one client address; loopback has no such limit.
        package var tunnelLimitPerAddress = 64
        /// The seconds in which the header of a request to the proxy must arrive.
        package var headerSeconds = 30
        /// The seconds after which an idle connection through the proxy is closed.
        package var idleSeconds = 300
        package var log: @Sendable (String) -> Void = { _ in }
        /// Receives warnings for the operator of the proxy, a line each, at most one in ten seconds.
        package var warn: @Sendable (String) -> Void = { _ in }

        package init() {}
    }

    private let state: ProxyState

    package init(_ options: Options) throws(ListenError) { state = try ProxyState(options) }

    package var port: UInt16 { state.port }

    /// Makes the proxy accept no more connections, and closes every connection through it.
    package func stop() { state.stop() }

    deinit { state.stop() }
}

/// The state that the HTTP proxy's threads share.
final class ProxyState: Sendable {
    let options: ProxyServer.Options
    let isStopping = Atomic<Bool>(false)
    let port: UInt16
    private let count = Atomic<Int>(0)
    private let listening = Atomic<Int>(0)
    private let limit: Int
    /// The clients' connections to the proxy that haven't sent a whole request yet, the oldest first.
    private let awaitingRequest = Mutex<[Int32]>([])
    private let byAddress = Mutex<[[UInt8]: Int]>([:])
    private let refused: RefusedConnections
    private let refusedCount = Atomic<UInt64>(0)

    init(_ options: ProxyServer.Options) throws(ListenError) {
        self.options = options
        signal(SIGPIPE, SIG_IGN)
        let bound = try Listener.all(on: options.host, port: options.port)
        limit = min(options.tunnelLimit, DescriptorLimit.tunnels)
        refused = RefusedConnections(isPlain: true, header: "Understudy-Diagnosis")
        port = bound.first?.port ?? options.port
        for listener in bound {
            _ = fcntl(listener.descriptor, F_SETFL, O_NONBLOCK)
            listening.add(1, ordering: .relaxed)
            let isStarted = WorkThread.start { [self] in
                accept(from: listener.descriptor)
                finish(listener.descriptor, of: listening)
            }
            if !isStarted { finish(listener.descriptor, of: listening) }
        }
        guard listening.load(ordering: .relaxed) == bound.count else {
            stop()
            throw ListenError(description: "the proxy can't start: the system allows no more threads")
        }
    }

    func stop() {
        guard !isStopping.exchange(true, ordering: .sequentiallyConsistent) else { return }
        // Each thread checks more often than this whether the proxy is stopping.
        for _ in 0..<50 where count.load(ordering: .relaxed) + listening.load(ordering: .relaxed) > 0 {
            usleep(20_000)
        }
        refused.closeAll()
    }

    /// The milliseconds after which a waiting thread of the HTTP proxy checks whether the proxy is stopping.
    static let patience: Int32 = 100

    private func accept(from listener: Int32) {
        while !isStopping.load(ordering: .relaxed) {
            closeRefusedAndWarn()
            var waiting = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, ProxyState.patience) > 0 else { continue }
            let descriptor = understudy_accept(listener, nil, nil, 1)
            guard descriptor >= 0 else {
                // Without a free descriptor the connection stays in the system's queue, and polling would return at once.
                if errno == EMFILE || errno == ENFILE { usleep(20_000) }
                continue
            }
            let address = ClientAddress.key(ofPeer: descriptor) ?? []
            guard reserve(address) else {
                refuse(descriptor, "\(options.tunnelLimitPerAddress) tunnels from this address are in use")
                continue
            }
            let present = count.add(1, ordering: .relaxed).newValue
            guard present <= limit || present <= limit + ProxyState.surplus && closeOldestAwaitingRequest() else {
                count.subtract(1, ordering: .relaxed)
                release(address)
                refuse(descriptor, "all \(limit) tunnels of the proxy are in use")
                continue
            }
            awaitingRequest.withLock { $0.append(descriptor) }
            let isStarted = WorkThread.start { [self] in
                Tunnel(descriptor, self).run()
                release(address)
                finish(descriptor, of: count)
            }
            if !isStarted {
                release(address)
                removeAwaitingRequest(descriptor)
                count.subtract(1, ordering: .relaxed)
                refuse(descriptor, "the system allows no more threads")
            }
        }
    }

    /// Counts one more connection from a client's IP address. Returns `false` if the address already has as many
    /// connections as it may have. `address` is empty for loopback, which has no limit.
    private func reserve(_ address: [UInt8]) -> Bool {
        byAddress.withLock { counts in
            guard !address.isEmpty else { return true }
            guard counts[address, default: 0] < options.tunnelLimitPerAddress else { return false }
            counts[address, default: 0] += 1
            return true
        }
    }

    private func release(_ address: [UInt8]) {
        byAddress.withLock { counts in
            guard let count = counts[address] else { return }
            counts[address] = count > 1 ? count - 1 : nil
        }
    }

    /// The number of connections by which the proxy may exceed its limit for a moment. Each is accepted in place of an
    /// older connection that is being closed.
    private static let surplus = 16

    /// Records that a client's connection to the proxy has sent a whole request, or has ended.
    func removeAwaitingRequest(_ descriptor: Int32) { awaitingRequest.withLock { $0.removeAll { $0 == descriptor } } }

    /// Closes the oldest connection to the proxy that hasn't sent a whole request, so that silent clients can't keep
    /// others out. Returns `false` if there is none.
    private func closeOldestAwaitingRequest() -> Bool {
        awaitingRequest.withLock { descriptors in
            guard !descriptors.isEmpty else { return false }
            let oldest = descriptors.removeFirst()
            let refusal = Refusal(
                503, "Service Unavailable",
                "this client sent no request while all \(limit) tunnels of the proxy were in use, so the proxy gave this client's tunnel to another client"
            )
            refusal.answer.withUnsafeBytes {
                _ = send(oldest, $0.baseAddress, $0.count, understudy_no_signal | Int32(MSG_DONTWAIT))
            }
            shutdown(oldest, Int32(SHUT_RDWR))
            return true
        }
    }

    private func refuse(_ descriptor: Int32, _ reason: String) {
        refusedCount.add(1, ordering: .relaxed)
        refused.refuse(descriptor, "the proxy accepts no more connections: \(reason)")
    }

    private func closeRefusedAndWarn() {
        refused.tick()
        var counters = ServerCounters()
        counters.refused = refusedCount.load(ordering: .relaxed)
        if refused.report(of: counters) != nil {
            options.warn("the proxy has refused \(counters.refused) connections: it accepts at most \(limit) at once")
        }
    }

    private func finish(_ descriptor: Int32, of counter: borrowing Atomic<Int>) {
        close(descriptor)
        counter.subtract(1, ordering: .relaxed)
    }
}
