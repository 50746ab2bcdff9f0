import Foundation
import TestSupport
import Testing

@Suite("What exec leaves of a run", .serialized)
struct EvidenceTests {
    private let folder: Folder

    init() throws { folder = try Folder() }

    private var files: [String] { ["--har", path("run.har"), "--junit", path("run.xml")] }

    private func path(_ name: String) -> String { "\(folder.path)/\(name)" }

    private func exec(_ options: [String], _ script: String, _ environment: [String: String] = [:]) throws
        -> Shell.Result
    {
        try Shell.run(
            Tool.path, ["exec", "--log-file", "/dev/null"] + options + ["--", "bash", "-c", script],
            environment: environment)
    }

    private func archive() throws -> [[String: Any]] {
        let data = try Data(contentsOf: URL(filePath: path("run.har")))
        let log = (try JSONSerialization.jsonObject(with: data) as? [String: Any])?["log"] as? [String: Any]
        return log?["entries"] as? [[String: Any]] ?? []
    }

    /// Returns the report as another XML parser reads it: attributes of the root, then those of each element below it
    /// with its text.
    private func report() throws -> [[String: String]] {
        let script = """
            import json, sys, xml.etree.ElementTree as tree
            root = tree.parse(sys.argv[1]).getroot()
            assert root.tag == "testsuites"
            print(json.dumps([dict(e.attrib, tag=e.tag, text=e.text or "") for e in root.iter()]))
            """
        let parsed = try Shell.run("python3", ["-c", script, path("run.xml")])
        #expect(parsed.status == 0, "\(parsed)")
        return try JSONSerialization.jsonObject(with: Data(parsed.output.utf8)) as? [[String: String]] ?? []
    }

    private static let asking = """
        curl -s -o /dev/null "$APPLE_BASE_URL/auth/keys"
        curl -s -o /dev/null -d client_id=com.example.web -d client_secret=hidden-in-the-test "$APPLE_BASE_URL/auth/token"
        curl -s -o /dev/null "$UNDERSTUDY_URL/~w1/api.github.com/user"
        curl -s -o /dev/null -X DELETE "$UNDERSTUDY_CONTROL_URL/worlds/w1"
        """

