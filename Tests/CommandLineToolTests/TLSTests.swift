import Foundation
import TestSupport
import Testing
import Understudy

@Suite("HTTPS")
struct TLSTests {
    @Test("beside HTTP, with the same answers; URLs in them say https")
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
        // Firebase signs where the real host is named.
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
        for host in try Understudy.hosts() + [
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
}
