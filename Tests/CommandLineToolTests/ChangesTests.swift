import Foundation
import TestSupport
import Testing

@Suite("understudy changes")
struct ChangesTests {
    @Test("lists what differs, with the days and the page")
    func list() throws {
        let result = try Tool.run("changes", "--from", "2025-06-01", "--to", "2025-07-31")
        #expect(result.status == 0)
        #expect(result.output.hasPrefix("Apple\n  from 2025-06-11, until 2025-06-17: the discovery document names"))
        #expect(result.output.contains("\nGitHub\n  from 2025-07-14: a code that was asked for with code_challenge"))
        #expect(result.output.contains("    https://github.blog/changelog/2025-07-14"))
        #expect(!result.output.contains("Firebase"))
    }

    @Test("\"next\" has what is announced, which today doesn't")
    func next() throws {
        let today = try Tool.run("changes", "--from", "2026-11-28")
        #expect(
            today.output == "no known change of the providers' behaviour in the days from 2026-11-28 to 2026-11-28\n")
        let next = try Tool.run("changes", "--from", "2026-11-28", "--to", "next", "--json")
        let json = try JSONSerialization.jsonObject(with: Data(next.output.utf8)) as? [String: Any]
        let change = (json?["changes"] as? [[String: Any]])?.first
        #expect(change?["name"] as? String == "apiVersion-2022-11-28")
        #expect(change?["before"] as? Bool == true)
        #expect(change?["after"] as? Bool == false)
        #expect((change?["steps"] as? [[String: String]]) == [["day": "2028-03-10", "change": "ends"]])
    }

    @Test(
        "days that can't be are usage errors",
        arguments: [
            (["--from", "2026-02-30"], "--from: \"2026-02-30\" isn't a day"),
            (["--from", "2026-01-01", "--to", "soon"], "--to: \"soon\" isn't a day"),
            (["--from", "2026-02-01", "--to", "2026-01-01"], "--from: 2026-02-01 is after 2026-01-01"),
            ([], "--from"),
        ])
    func usage(arguments: [String], words: String) throws {
        let result = try Shell.run(Tool.path, ["changes"] + arguments)
        #expect(result.status == 64)
        #expect(result.errors.contains(words))
    }

    @Test("serve takes the day as an option and from the environment, and refuses others")
    func serve() throws {
        let path = "/appleid.apple.com/.well-known/openid-configuration"
        for (arguments, environment) in [
            (["--as-of", "2025-06-12"], ["UNDERSTUDY_AS_OF": "next"]), ([], ["UNDERSTUDY_AS_OF": "2025-06-12"]),
        ] {
            let daemon = try Daemon(["--port", "0", "--log-level", "error"] + arguments, environment: environment)
            #expect(try TestClient(port: daemon.port).get(path)["issuer"] == "https://account.apple.com")
            #expect(daemon.nextLine() == "understudy imitates the providers as of 2025-06-12\n")
            #expect(daemon.stop().status == 0)
        }
        let result = try Tool.run("serve", "--port", "0", environment: ["UNDERSTUDY_AS_OF": "yesterday"])
        #expect(result.status == 64)
        #expect(result.errors.contains("UNDERSTUDY_AS_OF: \"yesterday\" isn't a day"))
    }
}
