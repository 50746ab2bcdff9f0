import Foundation
import TestSupport
import Testing
import Understudy

/// A certificate authority in a folder of its own.
private final class Folder {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "ca-\(UUID().uuidString)").path()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var certificate: String { "\(path)/understudy-ca.pem" }

    /// A daemon with TLS beside HTTP.
    func start(_ change: (inout Understudy.Options) -> Void = { _ in }) throws -> RunningServer {
        let authority = LocalAuthority(directory: path)
        if !authority.exists { try authority.make() }
        var options = Understudy.Options()
        options.authority = authority
        options.tlsPort = 0
        change(&options)
        return try Understudy.start(options: options)
    }

    /// curl, which trusts this authority and nobody else.
    func curl(_ arguments: String...) throws -> Shell.Result {
        try Shell.run("curl", ["--silent", "--show-error", "--cacert", certificate] + arguments)
    }
}

@Suite("understudy ca")
struct AuthorityTests {
    @Test("init makes an authority whose key is its owner's alone, and replaces none unasked")
    func make() throws {
        let folder = try Folder()
        let options = ["--ca-directory", folder.path]
        let missing = try Shell.run(Tool.path, ["ca", "path"] + options)
        #expect(missing.status == 1)
        #expect(missing.errors.contains("run \"understudy ca init\""))
        let made = try Shell.run(Tool.path, ["ca", "init"] + options)
        #expect(made.status == 0)
        #expect(made.output == "\(folder.certificate)\n")
        let mode = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/understudy-ca.key")[
            .posixPermissions]
        #expect(mode as? Int == 0o600)
        let first = try String(contentsOfFile: folder.certificate, encoding: .utf8)
        let again = try Shell.run(Tool.path, ["ca", "init"] + options)
        #expect(again.status == 1)
        #expect(again.errors.contains("--force"))
        #expect(try String(contentsOfFile: folder.certificate, encoding: .utf8) == first)
        #expect(try Shell.run(Tool.path, ["ca", "init", "--force"] + options).status == 0)
        #expect(try String(contentsOfFile: folder.certificate, encoding: .utf8) != first)
        #expect(try Shell.run(Tool.path, ["ca", "path"] + options).output == "\(folder.certificate)\n")
        let text = try Shell.run("openssl", ["x509", "-in", folder.certificate, "-noout", "-text"]).output
        for part in ["DNS:appleid.apple.com", "DNS:api.github.com", "DNS:firebaseapp.com", "DNS:localhost"] {
            #expect(text.contains(part))
        }
        // Ten years.
        #expect(
            try Shell.run("openssl", ["x509", "-in", folder.certificate, "-checkend", "315000000"]).status == 0)
    }

    @Test("hosts prints a line for every host, the seeded projects' included")
    func hosts() throws {
        let lines = try Tool.run("hosts", "--address", "127.0.0.2").output.split(separator: "\n")
        for host in [
            "appleid.apple.com", "github.com", "api.github.com", "accounts.google.com", "oauth2.googleapis.com",
            "openidconnect.googleapis.com", "www.googleapis.com", "www.facebook.com", "graph.facebook.com",
            "identitytoolkit.googleapis.com", "securetoken.googleapis.com", "demo-app.firebaseapp.com",
        ] {
            #expect(lines.contains("127.0.0.2 \(host)"))
        }
        #expect(lines.allSatisfy { !$0.contains("*") })
    }

    private static let clients: [(place: String, needs: String, command: String)] = [
        ("curl", "curl", "curl -sf $URL"),
        (
            "Python", "python3",
            "python3 -c 'import sys,urllib.request as u;print(u.urlopen(sys.argv[1]).read().decode())' $URL"
        ),
        (
            "Node.js", "node",
            "node -e 'fetch(process.argv[1]).then(a=>a.text()).then(console.log,e=>{console.error(e);process.exit(1)})' $URL"
        ),
        (
            "git", "git",
            "git -c http.followRedirects=true ls-remote $GIT 2>&1 | grep -q 'not found\\|404' && echo '\"keys\"'"
        ),
        (
            "OpenSSL", "openssl",
            "openssl s_client -verify_return_error -connect localhost:$PORT < /dev/null > /dev/null 2>&1 && echo '\"keys\"'"
        ),
        (
            "Java", "java",
            """
            cat > Get.java <<'J'
            public class Get { public static void main(String[] a) throws Exception {
              System.out.println(new String(new java.net.URL(a[0]).openStream().readAllBytes())); } }
            J
            java Get.java $URL
            """
        ),
    ]

    @Test(
        "what install-hint says makes a client trust the daemon, and without it the client doesn't",
        arguments: clients.map(\.place))
    func hints(place: String) throws {
        let client = try #require(AuthorityTests.clients.first { $0.place == place })
        guard try Shell.run("sh", ["-c", "command -v \(client.needs)"]).status == 0 else { return }
        let folder = try Folder()
        let server = try folder.start()
        defer { server.stop() }
        let hints = try Shell.run(Tool.path, ["ca", "install-hint", "--ca-directory", folder.path]).output
        let section = try #require(hints.components(separatedBy: "# ").first { $0.hasPrefix(client.place) })
        let commands = section.split(separator: "\n").dropFirst().joined(separator: "\n")
        // Nothing that this machine has set already.
        let clean =
            "cd \(folder.path); unset CURL_CA_BUNDLE SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS "
            + "GIT_SSL_CAINFO JAVA_TOOL_OPTIONS\n"
        let port = server.tlsPort ?? 0
        let variables =
            "PORT=\(port) URL=https://localhost:\(port)/appleid.apple.com/auth/keys GIT=https://localhost:\(port)/nowhere\n"
        let trusted = try Shell.run("bash", ["-c", clean + commands + "\n" + variables + client.command])
        #expect(trusted.output.contains("\"keys\""), "\(trusted)")
        let untrusted = try Shell.run("bash", ["-c", clean + variables + client.command])
        #expect(!untrusted.output.contains("\"keys\""), "\(untrusted)")
    }
}

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
