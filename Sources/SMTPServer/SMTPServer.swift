import HTTPServer
import Platform
import Synchronization

/// A server that receives mails by SMTP. Each connection has its own thread.
package final class SMTPServer: Sendable {
    package struct Options: Sendable {
        package var host = "127.0.0.1"
        /// The port at which the SMTP server listens; 0 chooses a free port.
        package var port: UInt16 = 0
        /// The server's host name, as in its SMTP greeting.
        package var name = "localhost"
        /// Returns the TLS certificate for a new connection, so that a renewed certificate is used at once. If it
        /// returns `nil`, STARTTLS isn't offered.
        package var certificate: @Sendable () -> SMTPCertificate? = { nil }
        /// The greatest number of SMTP connections at the same time.
        package var limit = 200
        /// The greatest total number of octets of all mails that are being received at the same time.
        package var octetLimit = 64 << 20
        /// The number of seconds after which a silent SMTP client is disconnected. RFC 5321 section 4.5.3.2.7 asks for
        /// at least five minutes.
        package var silence = 300

        package init() {}
    }

    /// The state of the SMTP server that its threads share.
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
                for (descriptor, label) in listeners.wait() { serveOrRefuse(descriptor, label) }
            }
            listeners.closeAll()
        }

        private func serveOrRefuse(_ descriptor: Int32, _ label: String?) {
            let isTaken = connections.withLock { connections in
                guard !isStopping, connections.count < options.limit else { return false }
                connections.insert(descriptor)
                return true
            }
            // OpenSSL's handshake and the receivers need more than the usual stack.
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

        /// Closes a connection's descriptor while the set of connections is locked. Otherwise, another thread could
        /// shut down a new connection that has got the closed descriptor's number.
        private func end(_ descriptor: Int32) {
            connections.withLock { connections in
                connections.remove(descriptor)
                close(descriptor)
            }
        }

        func stop() {
            guard !stopping.exchange(true, ordering: .sequentiallyConsistent) else { return }
            listeners.wake()
            // Threads that wait for a client read the end and stop. Then the connections of threads that are stuck in
            // writing are cut.
            for (how, patience) in [(SHUT_RD, 40), (SHUT_RDWR, 40)] {
                connections.withLock { for descriptor in $0 { shutdown(descriptor, Int32(how)) } }
                for _ in 0..<patience where count > 0 { usleep(20_000) }
            }
        }
    }

    private let shared: Shared
    private let main: SMTPPort
    /// The port at which the SMTP server listens: the real number, even if the options say 0.
    package var port: UInt16 { main.port }

    package init(_ options: Options, receiver: any MailReceiver) throws(ListenError) {
        // OpenSSL writes to sockets that the client may have closed.
        signal(SIGPIPE, SIG_IGN)
        let shared = try Shared(options, receiver)
        self.shared = shared
        main = try shared.listeners.open(options.host, port: options.port, label: nil)
        guard WorkThread.start({ shared.accept() }) else {
            shared.listeners.closeAll()
            throw ListenError(description: "no thread can be started for the mail server")
        }
    }

    /// The number of open SMTP connections.
    package var connections: Int { shared.count }

    package var connectionLimit: Int { shared.options.limit }

    /// Opens a further SMTP port. `label` names the test world for which all mails to this port are meant.
    package func listen(on port: UInt16, label: String) throws(ListenError) -> SMTPPort {
        guard !shared.isStopping else { throw ListenError(description: "the mail server has stopped") }
        return try shared.listeners.open(shared.options.host, port: port, label: label)
    }

    /// Stops the SMTP server: accepts no more connections, and ends all conversations within two seconds.
    package func stop() { shared.stop() }

    deinit { shared.stop() }
}
