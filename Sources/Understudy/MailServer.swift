import EmulatorCore
import HTTPServer
import Mail
import SMTPServer
import Synchronization

extension SMTPPort: WorldPort {}

/// The mail service of the daemon: the inboxes of test worlds, with or without an SMTP server.
final class MailServer: Sendable {
    let service: MailService
    private let server: SMTPServer?
    let worldPorts: [(world: String, port: Int)]

    /// Starts the mail service. `secure` has the certificate for STARTTLS.
    init(
        _ options: RunningServer.Options, _ service: MailService, secure: SecureServer?, ports: WorldPorts
    ) throws {
        self.service = service
        server = try options.smtpPort.map { port in
            try MailServer.serve(options, port: port, service, secure: secure, ports: ports)
        }
        worldPorts = try options.worldMailPorts.map { wanted in
            (world: wanted.world, port: Int(try ports.open(wanted.port, forEver: wanted.world)))
        }
    }

    private static func serve(
        _ options: RunningServer.Options, port: UInt16, _ service: MailService, secure: SecureServer?,
        ports: WorldPorts
    ) throws -> SMTPServer {
        var mailOptions = SMTPServer.Options()
        mailOptions.host = options.host
        mailOptions.port = port
        if let secure {
            let certificates = MailCertificates(secure)
            mailOptions.certificate = { certificates.current }
        }
        let server: SMTPServer
        do throws(ListenError) { server = try SMTPServer(mailOptions, receiver: service) } catch {
            throw ListenError(description: error.description.replacing("--port", with: "--smtp-port"))
        }
        ports.begin(main: server.port) { [weak server] port, world throws(ListenError) in
            guard let server else { throw ListenError(description: "the mail server has stopped") }
            return try server.listen(on: port, label: world)
        }
        return server
    }

    /// The port of the daemon's SMTP server; `nil` without an SMTP server.
    var port: UInt16? { server?.port }

    /// The number of open SMTP connections and their limit; `nil` without an SMTP server.
    var connections: (open: Int, limit: Int)? { server.map { (open: $0.connections, limit: $0.connectionLimit) } }

    func stop() { server?.stop() }
}

/// The daemon's HTTPS certificate in the form that SMTP needs. When the certificate is renewed, the new one is used.
private final class MailCertificates: Sendable {
    private weak let secure: SecureServer?
    private let known = Mutex<(chain: String, certificate: SMTPCertificate)?>(nil)

    init(_ secure: SecureServer) { self.secure = secure }

    var current: SMTPCertificate? {
        let tls = secure?.certificate
        return known.withLock { known in
            guard let tls, tls.chain != known?.chain,
                let made = SMTPCertificate(chain: tls.chain, key: tls.key)
            else { return known?.certificate }
            known = (tls.chain, made)
            return made
        }
    }
}
