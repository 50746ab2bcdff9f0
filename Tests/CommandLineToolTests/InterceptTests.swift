import Foundation
import TestSupport
import Testing

@Suite("understudy exec, under the real names", .serialized)
struct InterceptTests {
    /// An environment without the machine's own settings of trust and proxies, and with a folder for remaining files.
    private static let clean: [String: String] = [
        "CURL_CA_BUNDLE": "", "SSL_CERT_FILE": "", "SSL_CERT_DIR": "", "REQUESTS_CA_BUNDLE": "",
        "NODE_EXTRA_CA_CERTS": "", "TMPDIR": NSTemporaryDirectory(),
    ]

    private func exec(_ options: [String], _ script: String) throws -> Shell.Result {
        try Shell.run(
            Tool.path, ["exec"] + options + ["--", "bash", "-c", script], environment: InterceptTests.clean)
    }

    /// Whether namespaces are allowed; in some containers they aren't. This doesn't ask our own code, because the tests
    /// would then be skipped if it is broken.
    private static let mayIntercept: Bool =
        (try? Shell.run("unshare", ["--map-root-user", "--mount", "--net", "true"]).status == 0) ?? false

    @Test("where namespaces are forbidden, it says what is missing and how to do it by hand")
    func forbidden() throws {
        guard InterceptTests.mayIntercept else { return }
        let limits = "echo 0 > /proc/sys/user/max_user_namespaces; echo 0 > /proc/sys/user/max_mnt_namespaces"
        let result = try Shell.run(
            "unshare",
            ["--map-root-user", "sh", "-c", "\(limits); \(Tool.path) exec --intercept -- echo started"],
            environment: InterceptTests.clean)
        #expect(result.status == 1, "\(result)")
        #expect(result.output.isEmpty)
        #expect(result.errors.contains("this system doesn't allow user namespaces"))
        #expect(result.errors.contains("By hand: run \"understudy hosts\" into /etc/hosts"))
    }

    static let ways = [["--intercept"], ["--intercept", "--isolate"], ["--proxy-port", "0"]]

    @Test("curl, Python, Node.js and git's transport see the real names at the daemon", arguments: ways)
    func clients(options: [String]) throws {
        guard options[0] != "--intercept" || InterceptTests.mayIntercept else { return }
        let curl = try exec(options, "curl -s -f https://appleid.apple.com/auth/keys")
        #expect(curl.output.contains("SEEDkey001"), "\(curl)")
        let python = """
            import urllib.request, json
            print(json.load(urllib.request.urlopen("https://accounts.google.com/.well-known/openid-configuration"))["token_endpoint"])
            """
        let get = try exec(options, "python3 -c '\(python)'")
        #expect(get.output == "https://oauth2.googleapis.com/token\n", "\(get)")
        // Node's fetch doesn't use a proxy.
        if options[0] == "--intercept", try Shell.run("sh", ["-c", "command -v node"]).status == 0 {
            let node = try exec(
                options,
                "node -e 'fetch(\"https://www.googleapis.com/oauth2/v3/certs\").then(a=>console.log(a.status))'")
            #expect(node.output == "200\n", "\(node)")
        }
    }

    @Test("the control API is there, and what was asked is in the recording", arguments: ways)
    func control(options: [String]) throws {
        guard options[0] != "--intercept" || InterceptTests.mayIntercept else { return }
        let result = try exec(
            options,
            """
            curl -s https://github.com/nowhere > /dev/null
            curl -s --noproxy '*' "$UNDERSTUDY_CONTROL_URL/requests?host=github.com"
            env | grep -E '^(FIREBASE_AUTH_EMULATOR_HOST|APPLE_BASE_URL)=' | wc -l
            """)
        #expect(result.output.contains("\"path\":\"/nowhere\""), "\(result)")
        #expect(result.output.hasSuffix("0\n"))
    }

    @Test("nothing outside changes, and nothing is left")
    func outside() throws {
        let before = try String(contentsOfFile: "/etc/hosts", encoding: .utf8)
        let folder = FileManager.default.temporaryDirectory.appending(path: "exec-\(UUID().uuidString)").path()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        _ = try Tool.run(
            "exec", "--intercept", "--", "true", environment: ["TMPDIR": folder])
        #expect(try String(contentsOfFile: "/etc/hosts", encoding: .utf8) == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }

    @Test("isolated, nothing but the daemon can be reached")
    func isolated() throws {
        guard InterceptTests.mayIntercept else { return }
        let result = try exec(
            ["--intercept", "--isolate"], "curl -sS -m 5 https://1.1.1.1/; curl -sS -m 5 https://example.com/; true")
        #expect(result.output == "", "\(result)")
        #expect(result.errors.contains("it can reach only the daemon"))
    }

    @Test("through the proxy, another host is refused")
    func refused() throws {
        let result = try exec(["--proxy-port", "0"], "curl -sS https://example.com/ 2>&1; true")
        #expect(result.output.contains("403"), "\(result)")
    }

    @Test("--isolate alone is a usage error")
    func usage() throws { #expect(try Tool.run("exec", "--isolate", "--", "true").status == 64) }
}
