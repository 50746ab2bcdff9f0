import HTTPServer
import Platform
import Synchronization

/// Forwards TCP connections from ports on the loopback of this network namespace to the same ports on the loopback of a
/// different network namespace.
package final class PortForwarder: Sendable {
    /// The greatest number of TCP connections that are forwarded at the same time, on all ports together.
    package static let limit = 256
    /// The seconds after which an idle forwarded connection is closed. It is long, because a connection pool may keep a
    /// connection for a whole test run.
    private static let idleLimit = 86_400

    private let outside: NetworkSockets
    private let log: @Sendable (String) -> Void
    private let isStopping = Atomic<Bool>(false)
    private let count = Atomic<Int>(0)

    /// Listens on `127.0.0.1` and `::1` at the ports to forward. `log` receives lines about connections that couldn't
    /// be forwarded.
    package init(
        ports: [UInt16], to outside: NetworkSockets, log: @escaping @Sendable (String) -> Void
    ) throws(ListenError) {
        self.outside = outside
        self.log = log
        for port in ports {
            for listener in try Listener.all(on: "127.0.0.1", port: port) {
                _ = fcntl(listener.descriptor, F_SETFL, O_NONBLOCK)
                let isStarted = WorkThread.start { [self] in
                    accept(from: listener.descriptor, port)
                    close(listener.descriptor)
                }
                guard isStarted else { throw ListenError(description: "no thread can be started for port \(port)") }
            }
        }
    }

    package func stop() { isStopping.store(true, ordering: .relaxed) }

    private func accept(from listener: Int32, _ port: UInt16) {
        while !isStopping.load(ordering: .relaxed) {
            var waiting = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, ProxyState.patience) > 0 else { continue }
            let descriptor = understudy_accept(listener, nil, nil, 1)
            guard descriptor >= 0 else {
                // Without a free descriptor, polling would return at once.
                if errno == EMFILE || errno == ENFILE { usleep(20_000) }
                continue
            }
            let isTaken =
                count.add(1, ordering: .relaxed).newValue <= PortForwarder.limit
                && WorkThread.start { [self] in
                    carry(descriptor, port)
                    close(descriptor)
                    count.subtract(1, ordering: .relaxed)
                }
            guard !isTaken else { continue }
            count.subtract(1, ordering: .relaxed)
            close(descriptor)
            log(
                "a connection to the shared port \(port) was closed, because all \(PortForwarder.limit) allowed connections are open or the system has no thread left"
            )
        }
    }

    private func carry(_ client: Int32, _ port: UInt16) {
        let upstream: Int32
        do throws(Refusal) { upstream = try outside.connect(toLoopback: port) } catch {
            log("can't connect to the shared port \(port) at this machine's loopback address: \(error.advice)")
            // A reset, instead of an end, is the nearest thing to a refused connection.
            var abort = linger(l_onoff: 1, l_linger: 0)
            setsockopt(client, SOL_SOCKET, SO_LINGER, &abort, socklen_t(MemoryLayout<linger>.size))
            return
        }
        defer { close(upstream) }
        for descriptor in [client, upstream] {
            var one: Int32 = 1
            setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        }
        Pipe.join(client, upstream, idleSeconds: PortForwarder.idleLimit) { isStopping.load(ordering: .relaxed) }
    }
}
