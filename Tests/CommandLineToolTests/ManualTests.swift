import Foundation
import TestSupport
import Testing

@Suite("understudy completion and manual")
struct ManualTests {
    /// Returns the commands in the overview of `help`, and in that of each command with subcommands.
    private func commands(below words: [String] = []) throws -> [String] {
        let help = try Shell.run(Tool.path, ["help"] + words).output
        guard let start = help.range(of: "SUBCOMMANDS:\n") else { return [words.joined(separator: " ")] }
        let names = help[start.upperBound...].prefix { $0 != "#" }.split(separator: "\n").compactMap { line in
            line.hasPrefix("  ") && !line.hasPrefix("   ") ? line.split(separator: " ").first.map(String.init) : nil
        }
        let found = names.filter { $0 != "See" && $0 != "help" }
        return try found.flatMap { try commands(below: words + [$0]) }
    }

    @Test("the manual has every command, and groff nothing to complain of")
    func manual() throws {
        let page = try Tool.run("manual")
        #expect(page.status == 0)
        let known = try commands()
        #expect(known.contains("seed init") && known.contains("client-secret") && known.count > 8)
        for command in known {
            let title = ".SS understudy \(command.replacingOccurrences(of: "-", with: "\\-"))\n"
            #expect(page.output.contains(title), "\(command)")
        }
        #expect(page.output.contains(".BI \"\\-\\-expires\\-in \" \"time\"\n"))
        let lines = page.output.split(separator: "\n")
        #expect(!lines.contains { $0.hasPrefix("'") })
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/groff") else { return }
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).1").path()
        try page.output.write(toFile: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }
        let set = try Shell.run("/usr/bin/groff", ["-man", "-ww", "-Tutf8", file])
        #expect(set.status == 0)
        #expect(set.errors.isEmpty, "\(set.errors)")
    }

    @Test("completions for the shell that is named, or in SHELL")
    func completion() throws {
        let marks = [
            "bash": "complete -o filenames -F", "zsh": "#compdef understudy", "fish": "complete -c 'understudy'",
        ]
        for (shell, mark) in marks {
            let named = try Tool.run("completion", shell)
            #expect(named.output.contains(mark), "\(named.output.suffix(300))")
            #expect(named.output.contains("client-secret"))
            let own = try Tool.run("completion", environment: ["SHELL": "/usr/bin/\(shell)"])
            #expect(own.output == named.output)
        }
        let unknown = try Tool.run("completion", environment: ["SHELL": "/bin/tcsh"])
        #expect(unknown.status == 64)
        #expect(unknown.errors.contains("say bash, zsh or fish"))
        let script = try Tool.run("completion", "bash").output
        let asked = try Shell.run(
            "bash",
            [
                "-c",
                "\(script)\nCOMP_LINE='understudy cl' COMP_POINT=13 COMP_WORDS=(understudy cl) COMP_CWORD=1; _understudy understudy cl understudy; echo \"${COMPREPLY[@]}\"",
            ])
        #expect(asked.output.contains("client-secret"), "\(asked)")
    }
}
