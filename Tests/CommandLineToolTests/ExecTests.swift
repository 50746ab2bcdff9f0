import Foundation
import TestSupport
import Testing

@Suite("understudy exec", .serialized)
struct ExecTests {
    @Test("the command finds the daemon in its environment, and gives the exit code")
    func environment() throws {
        let script = """
            set -e
            curl -sf "$UNDERSTUDY_CONTROL_URL/health" > /dev/null
            curl -sf "$APPLE_BASE_URL/auth/keys" | grep -q kid
            curl -sf -A tests "$GITHUB_API_URL/meta" > /dev/null
            curl -sf "$GITHUB_BASE_URL/.well-known/oauth-authorization-server/login/oauth" > /dev/null
            curl -sf "$GOOGLE_BASE_URL/.well-known/openid-configuration" > /dev/null
            curl -s -d grant_type=refresh_token -d client_id=x "$GOOGLE_TOKEN_URL" | grep -q invalid_client
            curl -sf "$FACEBOOK_BASE_URL/.well-known/openid-configuration" > /dev/null
            curl -s "$FACEBOOK_GRAPH_URL/me" | grep -q OAuthException
            curl -sf -H 'Authorization: Bearer owner' "http://$FIREBASE_AUTH_EMULATOR_HOST/emulator/v1/projects/demo-app/config" > /dev/null
            curl -sf "$UNDERSTUDY_URL/" > /dev/null
            cat
            echo "said on standard error" >&2
            exit 7
            """
        let result = try Shell.run(
            Tool.path, ["exec", "--log-file", "/dev/null", "--", "bash", "-c", script], input: "from standard input",
            environment: ["TMPDIR": NSTemporaryDirectory()])
        #expect(result.status == 7, "\(result)")
        #expect(result.output == "from standard input")
        #expect(result.errors.hasPrefix("said on standard error\n"))
    }

    @Test("--rehearse varies what may vary, the same in every run with a seed, and says what it was followed by")
    func rehearsal() throws {
        let folder = try Folder()
        let seed = "\(folder.path)/seed.json"
        try Data(#"{"randomSeed": "one"}"#.utf8).write(to: URL(filePath: seed))
        let script = """
            for number in $(seq 40); do
                curl -s -o /dev/null -w '%{http_code}%{size_download} ' "$APPLE_BASE_URL/.well-known/openid-configuration"
            done
            curl -s -d client_id=com.example.app -d grant_type=none "$APPLE_BASE_URL/auth/token" > /dev/null
            """
        let runs = try (0..<2).map { _ in
            try Shell.run(
                Tool.path,
                [
                    "exec", "--rehearse", "--port", "0", "--seed", seed, "--log-file",
                    "/dev/null", "--",
                    "bash", "-c", script,
                ])
        }
        #expect(
            runs.allSatisfy { $0.status == 0 && $0.errors.contains("the rehearsal (--rehearse) varied ") }, "\(runs)")
        let sizes = runs.map { $0.output.split(separator: " ").map { $0.prefix(3) } }
        #expect(sizes[0].count == 40 && sizes[0] == sizes[1] && Set(sizes[0]).count > 1, "\(sizes)")
        let plain = try Shell.run(
            Tool.path, ["exec", "--port", "0", "--log-file", "/dev/null", "--", "bash", "-c", script])
        #expect(!plain.errors.contains("rehearsal") && Set(plain.output.split(separator: " ")).count == 1, "\(plain)")
    }

