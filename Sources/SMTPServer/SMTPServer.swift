import HTTPServer
import Platform
import Synchronization

/// Takes mail by SMTP, each connection on a thread of its own.
package final class SMTPServer: Sendable {
    package struct Options: Sendable {
        package var host = "127.0.0.1"
        /// 0 takes a free port.
        package var port: UInt16 = 0
        /// What the server calls itself.
        package var name = "localhost"
        /// Asked for each connection, so that a renewed certificate is taken over. TLS isn't offered without one.
        package var certificate: @Sendable () -> SMTPCertificate? = { nil }
        /// Connections at once.
        package var limit = 200
        /// Octets of all messages that are coming in.
        package var octetLimit = 64 << 20
        /// Seconds without a word from the client: RFC 5321 section 4.5.3.2.7 asks for five minutes at least.
        package var silence = 300

        package init() {}
    }

    /// What the threads share.
    final class Shared: Sendable {
        let options: Options
        let receiver: any MailReceiver
        let room: MessageRoom
        let listeners: SMTPListeners
        private let connections = Mutex<Set<Int32>>([])
        private let stopping = Atomic<Bool>(false)

        init(_ options: Options, _ receiver: any MailReceiver) throws(ListenError) {
            self.options = options
            self.receiver = receiver
            room = MessageRoom(limit: options.octetLimit)
            listeners = try SMTPListeners()
        }

        var isStopping: Bool { stopping.load(ordering: .relaxed) }
        var count: Int { connections.withLock { $0.count } }

        func accept() {
            while !isStopping {
                for (descriptor, label) in listeners.wait() { take(descriptor, label) }
            }
            listeners.closeAll()
        }

        private func take(_ descriptor: Int32, _ label: String?) {
            let isTaken = connections.withLock { connections in
                guard !isStopping, connections.count < options.limit else { return false }
                connections.insert(descriptor)
                return true
            }
            // OpenSSL's handshake and what receivers do need more than the usual stack.
            if isTaken, WorkThread.start(stack: 1 << 20, { [self] in converse(descriptor, label) }) { return }
            let text = SMTPReply(421, "4.3.2", "too many connections").text
            _ = Array(text.utf8).withUnsafeBytes { bytes in
                send(descriptor, bytes.baseAddress, bytes.count, understudy_no_signal)
            }
            if isTaken { end(descriptor) } else { close(descriptor) }
        }

        private func converse(_ descriptor: Int32, _ label: String?) {
            do {
                var connection = SMTPConnection(descriptor, label: label, self)
                connection.run()
            }
            end(descriptor)
        }

        /// A descriptor is closed while nobody can shut down another one of its number.
        private func end(_ descriptor: Int32) {
            connections.withLock { connections in
                connections.remove(descriptor)
                close(descriptor)
            }
        }

        func stop() {
            guard !stopping.exchange(true, ordering: .sequentiallyConsistent) else { return }
            listeners.wake()
            // Those that wait for a client read the end, and take their leave. Those that hang in writing are cut off.
            for (how, patience) in [(SHUT_RD, 40), (SHUT_RDWR, 40)] {
                connections.withLock { for descriptor in $0 { shutdown(descriptor, Int32(how)) } }
                for _ in 0..<patience where count > 0 { usleep(20_000) }
            }
        }
    }

    private let shared: Shared
    private let main: SMTPPort
    /// As bound: the real port when 0 was asked for.
    package var port: UInt16 { main.port }

    package init(_ options: Options, receiver: any MailReceiver) throws(ListenError) {
        // OpenSSL writes to sockets whose other end is gone.
        signal(SIGPIPE, SIG_IGN)
        let shared = try Shared(options, receiver)
        self.shared = shared
        main = try shared.listeners.open(options.host, port: options.port, label: nil)
        guard WorkThread.start({ shared.accept() }) else {
            shared.listeners.closeAll()
            throw ListenError(description: "the system gives no thread for mail")
        }
    }

    /// How many connections there are.
    package var connections: Int { shared.count }

    /// How many there may be.
    package var connectionLimit: Int { shared.options.limit }

    /// Opens a further port, whose conversations get a label.
    package func listen(on port: UInt16, label: String) throws(ListenError) -> SMTPPort {
        guard !shared.isStopping else { throw ListenError(description: "the server for mail has stopped") }
        return try shared.listeners.open(shared.options.host, port: port, label: label)
    }

    /// Stops accepting, and ends all conversations within two seconds.
    package func stop() { shared.stop() }

    deinit { shared.stop() }
}
