import Platform
import HTTPServer
import Logging
import EmulatorCore
import Synchronization
import Time

/// An HTTPS server. Its certificate is renewed while the server runs: before the certificate expires, and when the
/// certificate authority has been replaced.
///
/// A running server of libmicrohttpd can't change its certificate. Therefore a new server takes over the listening
/// sockets, while the old server finishes its requests. No connection is refused.
final class SecureServer: Sendable {
    struct Options: Sendable {
        var server: Server.Options
        var authority: LocalAuthority
        var hosts: [String]
        /// The lifetime of the server's certificate. Apple's systems accept at most 825 days from an authority that a
        /// user has added: <https://support.apple.com/103769>.
        var lifetime = TimeSpan.days(395)
        /// The interval between checks whether the server's certificate must be renewed.
        var interval: Duration = .seconds(10)
        var logger: Logger
    }

    private struct State {
        var server: Server
        var certificate: ServerCertificate
        /// The server with the previous certificate, until it has finished its requests.
        var retired: Server?
        var isStopped = false
        /// The last warning about a failed renewal of the server's certificate, kept so that the warning isn't
        /// repeated.
        var complaint: String?
    }

    private let options: Options
    private let handler: Server.Handler
    private let listeners: [Listener]
    private let state: Mutex<State>

    /// Starts an HTTPS server on the host and port of `options.server`.
    init(_ options: Options, handler: @escaping Server.Handler) throws {
        self.options = options
        self.handler = handler
        let certificate = try SecureServer.certificate(options)
        let bound = try Listener.all(on: options.server.host, port: options.server.port)
        do {
            let server = try SecureServer.serve(certificate, on: bound, options, handler)
            listeners = bound
            state = Mutex(State(server: server, certificate: certificate))
        } catch {
            for listener in bound { close(listener.descriptor) }
            throw error
        }
        waitForRenewal()
    }

    deinit { stop() }

    var port: UInt16 { listeners.first?.port ?? 0 }

    /// The server's present certificate; `nil` while it is being renewed or the server stops.
    var certificate: Server.TLS? { state.withLockIfAvailable { $0.certificate.tls } }

    /// The counters of the HTTPS server's connections; `nil` while its certificate is being renewed or the server
    /// stops.
    var counters: ServerCounters? {
        state.withLockIfAvailable { state in
            state.retired.map { state.server.counters + $0.counters } ?? state.server.counters
        }
    }

    /// Serves, over TLS, a connection that was made within this process. Returns `false` if the server stops or its
    /// certificate is being renewed.
    func adopt(_ descriptor: Int32, label: String?) -> Bool {
        guard let server = state.withLockIfAvailable({ $0.server }) else {
            close(descriptor)
            return false
        }
        return server.adopt(descriptor, label: label)
    }

    /// Makes the HTTPS server close each connection after the next answer on it.
    func announceEnd() { state.withLock { $0.server.announceEnd() } }

    func stop() {
        state.withLock { state in
            guard !state.isStopped else { return }
            state.isStopped = true
            WorkThread.doAll([state.retired, state.server].compactMap { $0 }.map { server in { server.stop() } })
            for listener in listeners { close(listener.descriptor) }
        }
    }

    private static func certificate(_ options: Options) throws -> ServerCertificate {
        try options.authority.certificate(
            for: options.hosts, at: options.server.host, lifetime: options.lifetime)
    }

    private static func serve(
        _ certificate: ServerCertificate, on listeners: [Listener], _ options: Options,
        _ handler: @escaping Server.Handler
    ) throws -> Server {
        var serverOptions = options.server
        // A server closes its sockets when it stops. It gets copies, because the originals are still needed.
        for listener in listeners {
            let copy = fcntl(listener.descriptor, F_DUPFD_CLOEXEC, 0)
            guard copy >= 0 else {
                let reason = String(cString: strerror(errno))
                for descriptor in serverOptions.listening { close(descriptor) }
                throw ListenError(description: "a listening socket can't be duplicated: \(reason)")
            }
            serverOptions.listening.append(copy)
        }
        serverOptions.tls = certificate.tls
        return try Server(serverOptions, handler: handler)
    }

    // MARK: - Renewal

    private func waitForRenewal() {
        Timer.after(options.interval) { [weak self] in
            guard let self, renewIfDue() else { return }
            waitForRenewal()
        }
    }

    /// Renews the server's certificate if it is due for renewal. Returns `false` if the server has stopped.
    private func renewIfDue() -> Bool {
        let retired: Server?? = state.withLock { state in
            guard !state.isStopped else { return nil }
            guard isDue(state.certificate) else { return .some(nil) }
            do {
                let certificate = try SecureServer.certificate(options)
                let server = try SecureServer.serve(certificate, on: listeners, options, handler)
                let old = state.server
                state.retired = old
                state.server = server
                state.certificate = certificate
                state.complaint = nil
                options.logger.notice("the certificate for HTTPS has been renewed")
                return old
            } catch {
                let complaint = "the certificate for HTTPS can't be renewed: \(error)"
                if complaint != state.complaint { options.logger.warning("\(complaint)") }
                state.complaint = complaint
                return .some(nil)
            }
        }
        guard let retired else { return false }
        if let retired {
            // The grace is longer than an idle connection is kept open.
            retired.retire(within: .seconds(options.server.idleTimeoutSeconds * 2))
            state.withLock { $0.retired = nil }
        }
        return true
    }

    private func isDue(_ certificate: ServerCertificate) -> Bool {
        if MachineClock.now >= certificate.renewal { return true }
        // If the authority can't be read any more, the certificate is still valid.
        guard let authority = try? options.authority.certificate() else {
            return false
        }
        return authority != certificate.authority
    }
}
