import Platform
import HTTPServer
import JOSE
import EmulatorCore
import Time

/// A local certificate authority for TLS: a certificate and a private key in a folder of the user. No system or browser
/// trusts it until the user says so.
public struct LocalAuthority: Sendable {
    /// The reason why the local certificate authority can't be made or used, with the remedy, in a line.
    public struct Failure: Error, CustomStringConvertible, Sendable {
        /// The reason why the local certificate authority can't be made or used, with the remedy, in a line.
        public let description: String

        /// Makes a failure of the local certificate authority with this description.
        public init(_ description: String) { self.description = description }
    }

    static let certificateName = "understudy-ca.pem"
    static let keyName = "understudy-ca.key"
    private static let day = TimeSpan.days(1)

    /// The path of the local certificate authority's folder; empty if no folder is known, or if the authority exists
    /// only in memory.
    public let directory: String

    /// The certificate authority's certificate and key, if the authority exists only in memory; `nil` if they are in
    /// files.
    private let kept: (certificate: String, key: String)?

    /// Describes the local certificate authority whose files are in `directory`. The default is `understudy` below
    /// `XDG_DATA_HOME`, or else below `.local/share` in `HOME`. If neither variable is set, the authority has no
    /// folder, and can't be made or used.
    public init(directory: String? = nil) {
        self.directory = directory ?? LocalAuthority.usualDirectory ?? ""
        kept = nil
    }

    private init(kept: (certificate: String, key: String)) {
        directory = ""
        self.kept = kept
    }

    /// The default folder of the local certificate authority. Environment variables with relative paths are ignored:
    /// <https://specifications.freedesktop.org/basedir-spec/latest/#variables>
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
            "there is no folder for the certificate authority: set HOME or XDG_DATA_HOME to an absolute path, or give --ca-directory"
        )
    }

    /// The path of the authority's certificate, in PEM, that clients should trust.
    public var certificatePath: String { "\(directory)/\(LocalAuthority.certificateName)" }
    /// The path of the local certificate authority's private key, which only the file's owner can read.
    public var keyPath: String { "\(directory)/\(LocalAuthority.keyName)" }

    /// Whether the local certificate authority has been made.
    public var exists: Bool { kept != nil || (!directory.isEmpty && File.exists(certificatePath)) }

    package static func inMemory(seeds: [SeedInput] = []) throws -> LocalAuthority {
        let authority = try fresh(seeds)
        return LocalAuthority(kept: (certificate: authority.certificate, key: try authority.key.pem()))
    }

    private static func fresh(_ seeds: [SeedInput]) throws -> CertificateAuthority {
        let now = MachineClock.now
        return try CertificateAuthority(
            commonName: "Understudy, for tests only: \(owner)", hosts: PlayedHosts.domains(seeds: seeds),
            from: now - day, to: now + .days(3650))
    }

    /// The certificate authority's certificate, in PEM.
    package func certificate() throws -> String { try kept?.certificate ?? File.text(at: certificatePath) }

    /// Makes a new local certificate authority with a P-256 key, valid for ten years. It can issue certificates only
    /// for this machine, for the providers' hosts that the daemon stands in for, and for hosts that the built-in seed
    /// and `seeds` name, such as an OpenID issuer's.
    ///
    /// - Throws: ``Failure`` if an authority exists and must not be replaced, or if the new one can't be written;
    ///   ``StartError`` if a seed can't be used.
    public func make(replacing: Bool = false, seeds: [SeedInput] = []) throws {
        try requireDirectory()
        guard replacing || !exists else {
            throw Failure(
                "a certificate authority already exists: \(certificatePath). --force replaces it; clients must trust the new one"
            )
        }
        let authority = try LocalAuthority.fresh(seeds)
        do {
            try File.makeDirectory(directory, mode: 0o700)
            try File.write(try authority.key.pem().utf8, to: keyPath, mode: 0o600)
            try File.write(authority.certificate.utf8, to: certificatePath, mode: 0o644)
        } catch {
            throw Failure("the certificate authority can't be written: \(error)")
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

    /// Returns whether the seeds are the reason why the authority can't issue the daemon's certificate: they name a
    /// host that the authority isn't allowed to certify.
    package func lacksHosts(of seeds: [SeedInput]) throws -> Bool {
        func vouches(for seeds: [SeedInput]) throws -> Bool {
            let hosts = PlayedHosts.certified(for: try SeedInput.load(seeds))
            return (try? certificate(for: hosts, at: "127.0.0.1", lifetime: LocalAuthority.day)) != nil
        }
        return try !vouches(for: seeds) && vouches(for: [.json("{}")])
    }

    /// Issues a server's TLS certificate for `hosts`, for `127.0.0.1` and `::1`, and for `address` if it begins with
    /// `127.`.
    func certificate(for hosts: [String], at address: String, lifetime: TimeSpan) throws -> ServerCertificate {
        let (certificate, key) = try material()
        do {
            let authority = CertificateAuthority(key: try Key(pem: Array(key.utf8)), certificate: certificate)
            let now = MachineClock.now
            let own = Set(["127.0.0.1", "::1"] + (address.hasPrefix("127.") ? [address] : [])).sorted()
            let issued = try authority.issue(
                hosts: hosts, addresses: own, from: now - LocalAuthority.day, to: now + lifetime)
            // An authority made by an earlier version may not be allowed to certify hosts that were added since.
            try authority.verify(issued.chain)
            return ServerCertificate(
                tls: Server.TLS(chain: issued.chain, key: issued.key), authority: certificate,
                renewal: now + .milliseconds(lifetime.milliseconds * 2 / 3))
        } catch {
            throw Failure(
                "the certificate authority in \(directory.isEmpty ? "memory" : directory) can't be used: \(error). "
                    + "To make a new one, run \"understudy ca init --force\". If a seed names hosts, "
                    + "add --seed and the seed's path"
            )
        }
    }
}

struct ServerCertificate: Sendable {
    let tls: Server.TLS
    /// The certificate of the authority that issued the server's certificate, in PEM.
    let authority: String
    /// The time at which the server's certificate should be renewed.
    let renewal: Instant
}
