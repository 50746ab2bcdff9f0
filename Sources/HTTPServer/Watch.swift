import Platform
import Synchronization

/// A thread that accepts a server's connections and notices when a client disconnects while it waits for its answer.
/// The HTTP library libmicrohttpd doesn't look at connections that it has suspended.
final class Watch: Sendable {
    private struct Watched {
        let serial: UInt32
        /// The action to call when the watched client disconnects; `nil` once it has been called.
        var gone: (@Sendable () -> Void)?
    }

    private struct State {
        var watched: [Int32: Watched] = [:]
        var serial: UInt32 = 0
        var listeners: [Int32]
        /// The labels that accepted connections get, by the descriptor of the listening socket.
        var labels: [Int32: String] = [:]
        /// The listening sockets that the accepting thread should close. No other thread may close them, because the
        /// accepting thread could be using them at that moment.
        var ending: [Int32] = []
        var mayAccept = true
        var isRunning = false
        var isOver = false
    }

    struct Hooks: Sendable {
        /// Returns whether new connections should stay in the system's queue, because the server has too many.
        var isFull: @Sendable () -> Bool
        /// Receives a new connection of a client, and owns its descriptor from then on.
        var accepted: @Sendable (Int32, UnsafePointer<sockaddr>, socklen_t, _ label: String?) -> Void
        /// Receives a connection that was accepted with the reserve descriptor, because the process had no other
        /// descriptor. The connection is closed afterwards.
        var outOfDescriptors: @Sendable (Int32) -> Void
        /// A closure that the accepting thread calls several times a second.
        var tick: @Sendable () -> Void
    }

    private let events = understudy_events_open()
    private let hooks: Hooks
    private let state: Mutex<State>
    // A reserve descriptor. It is closed when the process has no other left, so that one client can be told. Only the
    // thread uses it.
    private let reserve = Atomic<Int32>(-1)

    /// The most milliseconds between two calls of `tick`.
    private static let pause: Int32 = 200
    /// The largest serial number of a client's connection that is watched for its end. The next connection gets the
    /// number 1.
    private static let lastSerial = UInt32.max >> 1

    /// Prepares to accept connections from the listening sockets, and owns their descriptors from now on.
    init(_ listeners: [Int32], _ hooks: Hooks) {
        self.hooks = hooks
        state = Mutex(State(listeners: listeners))
        for listener in listeners {
            _ = fcntl(listener, F_SETFL, O_NONBLOCK)
            add(listener, serial: 0)
        }
    }

    deinit {
        understudy_events_close(events)
        let kept = reserve.load(ordering: .relaxed)
        if kept >= 0 { close(kept) }
        for listener in state.withLock({ $0.listeners }) { close(listener) }
    }

    /// Starts the thread that accepts connections. Returns `false` if the system has no thread or no descriptors for
    /// it.
    func start() -> Bool {
        guard events.set >= 0 else { return false }
        state.withLock { $0.isRunning = true }
        let isStarted = WorkThread.start { [self] in
            run()
            state.withLock { $0.isRunning = false }
        }
        if !isStarted { state.withLock { $0.isRunning = false } }
        return isStarted
    }

    /// Closes all listening sockets, and returns when no more connections are accepted.
    func stopAccepting() {
        state.withLock { $0.mayAccept = false }
        wakeUp()
        while state.withLock({ $0.isRunning && !$0.listeners.isEmpty }) { usleep(500) }
    }

    /// Accepts connections from further listening sockets, and gives the connections a label. Returns `false` and
    /// closes the sockets if the server is stopping.
    func listen(on listeners: [Int32], label: String) -> Bool {
        let isTaken = state.withLock { state in
            guard state.mayAccept, !state.isOver else { return false }
            for listener in listeners {
                _ = fcntl(listener, F_SETFL, O_NONBLOCK)
                state.listeners.append(listener)
                state.labels[listener] = label
                add(listener, serial: 0)
            }
            return true
        }
        if !isTaken { for listener in listeners { close(listener) } }
        return isTaken
    }

    /// Asks the accepting thread to close the listening sockets of an additional port.
    func endListening(on listeners: [Int32]) {
        state.withLock { $0.ending += listeners }
        wakeUp()
    }

    /// Waits until the listening sockets are closed. It must not be called on the accepting thread itself.
    func awaitEnd(of listeners: [Int32]) {
        while state.withLock({ state in state.isRunning && state.ending.contains { listeners.contains($0) } }) {
            usleep(500)
        }
    }

    /// Stops the thread that accepts connections, and returns when the thread has ended.
    func stop() {
        state.withLock { $0.isOver = true }
        wakeUp()
        while state.withLock({ $0.isRunning }) { usleep(500) }
    }

