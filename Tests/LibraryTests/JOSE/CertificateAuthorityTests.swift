import Foundation
import JOSE
import TestSupport
import Testing
import Time

@Suite("A certificate authority, as openssl sees it")
struct CertificateAuthorityTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "ca-\(UUID().uuidString)")
    private let now = MachineClock.now

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    private func write(_ text: String, _ name: String) throws -> String {
        let path = folder.appending(path: name).path()
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    @Test("it vouches for the names it may, and for no others")
    func constraints() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let authority = try CertificateAuthority(
            commonName: "Test CA", hosts: ["appleid.apple.com", "localhost"], from: now - .minutes(1),
            to: now + .days(3650))
        let root = try write(authority.certificate, "ca.pem")
        let text = try Shell.run("openssl", ["x509", "-in", root, "-noout", "-text"]).output
        for line in [
            "CA:TRUE, pathlen:0", "Certificate Sign, CRL Sign", "X509v3 Name Constraints: critical",
            "DNS:appleid.apple.com", "DNS:localhost", "IP:127.0.0.0/255.0.0.0", "ASN1 OID: prime256v1",
        ] {
            #expect(text.contains(line), "\(line)")
        }
        #expect(!text.contains("IP:<invalid>"))
        for (hosts, addresses, isGood) in [
            (["appleid.apple.com", "a.localhost", "localhost"], ["127.0.0.1", "::1"], true),
            (["example.com"], [], false), (["apple.com"], [], false), ([], ["10.0.0.1"], false),
        ] {
            let issued = try authority.issue(
                hosts: hosts, addresses: addresses, from: now - .minutes(1), to: now + .days(1))
            let leaf = try write(issued.chain, "leaf.pem")
            let verdict = try Shell.run(
                "openssl", ["verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", root, leaf])
            #expect((verdict.status == 0) == isGood, "\(hosts) \(addresses): \(verdict)")
            #expect(((try? authority.verify(issued.chain)) != nil) == isGood)
            if isGood {
                let key = try write(issued.key, "leaf.key")
                let modulus = try Shell.run("openssl", ["pkey", "-in", key, "-pubout"]).output
                #expect(try Shell.run("openssl", ["x509", "-in", leaf, "-noout", "-pubkey"]).output == modulus)
            }
        }
    }
}
