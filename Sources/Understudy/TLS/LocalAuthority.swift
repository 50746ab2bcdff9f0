import FoundationEssentials
import Time
import Glibc
import HTTPServer
import JOSE
import Stage

/// The local certificate authority: a certificate and a key in a folder of the person's own. Nothing installs it anywhere.
public struct LocalAuthority: Sendable {
    /// Why it can't be made or used, in one line that says what to do.
    public struct Failure: Error, CustomStringConvertible, Sendable {
        /// The line.
        public let description: String

        /// With that line.
        public init(_ description: String) { self.description = description }
    }

    static let certificateName = "understudy-ca.pem"
    static let keyName = "understudy-ca.key"
    private static let day = TimeSpan.days(1)

    /// The folder that holds it.
    public let directory: String

    /// `directory`, or `understudy` in the folder for a person's own data (`XDG_DATA_HOME`).
    public init(directory: String? = nil) { self.directory = directory ?? LocalAuthority.usualDirectory }

    private static var usualDirectory: String {
        let environment = ProcessInfo.processInfo.environment
        if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") { return "\(data)/understudy" }
        return "\(environment["HOME"] ?? "")/.local/share/understudy"
    }

    /// The certificate that clients are to trust, in PEM.
    public var certificatePath: String { "\(directory)/\(LocalAuthority.certificateName)" }
    /// Its key, which only its owner can read.
    public var keyPath: String { "\(directory)/\(LocalAuthority.keyName)" }

    /// Whether there is one.
    public var exists: Bool { FileManager.default.fileExists(atPath: certificatePath) }

    /// Makes a new one: P-256, ten years, for the hosts that the daemon plays and for this machine alone.
    ///
    /// - Throws: ``Failure`` when there is one already and it isn't to be replaced, or when it can't be written.
    public func make(replacing: Bool = false) throws {
        guard replacing || !exists else {
            throw Failure(
                "there is one already: \(certificatePath). With --force it is replaced, and must be trusted anew")
        }
        do {
            let now = MachineClock.now
            let authority = try CertificateAuthority(
                commonName: "Understudy, for tests only: \(LocalAuthority.owner)", hosts: Understudy.certifiedDomains(),
                from: now - LocalAuthority.day, to: now + .days(3650))
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try LocalAuthority.write(try authority.key.pem(), to: keyPath, mode: 0o600)
            try LocalAuthority.write(authority.certificate, to: certificatePath, mode: 0o644)
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure("the authority can't be written to \(directory): \(error)")
        }
    }

    private static var owner: String {
        let environment = ProcessInfo.processInfo.environment
        return environment["USER"] ?? environment["LOGNAME"] ?? "local"
    }

    /// Written beside its place and moved there: it is never there in part, or with another mode.
    private static func write(_ text: String, to path: String, mode: mode_t) throws {
        func failure() -> Failure { Failure("\(path) can't be written: \(String(cString: strerror(errno)))") }
        let draft = "\(path).new"
        unlink(draft)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw failure() }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        // The umask may have taken something from the certificate's mode.
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count, fchmod(descriptor, mode) == 0,
            rename(draft, path) == 0
        else {
            defer { unlink(draft) }
            throw failure()
        }
    }

    /// A server's certificate for `hosts` and this machine's addresses, `address` among them if it is loopback.
    func certificate(for hosts: [String], at address: String, lifetime: TimeSpan) throws -> ServerCertificate {
        guard let certificate = try? String(contentsOfFile: certificatePath, encoding: .utf8),
            let key = try? String(contentsOfFile: keyPath, encoding: .utf8)
        else {
            throw Failure(
                "TLS needs a certificate authority, and there is none in \(directory): run \"understudy ca init\"")
        }
        do {
            let authority = CertificateAuthority(key: try Key(pem: Array(key.utf8)), certificate: certificate)
            let now = MachineClock.now
            let own = Set(["127.0.0.1", "::1"] + (address.hasPrefix("127.") ? [address] : [])).sorted()
            let issued = try authority.issue(
                hosts: hosts, addresses: own, from: now - LocalAuthority.day, to: now + lifetime)
            // An authority of before may not vouch for a host that is new.
            try authority.verify(issued.chain)
            return ServerCertificate(
                tls: Server.TLS(chain: issued.chain, key: issued.key), authority: certificate,
                renewal: now + .milliseconds(lifetime.milliseconds * 2 / 3))
        } catch {
            throw Failure(
                "the authority in \(directory) can't be used: \(error). \"understudy ca init --force\" makes another")
        }
    }
}

/// What a server shows, and until when it should.
struct ServerCertificate: Sendable {
    let tls: Server.TLS
    /// Who vouches for it, in PEM.
    let authority: String
    /// When another should take its place,
    let renewal: Instant
}
