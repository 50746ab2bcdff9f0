import EmulatorCore

/// A file for one command with the certificates that the machine trusts, and the local authority's.
struct TrustBundle {
    /// The systems' certificate files: Debian and Alpine, Fedora, OpenSUSE.
    static let systemPaths = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
    ]

    let path: String

    /// Writes the file into `directory`. `authority` is the authority's certificate, in PEM.
    init(authority: String, in directory: String) throws {
        let known = (Environment.variable("SSL_CERT_FILE").map { [$0] } ?? []) + TrustBundle.systemPaths
        // Bundles are read as bytes, because they have comments in any encoding.
        let system = known.lazy.compactMap { try? File.read($0) }.first ?? []
        path = "\(directory)/trusted.pem"
        try File.write(system + [0x0A] + authority.utf8, to: path, mode: 0o644)
    }

    /// The variables by which libraries find the file.
    var variables: [(name: String, value: String)] {
        [
            "SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO",
        ].map { (name: $0, value: path) }
    }
}