    // MARK: - Suspended connections

    /// Calls `gone` once, on the accepting thread, when the client closes its connection or its sending half. The
    /// descriptor must stay open until `forget` is called.
    func watch(_ descriptor: Int32, gone: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.serial = state.serial == Watch.lastSerial ? 1 : state.serial + 1
            state.watched[descriptor] = Watched(serial: state.serial, gone: gone)
            add(descriptor, serial: state.serial)
        }
    }

    func forget(_ descriptor: Int32) {
        let watched = state.withLock { state in
            let watched = state.watched.removeValue(forKey: descriptor)
            if watched != nil { _ = understudy_events_remove(events, descriptor) }
            return watched
        }
        // The closure is released here, outside the lock, together with the objects that it retains.
        _ = watched
    }

    /// Adds a descriptor to the event set. `serial` is 0 for a listening socket. For a client's connection, which is
    /// watched only for its end, `serial` is a unique number.
    private func add(_ descriptor: Int32, serial: UInt32) {
        let word = UInt64(serial) << 32 | UInt64(UInt32(bitPattern: descriptor))
        _ = understudy_events_add(events, descriptor, serial == 0 ? 0 : 1, word)
    }

    private func wakeUp() {
        understudy_events_wake(events)
    }

    // MARK: - The thread

    private func run() {
        reserve.store(open("/dev/null", O_RDONLY | O_CLOEXEC), ordering: .relaxed)
        var words = [UInt64](repeating: 0, count: 128)
        while !state.withLock({ $0.isOver }) {
            if hooks.isFull() { usleep(1000) }
            let count = understudy_events_wait(events, &words, Watch.pause)
            for word in words.prefix(Int(max(0, count))) {
                handle(Int32(truncatingIfNeeded: word), UInt32(word >> 32))
            }
            if !state.withLock({ $0.mayAccept }) { closeListeners() }
            closeEnding()
            hooks.tick()
        }
        closeListeners()
    }

    private func handle(_ descriptor: Int32, _ serial: UInt32) {
        if serial == 0 {
            acceptAll(from: descriptor)
        } else {
            let gone = state.withLock { state -> (@Sendable () -> Void)? in
                guard let watched = state.watched[descriptor], watched.serial == serial else { return nil }
                state.watched[descriptor]?.gone = nil
                return watched.gone
            }
            gone?()
        }
    }

    private func acceptAll(from listener: Int32) {
        let label = state.withLock { $0.labels[listener] }
        // The socket's queue may have more. The next round accepts them, after the events of clients that have gone.
        for _ in 0..<64 {
            guard !hooks.isFull(), state.withLock({ $0.mayAccept }) else { return }
            var storage = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let descriptor = understudy_accept(listener, &storage, &length, 0)
            guard descriptor >= 0 else {
                let failure = errno
                if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(failure) { refuseOne(from: listener) }
                // These errors concern one connection only: go on with the next.
                if failure == EINTR || failure == ECONNABORTED { continue }
                return
            }
            withUnsafePointer(to: &storage) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    hooks.accepted(descriptor, $0, length, label)
                }
            }
        }
    }

    /// Refuses one waiting client, because the process has no free descriptor. The client's connection gets a
    /// descriptor that was kept in reserve. Then the function pauses, to give other threads time to free descriptors.
    private func refuseOne(from listener: Int32) {
        let kept = reserve.exchange(-1, ordering: .relaxed)
        if kept >= 0 { close(kept) }
        let descriptor = understudy_accept(listener, nil, nil, 0)
        if descriptor >= 0 {
            hooks.outOfDescriptors(descriptor)
            close(descriptor)
        }
        reserve.store(open("/dev/null", O_RDONLY | O_CLOEXEC), ordering: .relaxed)
        usleep(20_000)
    }

    private func closeListeners() {
        state.withLock { state in
            closeAll(state.listeners)
            state.listeners = []
            state.labels = [:]
        }
    }

    /// Closes the listening sockets that the server has asked the accepting thread to close.
    private func closeEnding() {
        state.withLock { state in
            guard !state.ending.isEmpty else { return }
            let ending = state.listeners.filter { state.ending.contains($0) }
            closeAll(ending)
            state.listeners.removeAll { ending.contains($0) }
            for listener in ending { state.labels[listener] = nil }
            state.ending = []
        }
    }

    private func closeAll(_ listeners: [Int32]) {
        for listener in listeners {
            // Another process may have the socket too. Then closing it here doesn't remove it from the set.
            _ = understudy_events_remove(events, listener)
            close(listener)
        }
    }
}
