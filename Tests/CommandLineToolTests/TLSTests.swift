import Foundation
import JOSE
import TestSupport
import Testing
import Time
import Understudy

@Suite("HTTPS")
struct TLSTests {
    @Test(
        "beside HTTP, with the same answers; URLs in them say https",
        .oneProcess("a balancer listens at 127.0.0.1 alone"))
    func both() throws {
        let folder = try Folder()
        let server = try folder.start()
        let port = try #require(server.tlsPort)
        #expect(try TestClient(port: server.port).get("/appleid.apple.com/auth/keys").status == 200)
        let resolve = "appleid.apple.com:\(port):127.0.0.1"
        let real = try folder.curl(
            "--resolve", resolve, "https://appleid.apple.com:\(port)/.well-known/openid-configuration")
        #expect(real.output.contains("\"token_endpoint\":\"https://appleid.apple.com:\(port)/auth/token\""), "\(real)")
        let prefix = try folder.curl("https://localhost:\(port)/appleid.apple.com/.well-known/openid-configuration")
        #expect(prefix.output.contains("\"https://localhost:\(port)/appleid.apple.com/auth/token\""))
        for name in ["https://127.0.0.1:\(port)", "https://api.github.com.localhost:\(port)", "https://[::1]:\(port)"] {
            let answer = try folder.curl("-o", "/dev/null", "-w", "%{http_code}", "\(name)/_understudy/v1/health")
            #expect(["200", "404"].contains(answer.output), "\(name): \(answer)")
        }
        // Under its real host name, Firebase signs its tokens.
        let sign = try folder.curl(
            "--resolve", "identitytoolkit.googleapis.com:\(port):127.0.0.1", "-H", "Content-Type: application/json",
            "-d", #"{"returnSecureToken":true}"#,
            "https://identitytoolkit.googleapis.com:\(port)/v1/accounts:signUp?key=demo-api-key")
        let token = (try JSONSerialization.jsonObject(with: Data(sign.output.utf8)) as? [String: Any])?["idToken"]
        #expect((token as? String)?.split(separator: ".").count == 3)
        server.stop()
        #expect(try folder.curl("https://localhost:\(port)/").status != 0)
    }

    @Test("TLS 1.2 and 1.3 only", arguments: [("1.0", false), ("1.1", false), ("1.2", true), ("1.3", true)])
    func versions(version: String, isServed: Bool) throws {
        let folder = try Folder()
        let server = try folder.start()
        defer { server.stop() }
        let result = try folder.curl(
            "--tlsv1.0", "--ciphers", "DEFAULT@SECLEVEL=0", "--tls-max", version, "-o", "/dev/null", "-w",
            "%{http_code}",
            "https://localhost:\(server.tlsPort ?? 0)/_understudy/v1/health")
        #expect((result.status == 0) == isServed, "\(result)")
    }

    @Test("the certificate has every host, and openssl verifies it for each")
    func certificate() throws {
        let folder = try Folder()
        let server = try folder.start()
        defer { server.stop() }
        for host in try PlayedHosts.names() + [
            "any-project.firebaseapp.com", "appleid.apple.com.localhost", "localhost",
        ] {
            let result = try Shell.run(
                "openssl",
                [
                    "s_client", "-connect", "localhost:\(server.tlsPort ?? 0)", "-servername", host, "-verify_hostname",
                    host, "-verify_return_error", "-CAfile", folder.certificate,
                ])
            #expect(result.output.contains("Verify return code: 0 (ok)"), "\(host)")
        }
        let other = try Shell.run(
            "openssl",
            [
                "s_client", "-connect", "localhost:\(server.tlsPort ?? 0)", "-verify_hostname", "example.com",
                "-verify_return_error", "-CAfile", folder.certificate,
            ])
        #expect(!other.output.contains("Verify return code: 0 (ok)"))
    }

    @Test("HTTPS alone; and without an authority, a line that says what to do")
    func alone() throws {
        let folder = try Folder()
        let server = try folder.start { $0.isTLSOnly = true }
        #expect(server.url.hasPrefix("https://"))
        #expect(try folder.curl("-f", "https://localhost:\(server.port)/_understudy/v1/health").status == 0)
        server.stop()
        let empty = try Folder()
        let refused = try Shell.run(
            Tool.path, ["serve", "--port", "0", "--tls-port", "0", "--ca-directory", empty.path])
        #expect(refused.status == 1)
        #expect(refused.errors.contains("run \"understudy ca init\""))
    }

