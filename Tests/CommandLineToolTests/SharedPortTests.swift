import Foundation
import HTTPServer
import TestSupport
import Testing

@Suite("understudy exec --intercept, and what lies outside", .serialized)
struct SharedPortTests {
    private let folder: Folder
    private let receiver: Receiver

    init() throws {
        folder = try Folder()
        receiver = try Receiver()
    }

    private var port: String {
        receiver.url.components(separatedBy: ":").last?.components(separatedBy: "/").first ?? ""
    }

    /// Whether the system allows namespaces. This doesn't ask the code under test.
    private static let mayIntercept: Bool =
        (try? Shell.run("unshare", ["--map-root-user", "--mount", "--net", "true"]).status == 0) ?? false
    private static let hasCertutil: Bool = (try? Shell.run("sh", ["-c", "command -v certutil"]).status == 0) ?? false

    private func exec(
        _ options: [String], _ script: String, _ environment: [String: String] = [:], before: [String] = []
    ) throws -> Shell.Result {
        let command = before + [Tool.path, "exec", "--log-file", "/dev/null", "--intercept"] + options
        return try Shell.run(
            command[0], Array(command.dropFirst()) + ["--", "bash", "-c", script],
            environment: ["HOME": folder.path, "TMPDIR": folder.path].merging(environment) { $1 })
    }

    @Test("a shared port leads to this machine's loopback, by both addresses; others don't")
    func shared() throws {
        guard SharedPortTests.mayIntercept else { return }
        let asking = """
            for host in 127.0.0.1 '[::1]' localhost; do curl -s -m 300 -o /dev/null -w '%{http_code} ' "http://$host:\(port)/"; done
            curl -s -o /dev/null -w '%{http_code}' https://appleid.apple.com/auth/keys
            """
        #expect(try exec(["--isolate", "--share-port", port], asking).output == "200 200 200 200")
        #expect(receiver.requests.count == 3)
        #expect(try exec(["--isolate"], asking).output == "000 000 000 200")
        #expect(receiver.requests.count == 3)
        let variable = try exec(["--isolate"], asking, ["UNDERSTUDY_SHARE_PORT": port])
        #expect(variable.output == "200 200 200 200")
    }

    @Test("many connections at once, large answers, and a port where nobody listens")
    func many() throws {
        guard SharedPortTests.mayIntercept else { return }
        let large = String(repeating: "x", count: 3_000_000)
        let server = try Receiver { _ in .now(Response(status: 200, contentType: "text/plain", body: large)) }
        defer { server.stop() }
        let url = server.url
        let port = url.components(separatedBy: ":").last?.components(separatedBy: "/").first ?? ""
        let result = try exec(
            ["--isolate", "--share-port", port, "--share-port", "1"],
            """
            for n in $(seq 40); do curl -s -m 300 "\(url)" | wc -c & done; wait
            python3 -c '
            import socket
            socket.setdefaulttimeout(300)
            try:
                wire = socket.create_connection(("127.0.0.1", 1))
                wire.sendall(b"x")
                print("sent", wire.recv(1))
            except ConnectionRefusedError: print("refused")
            except TimeoutError: print("silent")
            except OSError: print("closed")'
            """)
        let lines = result.output.split(separator: "\n")
        #expect(lines.filter { $0 == "3000000" }.count == 40, "\(result)")
        // The connection was accepted, and closed before, while or after something was sent.
        #expect(["closed", "sent b''"].contains(lines.last), "\(result)")
    }

    @Test(
        "ports to share go with --intercept, and are ports",
        arguments: [["--share-port", "0"], ["--share-port", "x"]])
    func usage(options: [String]) throws {
        #expect(try exec(options, "true").status == 64)
        #expect(try Tool.run("exec", "--share-port", "5432", "--", "true").status == 64)
        #expect(try exec([], "true", ["UNDERSTUDY_SHARE_PORT": "postgres"]).status == 64)
    }

    @Test("whoever may not have the ports is told why, what is missing, and what helps")
    func unprivileged() throws {
        guard SharedPortTests.mayIntercept, getuid() == 0 else { return }
        // The user gets a copy of the program, because the tests' own may be in a directory that others can't read.
        let program = "\(folder.path)/understudy"
        try FileManager.default.copyItem(atPath: Tool.path, toPath: program)
        #expect(chmod(folder.path, 0o777) == 0 && chmod(program, 0o755) == 0)
        // The user nobody can't open the socket of the tests' PostgreSQL.
        let nobody = [
            "--reuid=65534", "--regid=65534", "--clear-groups", "env", "HOME=\(folder.path)", "TMPDIR=\(folder.path)",
            "UNDERSTUDY_STORE=memory",
        ]
        func asNobody(_ options: [String]) throws -> Shell.Result {
            try Shell.run(
                "setpriv",
                nobody + [program, "exec", "--log-file", "/dev/null", "--intercept"] + options + [
                    "--", "curl", "-s", "-m", "300", "-o", "/dev/null", "-w", "%{http_code}",
                    "http://127.0.0.1:\(port)/",
                ])
        }
        let result = try asNobody([])
        #expect(result.status != 0 && result.output == "000", "\(result)")
        for part in [
            "no permission to listen on ports 80 and 443", "net.ipv4.ip_unprivileged_port_start=80",
            "--share-port 5432",
        ] {
            #expect(result.errors.contains(part), "\(result)")
        }
        let shared = try asNobody(["--share-port", port])
        #expect(shared.output == "200" && shared.errors.isEmpty, "\(shared)")
    }

