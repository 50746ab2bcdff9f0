import Foundation
import TestSupport
import Testing

@Suite("The control token, from the command line")
struct ControlTokenOptionTests {
    private static let token = "a-token-of-these-tests"
    private static let ask =
        #"curl -s -o /dev/null -w '%{http_code}' "$UNDERSTUDY_CONTROL_URL/requests" "#
        + #"-H "Authorization: Bearer $UNDERSTUDY_CONTROL_TOKEN""#

    @Test("exec's command finds it in its environment", arguments: ["option", "file", "variable", "file's variable"])
    func exec(way: String) throws {
        let folder = try Folder()
        let file = "\(folder.path)/token"
        try "\(ControlTokenOptionTests.token)\n".write(toFile: file, atomically: true, encoding: .utf8)
        var (arguments, environment) = (["exec"], [String: String]())
        switch way {
        case "option": arguments += ["--control-token", ControlTokenOptionTests.token]
        case "file": arguments += ["--control-token-file", file]
        case "variable": environment["UNDERSTUDY_CONTROL_TOKEN"] = ControlTokenOptionTests.token
        default: environment["UNDERSTUDY_CONTROL_TOKEN_FILE"] = file
        }
        let script = "\(ControlTokenOptionTests.ask); echo; UNDERSTUDY_CONTROL_TOKEN=x; \(ControlTokenOptionTests.ask)"
        let result = try Shell.run(Tool.path, arguments + ["--", "bash", "-c", script], environment: environment)
        #expect(result.output == "200\n401", "\(result)")
    }

    @Test("what can't be is one line that doesn't repeat it")
    func misuse() throws {
        for (arguments, words) in [
            (["--control-token", "secret!"], "--control-token: expected a token of 16 to 256"),
            (["--control-token-file", "/nowhere/at/all"], "/nowhere/at/all can't be read"),
            (["--control-token", "0123456789abcdef", "--control-token-file", "x"], "give one of them"),
        ] {
            let result = try Shell.run(Tool.path, ["serve", "--port", "0"] + arguments)
            #expect(result.status == 64 && result.errors.contains(words), "\(result)")
            #expect(!result.errors.contains("secret!"))
        }
    }

    @Test("what can't be a host name can't be one at which the control API answers")
    func hosts() throws {
        for host in [
            "a b", "http://idp.example", "idp.example:9099", "a..b", "-a", ".", String(repeating: "a", count: 64),
        ] {
            for (arguments, variables) in [(["--control-host=\(host)"], [:]), ([], ["UNDERSTUDY_CONTROL_HOST": host])] {
                // The variable holds several hosts, separated by colons or blanks.
                guard variables.isEmpty || !host.contains(where: { ": ".contains($0) }) else { continue }
                let result = try Shell.run(
                    Tool.path, ["serve", "--port", "0"] + arguments, environment: variables)
                #expect(result.status == 64 && result.errors.contains("can't be a host name"), "\(host): \(result)")
            }
        }
        for host in ["idp.example", "Idp_1", "understudy", "1234"] {
            let daemon = try Daemon(["--port", "0", "--control-host", host])
            let client = TestClient(port: daemon.port)
            #expect(try client.get("/_understudy/v1/health", headers: ["Host": host]).status == 200, "\(host)")
            _ = daemon.stop()
        }
    }

    @Test("a daemon that others reach is warned about without one") func warning() throws {
        for (token, isWarned) in [("", true), (ControlTokenOptionTests.token, false)] {
            let environment = token.isEmpty ? [:] : ["UNDERSTUDY_CONTROL_TOKEN": token]
            let daemon = try Daemon(["--port", "0", "--host", "0.0.0.0"], environment: environment)
            let end = daemon.stop()
            #expect(end.errors.contains("for tests only"), "\(end)")
            #expect(
                end.errors.contains("--control-token") == isWarned
                    && !end.errors.contains(ControlTokenOptionTests.token))
        }
    }
}
