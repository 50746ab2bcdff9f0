import Foundation
import TestSupport
import Testing
import Understudy

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
        // The certificate is valid for nearly ten years.
        #expect(
            try Shell.run("openssl", ["x509", "-in", folder.certificate, "-checkend", "315000000"]).status == 0)
    }

    @Test("a seed's hosts are vouched for by an authority that is made with it, and by no other")
    func seededHosts() throws {
        let folder = try Folder()
        let seed = "\(folder.path)-seed.json"
        defer { try? FileManager.default.removeItem(atPath: seed) }
        try #"{"firebase":{"projects":[{"id":"elsewhere"}]}}"#.write(toFile: seed, atomically: true, encoding: .utf8)
        let options = ["--ca-directory", folder.path, "--seed", seed]
        #expect(try Shell.run(Tool.path, ["ca", "init"] + options).status == 0)
        let text = try Shell.run("openssl", ["x509", "-in", folder.certificate, "-noout", "-text"]).output
        // A project's host is below a domain that is always included.
        #expect(!text.contains("DNS:elsewhere"))
        #expect(text.contains("DNS:firebaseapp.com"))
        try "{".write(toFile: seed, atomically: true, encoding: .utf8)
        let broken = try Shell.run(Tool.path, ["ca", "init", "--force"] + options)
        #expect(broken.status == 1)
        #expect(broken.errors.contains("not JSON"))
        #expect(try Shell.run("openssl", ["x509", "-in", folder.certificate, "-noout", "-text"]).output == text)
    }

    @Test("hosts prints a line for every host, the seeded projects' included")
    func hosts() throws {
        let lines = try Tool.run("hosts", "--address", "127.0.0.2").output.split(separator: "\n")
        for host in [
            "appleid.apple.com", "github.com", "api.github.com", "accounts.google.com", "oauth2.googleapis.com",
            "openidconnect.googleapis.com", "www.googleapis.com", "www.facebook.com", "graph.facebook.com",
            "identitytoolkit.googleapis.com", "securetoken.googleapis.com", "demo-app.firebaseapp.com",
            "apis.google.com",
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
            "git -c http.followRedirects=true ls-remote $GIT 2>&1 | grep -q 'not found' && echo '\"keys\"'"
        ),
        (
            "OpenSSL", "openssl",
            "openssl s_client -verify_return_error -connect localhost:$PORT < /dev/null > /dev/null 2>&1 && echo '\"keys\"'"
        ),
        ("OpenSSL", "ruby", "ruby -ropen-uri -e 'puts URI.open(ARGV[0]).read' $URL"),
        ("OpenSSL", "php", "php -r 'echo file_get_contents($argv[1]);' $URL"),
        (
            "OpenSSL", "go",
            """
            cat > get.go <<'G'
            package main
            import ("fmt"; "io"; "net/http"; "os")
            func main() {
              answer, err := http.Get(os.Args[1])
              if err != nil { panic(err) }
              body, _ := io.ReadAll(answer.Body)
              fmt.Println(string(body))
            }
            G
            GOCACHE=$PWD/cache GOPATH=$PWD GO111MODULE=off CGO_ENABLED=0 go run get.go $URL
            """
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
        arguments: clients.map(\.needs))
    func hints(program: String) throws {
        let client = try #require(AuthorityTests.clients.first { $0.needs == program })
        guard try Shell.run("sh", ["-c", "command -v \(client.needs)"]).status == 0 else { return }
        let folder = try Folder()
        let server = try folder.start()
        defer { server.stop() }
        let hints = try Shell.run(Tool.path, ["ca", "install-hint", "--ca-directory", folder.path]).output
        let section = try #require(hints.components(separatedBy: "# ").first { $0.hasPrefix(client.place) })
        let commands = section.split(separator: "\n").dropFirst().joined(separator: "\n")
        // The shell starts without the machine's own settings of these variables.
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
