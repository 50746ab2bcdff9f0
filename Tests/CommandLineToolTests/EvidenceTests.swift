import Foundation
import TestSupport
import Testing

@Suite("understudy evidence")
struct EvidenceCommandTests {
    @Test("counts what is known of each provider")
    func counts() throws {
        let result = try Tool.run("evidence")
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 7)
        #expect(lines.first?.hasPrefix("Apple: ") ?? false)
        #expect(lines.allSatisfy { $0.contains(" documented, ") && $0.hasSuffix(" chosen") })
    }

    @Test("lists a provider's, each with its source")
    func list() throws {
        let result = try Tool.run("evidence", "apple")
        #expect(
            result.output.contains("endpoint POST /auth/token: appleid.apple.com\n    documented: https://developer."))
        #expect(result.output.contains("error invalid_grant: The code has already been used.\n    "))
    }

    @Test("JSON, of one kind")
    func json() throws {
        let result = try Tool.run("evidence", "github", "--kind", "chosen", "--json")
        let json = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: [[String: String]]]
        let rows = try #require(json?["github"])
        #expect(json?.count == 1)
        #expect(!rows.isEmpty && rows.allSatisfy { $0["kind"] == "chosen" && $0["source"] != nil })
    }

    @Test("a provider's title is taken as its name, and a kind without facts is said to have none")
    func titles() throws {
        for (name, title) in [("openid", "OpenID Connect"), ("apple", "APPLE")] {
            try #expect(Tool.run("evidence", title).output == Tool.run("evidence", name).output)
        }
        let none = try Tool.run("evidence", "openid", "--kind", "recorded")
        #expect(none.output == "OpenID Connect: no known behaviour matches --kind recorded\n", "\(none)")
        let counts = try Tool.run("evidence", "--kind", "chosen")
        #expect(counts.output.contains(" chosen\n") && !counts.output.contains("documented"), "\(counts)")
    }

    @Test(
        "names that can't be are usage errors",
        arguments: [
            (
                ["aple"],
                "\"aple\" isn't one of apple, github, google, facebook, microsoft, openid, firebase; did you mean"
            ),
            (
                ["--kind", "chosn"],
                "--kind: \"chosn\" isn't one of documented, recorded, specified, reported, chosen; did"
            ),
        ])
    func usage(arguments: [String], words: String) throws {
        let result = try Shell.run(Tool.path, ["evidence"] + arguments)
        #expect(result.status == 64)
        #expect(result.errors.contains(words), "\(result)")
    }
}
