import Platform
import Synchronization

/// A further port of a server, whose requests get a label. It is closed when the last reference to it is released.
package final class LabelledPort: Sendable {
    /// The port's number.
    package let port: UInt16
    private let listeners: [Int32]
    private let watch: Watch
    private let isClosed = Atomic<Bool>(false)

    fileprivate init(_ listeners: [Listener], watch: Watch) {
        port = listeners.first?.port ?? 0
        self.listeners = listeners.map(\.descriptor)
        self.watch = watch
    }

    /// Closes the port, and returns when no more connections are accepted. Open connections stay open.
    package func close() {
        end()
        watch.awaitEnd(of: listeners)
    }

    /// Closes the port, but only once: later, another port may have the same descriptors.
    private func end() {
        if !isClosed.exchange(true, ordering: .relaxed) { watch.endListening(on: listeners) }
    }

    deinit { end() }
}

extension Workers {
    func listen(on port: UInt16, label: String) throws(ListenError) -> LabelledPort {
        let listeners = try Listener.all(on: options.host, port: port)
        guard let watch, watch.listen(on: listeners.map(\.descriptor), label: label) else {
            throw ListenError(description: "can't listen on \(options.host):\(port): the server is stopping")
        }
        return LabelledPort(listeners, watch: watch)
    }

    func adopt(_ descriptor: Int32, label: String) -> Bool {
        guard !isStopping.load(ordering: .relaxed), !gate.isFull else {
            close(descriptor)
            return false
        }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        // Connections from within the process count as loopback: they have no limit of their own.
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                accepted(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size), label: label, isAdopted: true)
            }
        }
        return true
    }
}
