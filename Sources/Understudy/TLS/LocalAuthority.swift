import Glibc
import HTTPServer
import JOSE
import EmulatorCore
import Time

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

    /// The folder that holds it. Empty when none is known, and when it is in memory.
    public let directory: String

    /// One that is kept in memory, and gone with the process.
    private let kept: (certificate: String, key: String)?

    /// `directory`, or `understudy` in the folder for a person's own data: `XDG_DATA_HOME`, or else `.local/share` in `HOME`.
    /// Without either, none is known, and there is no authority.
    public init(directory: String? = nil) {
        self.directory = directory ?? LocalAuthority.usualDirectory ?? ""
        kept = nil
    }

    private init(kept: (certificate: String, key: String)) {
        directory = ""
        self.kept = kept
    }

    /// Relative paths don't count: <https://specifications.freedesktop.org/basedir-spec/latest/#variables>
    private static var usualDirectory: String? {
        func folder(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        return folder("XDG_DATA_HOME").map { "\($0)/understudy" }
            ?? folder("HOME").map { "\($0)/.local/share/understudy" }
    }

    private func requireDirectory() throws {
        guard directory.isEmpty else { return }
        throw Failure(
            "there is no folder for the authority: set HOME or XDG_DATA_HOME to an absolute path, or give --ca-directory"
        )
    }

    /// The certificate that clients are to trust, in PEM.
    public var certificatePath: String { "\(directory)/\(LocalAuthority.certificateName)" }
    /// Its key, which only its owner can read.
    public var keyPath: String { "\(directory)/\(LocalAuthority.keyName)" }

    /// Whether there is one.
    public var exists: Bool { kept != nil || (!directory.isEmpty && File.exists(certificatePath)) }

    /// A new one that is never written anywhere.
    package static func inMemory() throws -> LocalAuthority {
        let authority = try fresh()
        return LocalAuthority(kept: (certificate: authority.certificate, key: try authority.key.pem()))
    }

    private static func fresh() throws -> CertificateAuthority {
        let now = MachineClock.now
        return try CertificateAuthority(
            commonName: "Understudy, for tests only: \(owner)", hosts: PlayedHosts.domains(),
            from: now - day, to: now + .days(3650))
    }

    /// The certificate, in PEM.
    package func certificate() throws -> String { try kept?.certificate ?? File.text(at: certificatePath) }

    /// Makes a new one: P-256, ten years, for the hosts that the daemon plays and for this machine alone.
    ///
    /// - Throws: ``Failure`` when there is one already and it isn't to be replaced, or when it can't be written.
    public func make(replacing: Bool = false) throws {
        try requireDirectory()
        guard replacing || !exists else {
            throw Failure(
                "there is one already: \(certificatePath). With --force it is replaced, and must be trusted anew")
        }
        do {
            let authority = try LocalAuthority.fresh()
            try File.makeDirectory(directory, mode: 0o700)
            try File.write(try authority.key.pem().utf8, to: keyPath, mode: 0o600)
            try File.write(authority.certificate.utf8, to: certificatePath, mode: 0o644)
        } catch {
            throw Failure("the authority can't be written: \(error)")
        }
    }

    private static var owner: String {
        (getenv("USER") ?? getenv("LOGNAME")).map { String(cString: $0) } ?? "local"
    }

    private func material() throws -> (certificate: String, key: String) {
        if let kept { return kept }
        try requireDirectory()
        do {
            return (certificate: try File.text(at: certificatePath), key: try File.text(at: keyPath))
        } catch  where error.isMissing {
            throw Failure(
                "TLS needs a certificate authority, and there is none in \(directory): run \"understudy ca init\"")
        } catch {
            throw Failure("TLS needs a certificate authority, but \(error)")
        }
    }

    /// A server's certificate for `hosts` and this machine's addresses, `address` among them if it is loopback.
    func certificate(for hosts: [String], at address: String, lifetime: TimeSpan) throws -> ServerCertificate {
        let (certificate, key) = try material()
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
                "the authority in \(directory.isEmpty ? "memory" : directory) can't be used: \(error). \"understudy ca init --force\" makes another"
            )
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
