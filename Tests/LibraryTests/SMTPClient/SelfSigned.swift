import JOSE
import SMTPServer
import Time

/// A certificate without an authority.
enum SelfSigned {
    static func make() throws -> SMTPCertificate? {
        let key = try Key.generateP256()
        let chain = try Certificate.selfSigned(
            key, commonName: "mail.test", serial: [1], from: Instant.first, to: MachineClock.now + .seconds(86_400))
        return SMTPCertificate(chain: chain, key: try key.pem())
    }
}