    @Test(
        "an archive and JUnit's XML over all worlds, however the command ends",
        arguments: [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137)])
    func files(end: String, code: Int32) throws {
        let result = try exec(files, "\(EvidenceTests.asking)\n\(end)")
        #expect(result.status == code, "\(result)")
        let urls = try archive().compactMap { ($0["request"] as? [String: Any])?["url"] as? String }
        #expect(
            urls == [
                "https://appleid.apple.com/auth/keys", "https://appleid.apple.com/auth/token",
                "https://api.github.com/user",
            ])
        let elements = try report()
        #expect(elements.first?["failures"] == "2" && elements.first?["tests"] == "2")
        let suites = elements.filter { $0["tag"] == "testsuite" }
        #expect(suites.compactMap { $0["name"] } == ["understudy.default", "understudy.w1"])
        #expect(suites.allSatisfy { !($0["hostname"] ?? "").isEmpty })
        #expect(suites.allSatisfy { $0["timestamp"]?.count == "2030-01-01T00:00:00".count })
        let failures = elements.filter { $0["tag"] == "failure" }
        #expect(failures.map { $0["type"] } == ["400", "401"])
        #expect(failures.last?["message"]?.isEmpty == false)
        #expect(failures.last?["text"]?.contains("world: w1") ?? false)
        #expect(elements.contains { $0["classname"] == "api.github.com" && $0["time"]?.contains(".") ?? false })
    }

    @Test("secrets are masked in both")
    func masked() throws {
        _ = try exec(["--mask-secrets"] + files, EvidenceTests.asking)
        for name in ["run.har", "run.xml"] {
            let text = try String(contentsOfFile: path(name), encoding: .utf8)
            #expect(!text.contains("hidden-in-the-test") && text.contains("/auth/token"))
        }
    }

    @Test("a run without refusals has one test, which has passed; a command that isn't there leaves both files, too")
    func empty() throws {
        #expect(try exec(files, "true").status == 0)
        let elements = try report()
        #expect(elements.map { $0["tag"] } == ["testsuites", "testsuite", "testcase"])
        #expect(elements.first?["failures"] == "0")
        try FileManager.default.removeItem(atPath: path("run.xml"))
        let missing = try Shell.run(
            Tool.path, ["exec", "--log-file", "/dev/null"] + files + ["--", "no-such-command"])
        #expect(missing.status == 127)
        #expect(try report().count == 3)
        #expect(try archive().isEmpty)
    }

    @Test("characters that XML can't hold are written out, and others come back as they were")
    func characters() throws {
        let result = try exec(files, #"curl -s -o /dev/null -d grant_type=$'<a&b>\x1b"\x7f' "$GOOGLE_TOKEN_URL""#)
        #expect(result.status == 0)
        let failure = try #require(try report().first { $0["tag"] == "failure" })
        #expect(!(failure["message"] ?? "").isEmpty)
        let nowhere = try exec(files, #"curl -s -o /dev/null "$APPLE_BASE_URL/a&b'c;""#)
        #expect(nowhere.status == 0)
        #expect(try report().contains { $0["name"]?.hasSuffix("/a&b'c;") ?? false })
    }

    @Test("a file that can't be written is told, and is a failure unless the command's is one")
    func unwritable() throws {
        let result = try exec(["--har", "/nowhere/run.har"], "exit 0")
        #expect(result.status == 1)
        #expect(result.errors == "understudy: /nowhere/run.har can't be written: No such file or directory\n")
        #expect(try exec([], "exit 5", ["UNDERSTUDY_JUNIT": "/nowhere/run.xml"]).status == 5)
    }

    @Test("what a path names stays what it is: a pipe, a link, a file with its mode")
    func namedPlaces() throws {
        let (pipe, target, link) = (path("pipe"), path("target.xml"), path("link.xml"))
        let script = """
            mkfifo "$PIPE"; echo old > "$TARGET"; chmod 600 "$TARGET"; ln -s "$TARGET" "$LINK"
            cat "$PIPE" > "$PIPE.read" & "$TOOL" exec --har "$PIPE" --junit "$LINK" -- true; code=$?; wait
            [ -p "$PIPE" ] && [ -L "$LINK" ] && [ "$(stat -c %a "$TARGET")" = 600 ] && grep -q testsuites "$TARGET" &&
                grep -q '"log"' "$PIPE.read" && exit $code
            exit 99
            """
        let result = try Shell.run(
            "bash", ["-c", script],
            environment: ["PIPE": pipe, "TARGET": target, "LINK": link, "TOOL": Tool.path])
        #expect(result.status == 0, "\(result)")
    }

    @Test("a command that fails without having asked is told why that may be")
    func silence() throws {
        #expect(try exec([], "exit 1").errors.contains("no request reached the daemon"))
        #expect(try exec(["--proxy-port", "0"], "exit 1").errors.contains("it may not use HTTPS_PROXY"))
        #expect(!(try exec([], "curl -s $APPLE_BASE_URL/auth/keys; exit 1").errors.contains("no request reached")))
        #expect(try exec([], "exit 0").errors.isEmpty)
    }

    @Test("lines of the log in JSON have a time, to the millisecond, and a level")
    func log() throws {
        _ = try Shell.run(
            Tool.path,
            [
                "exec", "--log-file", path("log"), "--log-format", "json", "--host", "0.0.0.0", "--", "sh", "-c",
                "curl -s -o /dev/null $APPLE_BASE_URL/nowhere",
            ])
        let lines = try String(contentsOfFile: path("log"), encoding: .utf8).split(separator: "\n")
        let objects = lines.compactMap {
            try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
        #expect(!lines.isEmpty && objects.count == lines.count, "\(lines)")
        let times = objects.compactMap { $0["time"] as? String }
        #expect(
            times.count == lines.count
                && times.allSatisfy { $0.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil })
        #expect(objects.contains { $0["level"] as? String == "info" })
    }
}