    @Test("the certificate is in a file of its own")
    func certificate() throws {
        guard SharedPortTests.mayIntercept else { return }
        let script = "openssl x509 -noout -subject -in $UNDERSTUDY_CA_FILE && grep -c BEGIN $UNDERSTUDY_CA_FILE"
        let result = try exec([], script)
        #expect(result.output.contains("Understudy") && result.output.hasSuffix("\n1\n"), "\(result)")
    }

    @Test("browsers find the authority in their store, for the command alone", arguments: [false, true])
    func browsers(hasStore: Bool) throws {
        guard SharedPortTests.mayIntercept, SharedPortTests.hasCertutil else { return }
        let store = "\(folder.path)/.pki/nssdb"
        if hasStore {
            let made = try Shell.run("sh", ["-c", "mkdir -p \(store) && certutil -N -d sql:\(store) --empty-password"])
            #expect(made.status == 0)
        }
        let before = hasStore ? try Data(contentsOf: URL(filePath: "\(store)/cert9.db")) : nil
        let list = "certutil -L -d sql:$HOME/.pki/nssdb"
        let result = try exec([], "\(list); touch $HOME/.pki/nssdb/mine")
        #expect(result.output.contains("understudy-exec") && result.output.contains("C,,"), "\(result)")
        if hasStore {
            #expect(try Data(contentsOf: URL(filePath: "\(store)/cert9.db")) == before)
            #expect(!FileManager.default.fileExists(atPath: "\(store)/mine"))
        } else {
            #expect(try FileManager.default.contentsOfDirectory(atPath: store).isEmpty)
        }
    }

    @Test("a command's end doesn't take another one's store away")
    func parallel() throws {
        guard SharedPortTests.mayIntercept, SharedPortTests.hasCertutil else { return }
        let script = """
            exec="$0 exec --intercept --log-file /dev/null"
            $exec -- sleep 2 & until [ -d $HOME/.pki/nssdb ]; do sleep 0.1; done
            $exec -- sh -c 'sleep 4; ls $HOME/.pki/nssdb'; wait
            """
        let result = try Shell.run("sh", ["-c", script, Tool.path], environment: ["HOME": folder.path])
        #expect(result.output.contains("cert9.db"), "\(result)")
    }

    @Test("two commands at the same time stay in the machine's network, if this user may listen on ports 80 and 443")
    func together() throws {
        guard SharedPortTests.mayIntercept, geteuid() == 0 else { return }
        let script = """
            exec="$0 exec --intercept --log-file /dev/null"
            $exec -- sh -c 'readlink /proc/self/ns/net > first; until [ -s second ]; do sleep 0.1; done' &
            until [ -s first ]; do sleep 0.1; done
            $exec -- sh -c 'curl -s -o /dev/null -w "%{http_code}" https://appleid.apple.com/auth/keys > status
                readlink /proc/self/ns/net > second'
            wait; readlink /proc/self/ns/net | cat - first second | sort -u | wc -l; cat status
            """
        let result = try Shell.run("sh", ["-c", "cd \(folder.path) && \(script)", Tool.path])
        #expect(result.output.split(whereSeparator: \.isWhitespace) == ["1", "200"], "\(result)")
    }

    @Test("a home that can't be written keeps nothing but browsers from trusting the authority")
    func noHome() throws {
        guard SharedPortTests.mayIntercept, SharedPortTests.hasCertutil else { return }
        let script = "curl -s -o /dev/null -w '%{http_code}' https://appleid.apple.com/auth/keys; exit 3"
        let result = try Shell.run(
            Tool.path, ["exec", "--intercept", "--log-file", "/dev/null", "--", "sh", "-c", script],
            environment: ["HOME": "/proc/nowhere"])
        #expect(result.status == 3 && result.output == "200", "\(result)")
        #expect(result.errors.contains("Chromium and Chrome don't trust the certificate authority"), "\(result)")
    }

    @Test("without certutil, a command that fails is told what browsers lack")
    func noCertutil() throws {
        guard SharedPortTests.mayIntercept else { return }
        let tools = "\(folder.path)/tools"
        try FileManager.default.createDirectory(atPath: tools, withIntermediateDirectories: true)
        for tool in ["bash", "env"] {
            let place = try Shell.run("sh", ["-c", "command -v \(tool)"]).output.dropLast()
            try FileManager.default.createSymbolicLink(atPath: "\(tools)/\(tool)", withDestinationPath: String(place))
        }
        let result = try exec([], "exit 1", ["PATH": tools])
        #expect(result.errors.contains("certutil isn't installed (Debian and Ubuntu: libnss3-tools"), "\(result)")
        #expect(try exec([], "exit 0", ["PATH": tools]).errors.isEmpty)
    }
}