    @Test("--rehearse with names varies only these, and names what was refused after a surprise")
    func chosenRehearsal() throws {
        let folder = try Folder()
        let seed = "\(folder.path)/seed.json"
        try Data(#"{"randomSeed": "one"}"#.utf8).write(to: URL(filePath: seed))
        let script = """
            for number in $(seq 40); do
                code=$(curl -s -d '{"client": "com.example.app", "account": "ada"}' -H 'Content-Type: application/json' \\
                    "$UNDERSTUDY_URL/_understudy/v1/apple/authorizations" | sed 's/.*"authorizationCode":"\\([^"]*\\)".*/\\1/')
                for attempt in 1 2; do
                    curl -s -o /dev/null -w '%{http_code} ' -d client_id=com.example.app -d client_secret=x \\
                        -d grant_type=authorization_code -d "code=$code" "$APPLE_BASE_URL/auth/token"
                done
            done
            for number in $(seq 60); do
                curl -s "$APPLE_BASE_URL/.well-known/openid-configuration" | tr -d '\\n' | head -c 10; echo
            done
            """
        func run(_ names: String) throws -> Shell.Result {
            try Shell.run(
                Tool.path,
                [
                    "exec", "--rehearse", names, "--port", "0", "--seed", "\(Repository.root)/seed-data/default.json",
                    "--seed", seed, "--log-file", "/dev/null", "--", "bash", "-c", script,
                ])
        }
        let unavailable = try run("unavailable")
        // Nobody asks for the keys again.
        let keys = try Shell.run(
            Tool.path,
            [
                "exec", "--rehearse", "unavailable", "--port", "0", "--seed", seed, "--log-file", "/dev/null", "--",
                "bash", "-c",
                #"until [ "$(curl -s -o /dev/null -w '%{http_code}' "$APPLE_BASE_URL/auth/keys")" = 503 ]; do :; done"#,
            ])
        #expect(keys.errors.contains(#/nothing followed r\d+ GET appleid\.apple\.com/auth/keys/#), "\(keys)")
        #expect(unavailable.output.contains("503 ") && !unavailable.output.contains("{\"rehear"), "\(unavailable)")
        #expect(unavailable.errors.contains(#/ordered fault .*, and then r\d+ was refused: /#))
        let both = try run("member-order,unknown-members")
        let beginnings = Set(both.output.split(separator: "\n").suffix(60))
        #expect(!both.output.contains("503 ") && beginnings.count > 2, "\(both)")
        let unknown = try run("unavailable,members")
        #expect(unknown.status != 0 && unknown.errors.contains("unknown variation \"members\""), "\(unknown)")
    }

    @Test("--mcp tells the command of a protected resource, and refuses an issuer that isn't there")
    func protectedResource() throws {
        let script = """
            set -e
            curl -s -D - -X POST "$MCP_SERVER_URL" | grep -qi '^www-authenticate: bearer scope="mcp:read"'
            curl -sf "$MCP_ISSUER_URL/.well-known/openid-configuration" | grep -q registration_endpoint
            """
        let result = try Tool.run("exec", "--mcp", "corp", "--", "bash", "-c", script)
        #expect(result.status == 0, "\(result)")
        let refused = try Tool.run("exec", "--mcp", "crop", "--", "true")
        #expect(refused.status == 1)
        #expect(refused.errors.contains(#"no issuer "crop" is seeded; did you mean"#), "\(refused)")
    }

    @Test("when the command fails, what was refused is told, and where the log is")
    func failure() throws {
        let script = "curl -s -d client_id=com.example.web $APPLE_BASE_URL/auth/token > /dev/null; exit 1"
        let result = try Tool.run("exec", "--", "sh", "-c", script)
        #expect(result.status == 1)
        let lines = result.errors.split(separator: "\n")
        #expect(lines.first?.hasPrefix("understudy refused POST appleid.apple.com/auth/token: ") ?? false)
        let log = lines.last?.components(separatedBy: "the daemon's log is ").last ?? ""
        #expect(try String(contentsOfFile: log, encoding: .utf8).contains("/auth/token"))
        try FileManager.default.removeItem(atPath: log)
        #expect(!result.errors.contains(" info "))
    }

    @Test(
        "with --world, all that the command finds in its environment leads to that world; with a port, another is beside it"
    )
    func world() throws {
        let script = """
            set -e
            curl -sf "$UNDERSTUDY_CONTROL_URL/" | grep -q '"world":"w1"'
            curl -sf "$APPLE_BASE_URL/auth/keys" | grep -q kid
            curl -sf "http://$FIREBASE_AUTH_EMULATOR_HOST/" > /dev/null
            curl -sf "$UNDERSTUDY_CONTROL_URL/requests" | grep -q /auth/keys
            curl -sf "$UNDERSTUDY_URL/~other/_understudy/v1/" | grep -q '"world":"other"'
            curl -sf "$UNDERSTUDY_CONTROL_URL/worlds" | tr -d ' ' | grep -q '"name":"w1"'
            """
        let result = try Tool.run("exec", "--world", "w1", "--world", "w2=0", "--", "bash", "-c", script)
        #expect(result.status == 0, "\(result)")
        for wrong in [["w1", "w2"], ["w1=0", "w1=0"], ["w1=x"], ["a b"], ["=1"]] {
            let refused = try Shell.run(
                Tool.path, ["exec"] + wrong.flatMap { ["--world", $0] } + ["--", "true"])
            #expect(refused.status == 64 && refused.errors.contains("--world"), "\(refused)")
        }
        #expect(try Tool.run("serve", "--world", "w1", "--port", "0").status == 64)
        #expect(try Tool.run("world-name", "A test's name").output.hasPrefix("a-test-s-name-"))
    }

    @Test("when it succeeds, nothing is left but its own output")
    func success() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "exec-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let result = try Tool.run(
            "exec", "--log-level", "debug", "--", "sh", "-c", "curl -s $APPLE_BASE_URL/nowhere > /dev/null; echo done",
            environment: ["TMPDIR": folder.path()])
        #expect(result.status == 0)
        #expect(result.output == "done\n")
        #expect(result.errors == "")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path()).isEmpty)
        let log = folder.appending(path: "kept.log").path()
        _ = try Tool.run("exec", "--log-file", log, "--", "sh", "-c", "curl -s $APPLE_BASE_URL/nowhere")
        #expect(try String(contentsOfFile: log, encoding: .utf8).contains("/nowhere"))
    }

    @Test("serve's options hold: seeds, scenarios, a port")
    func options() throws {
        let result = try Tool.run(
            "exec", "--scenario", "provider-outage", "--mask-secrets", "--", "sh", "-c",
            "curl -s -o /dev/null -w '%{http_code}' $APPLE_BASE_URL/auth/keys")
        #expect(result.output == "503")
        let bad = try Tool.run("exec", "--seed", "/nowhere.json", "--", "true")
        #expect(bad.status == 1)
        #expect(bad.errors.contains("/nowhere.json: $: no such file"))
    }

    @Test("a command that isn't there is 127, one that can't be run 126, none at all a usage error")
    func missing() throws {
        let missing = try Tool.run("exec", "--", "no-such-command")
        #expect(missing.status == 127)
        #expect(missing.errors == "understudy: can't run no-such-command: No such file or directory\n")
        #expect(try Tool.run("exec", "--", "/etc/passwd").status == 126)
        #expect(try Tool.run("exec").status == 64)
    }

    @Test("signals are handed on; the daemon ends with the command", arguments: [SIGTERM, SIGINT])
    func signals(signal: Int32) throws {
        let process = Process()
        process.executableURL = URL(filePath: Tool.path)
        let script = "trap 'echo caught; exit 5' TERM INT; echo $UNDERSTUDY_URL; while :; do sleep 0.1; done"
        process.arguments = ["exec", "--log-file", "/dev/null", "--", "bash", "-c", script]
        let output = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = Pipe()
        try process.run()
        var text = ""
        while !text.hasSuffix("\n") {
            text += String(decoding: output.fileHandleForReading.readData(ofLength: 1), as: UTF8.self)
        }
        kill(process.processIdentifier, signal)
        text += String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 5)
        #expect(text.hasSuffix("caught\n"))
        let port = Int(text.split(separator: "\n")[0].split(separator: ":").last ?? "") ?? 0
        #expect(throws: TransportError.self) { try TestClient(port: port).get("/") }
    }

    @Test("a signal that ends the command is 128 and its number")
    func killed() throws {
        let result = try Tool.run("exec", "--log-file", "/dev/null", "--", "sh", "-c", "kill -KILL $$")
        #expect(result.status == 137)
    }
}
