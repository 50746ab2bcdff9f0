import HTTPServer
import Platform
import Synchronization

/// The listening sockets of the SMTP server, for the one thread that accepts connections.
final class SMTPListeners: Sendable {
    private struct State {
        /// The name of the test world to which each open listening socket belongs, by the socket's descriptor; `nil`
        /// for a socket of all test worlds. A descriptor that isn't listed has been closed.
        var labels: [Int32: String?] = [:]
        var isClosed = false
    }

    /// The greatest number of connections to accept from one listening socket before the other sockets have their turn.
    private static let batch = 64
    private let events: understudy_events
    private let state = Mutex(State())

    init() throws(ListenError) {
        events = understudy_events_open()
        guard events.set >= 0 else { throw ListenError(description: "no file descriptor is left for the mail server") }
    }

    deinit { understudy_events_close(events) }

    func open(_ host: String, port: UInt16, label: String?) throws(ListenError) -> SMTPPort {
        let bound = try Listener.all(on: host, port: port)
        let isOpen = state.withLock { state in
            guard !state.isClosed else { return false }
            for listener in bound {
                _ = fcntl(listener.descriptor, F_SETFL, O_NONBLOCK)
                state.labels[listener.descriptor] = .some(label)
            }
            return bound.allSatisfy {
                understudy_events_add(events, $0.descriptor, 0, UInt64(UInt32(bitPattern: $0.descriptor))) == 0
            }
        }
        guard isOpen else {
            close(bound.map(\.descriptor))
            throw ListenError(description: "can't listen on \(host):\(port): the mail server has stopped")
        }
        return SMTPPort(bound.first?.port ?? port, bound.map(\.descriptor), self)
    }

    /// Closes those of the listening sockets that are still open. A descriptor that was closed before is left alone,
    /// because another socket may have its number by now.
    func close(_ descriptors: [Int32]) {
        state.withLock { state in
            for descriptor in descriptors {
                guard state.labels.removeValue(forKey: descriptor) != nil else { continue }
                _ = understudy_events_remove(events, descriptor)
                Platform.close(descriptor)
            }
        }
    }

    func closeAll() {
        let all = state.withLock { state in
            state.isClosed = true
            return Array(state.labels.keys)
        }
        close(all)
    }

    func wake() { understudy_events_wake(events) }

    /// Waits for new connections, and returns each with the name of the test world to which its port belongs. Returns
    /// no connections if `wake` was called.
    func wait() -> [(descriptor: Int32, label: String?)] {
        var told = [UInt64](repeating: 0, count: 128)
        let count = understudy_events_wait(events, &told, -1)
        guard count > 0 else { return [] }
        var accepted: [(descriptor: Int32, label: String?)] = []
        var isExhausted = false
        state.withLock { state in
            for word in told.prefix(Int(count)) {
                let listener = Int32(truncatingIfNeeded: word)
                guard let label = state.labels[listener] else { continue }
                for _ in 0..<SMTPListeners.batch {
                    let descriptor = understudy_accept(listener, nil, nil, 1)
                    guard descriptor >= 0 else {
                        isExhausted = isExhausted || [EMFILE, ENFILE].contains(errno)
                        break
                    }
                    accepted.append((descriptor, label))
                }
            }
        }
        // Without a free descriptor, waiting would return at once.
        if isExhausted { usleep(20_000) }
        return accepted
    }
}

/// A port at which the SMTP server listens. It is closed when the last reference to it is released.
package final class SMTPPort: Sendable {
    package let port: UInt16
    private let descriptors: [Int32]
    private let listeners: SMTPListeners
    private let isClosed = Atomic<Bool>(false)

    init(_ port: UInt16, _ descriptors: [Int32], _ listeners: SMTPListeners) {
        self.port = port
        self.descriptors = descriptors
        self.listeners = listeners
    }

    /// Closes the SMTP port. Conversations that have begun continue.
    package func close() {
        if !isClosed.exchange(true, ordering: .relaxed) { listeners.close(descriptors) }
    }

    deinit { close() }
}