    @Test("faults hold over TLS, too: delays, cut bodies, streams")
    func faults() throws {
        let folder = try Folder()
        let server = try folder.start()
        defer { server.stop() }
        let base = "https://localhost:\(server.tlsPort ?? 0)"
        for effect in [#"{"disconnect":true}"#, #"{"disconnect":"midBody"}"#, #"{"delay":"100ms"}"#] {
            let order = #"{"match":{"path":"/auth/keys"},"effect":\#(effect)}"#
            #expect(try folder.curl("-f", "-d", order, "\(base)/_understudy/v1/faults").status == 0)
        }
        let results = try (0..<3).map { _ in try folder.curl("\(base)/appleid.apple.com/auth/keys").status }
        #expect(results[0] != 0)
        #expect(results[1] != 0)
        #expect(results[2] == 0)
        let stream = try folder.curl(
            "-N", "--max-time", "1", "-H", "Accept: text/event-stream", "\(base)/_understudy/v1/requests")
        #expect(stream.output.contains("event: exchange"))
    }
    private func serial(_ server: TestServer) throws -> String {
        try Shell.run(
            "sh",
            [
                "-c",
                "openssl s_client -connect localhost:\(server.tlsPort ?? 0) < /dev/null 2> /dev/null | openssl x509 -noout -serial",
            ]
        ).output
    }

    @Test("a certificate is renewed before it ends, and nobody is turned away meanwhile")
    func renewal() async throws {
        let folder = try Folder()
        let server = try folder.start {
            $0.certificateLifetime = .seconds(16)
            $0.certificateInterval = .milliseconds(100)
        }
        defer { server.stop() }
        let first = try serial(server)
        let port = server.tlsPort ?? 0
        let certificate = folder.certificate
        async let failures = Task.detached {
            try (0..<300).filter { _ in
                try Shell.run(
                    "curl",
                    [
                        "-s", "-f", "-o", "/dev/null", "--cacert", certificate,
                        "https://localhost:\(port)/_understudy/v1/health",
                    ]
                ).status != 0
            }.count
        }.value
        #expect(try eventually { try serial(server) != first })
        let second = try serial(server)
        #expect(try eventually { try serial(server) != second })
        #expect(try await failures == 0)
        #expect(server.tlsPort == port)
    }

    @Test("an authority that is replaced is taken up; while it can't be used, all stays as it was")
    func replacedAuthority() throws {
        let folder = try Folder()
        let server = try folder.start { $0.certificateInterval = .milliseconds(50) }
        defer { server.stop() }
        let first = try serial(server)
        let old = "\(folder.path)/old.pem"
        try FileManager.default.copyItem(atPath: folder.certificate, toPath: old)
        func isTrusted(_ authority: String) throws -> Bool {
            try Shell.run(
                "curl",
                ["-s", "-f", "--cacert", authority, "https://localhost:\(server.tlsPort ?? 0)/_understudy/v1/health"]
            ).status == 0
        }
        try "none".write(toFile: folder.certificate, atomically: true, encoding: .utf8)
        usleep(300_000)
        #expect(try isTrusted(old))
        try FileManager.default.removeItem(atPath: folder.certificate)
        usleep(300_000)
        #expect(try serial(server) == first)
        try LocalAuthority(directory: folder.path).make(replacing: true)
        #expect(try eventually { try isTrusted(folder.certificate) })
        #expect(try !isTrusted(old))
    }

    @Test("an authority that can't vouch for the hosts, or whose key is another's, is refused at the start")
    func unfit() throws {
        let folder = try Folder()
        let now = MachineClock.now
        func start(_ certificate: String, _ key: Key) throws -> String {
            try certificate.write(toFile: folder.certificate, atomically: true, encoding: .utf8)
            try key.pem().write(toFile: "\(folder.path)/understudy-ca.key", atomically: true, encoding: .utf8)
            let error = #expect(throws: StartError.self) { try folder.start() }
            return error?.description ?? ""
        }
        let narrow = try CertificateAuthority(
            commonName: "A", hosts: ["localhost"], from: now - .minutes(1), to: now + .days(1))
        #expect(try start(narrow.certificate, narrow.key).contains("permitted subtree violation"))
        let hosts = try PlayedHosts.names() + ["firebaseapp.com", "localhost"]
        let over = try CertificateAuthority(
            commonName: "B", hosts: hosts, from: now - .minutes(10), to: now - .minutes(1))
        let message = try start(over.certificate, over.key)
        #expect(message.contains("expired"))
        #expect(message.contains("understudy ca init --force"))
        #expect(try start(over.certificate, narrow.key).contains("can't be used"))
    }
}
