import Foundation
import TestSupport
import Testing

/// Machines and arguments with something missing or odd must lead to a clear message, and never to a trap.
@Suite("Hostile surroundings")
struct HostileSurroundingsTests {
    private static let hasNamespaces =
        (try? Shell.run("unshare", ["-mr", "mount", "-t", "tmpfs", "none", "/proc"]).status) == 0

    private static func run(_ script: String, _ folder: Folder, without: [String] = []) throws -> Shell.Result {
        try Shell.run("env", without.flatMap { ["-u", $0] } + ["bash", "-c", script, Tool.path, folder.path])
    }

    @Test("without HOME, ca says what to set; XDG_DATA_HOME does")
    func home() throws {
        let folder = try Folder()
        for command in ["ca init", "ca path", "serve --port 0 --tls-port 0"] {
            let bare = try HostileSurroundingsTests.run(
                "\"$0\" \(command)", folder, without: ["HOME", "XDG_DATA_HOME"])
            #expect(bare.status == 1)
            #expect(bare.errors.contains("set HOME or XDG_DATA_HOME"), "\(bare)")
            #expect(bare.errors.split(separator: "\n").count == 1)
        }
        #expect(!FileManager.default.fileExists(atPath: "/.local/share/understudy"))
        let relative = try HostileSurroundingsTests.run("HOME=x \"$0\" ca init", folder, without: ["XDG_DATA_HOME"])
        #expect(relative.errors.contains("absolute path"))
        let data = try HostileSurroundingsTests.run(
            "XDG_DATA_HOME=\"$1/data\" \"$0\" ca init", folder, without: ["HOME"])
        #expect(data.output == "\(folder.path)/data/understudy/understudy-ca.pem\n", "\(data)")
        let own = try HostileSurroundingsTests.run("HOME=\"$1\" \"$0\" ca init", folder, without: ["XDG_DATA_HOME"])
        #expect(own.output == "\(folder.path)/.local/share/understudy/understudy-ca.pem\n", "\(own)")
        // The temporary authority of a command needs no home directory.
        let exec = try HostileSurroundingsTests.run(
            "\"$0\" exec --proxy-port 0 -- sh -c 'curl -sf https://appleid.apple.com/auth/keys'", folder,
            without: ["HOME", "XDG_DATA_HOME"])
        #expect(exec.output.contains("kid"), "\(exec)")
    }

    @Test("a folder that can't be written is named, with the system's reason")
    func folders() throws {
        let folder = try Folder()
        try "".write(toFile: "\(folder.path)/file", atomically: true, encoding: .utf8)
        for (place, wanted) in [
            ("\(folder.path)/file/ca", "\(folder.path)/file/ca can't be made: Not a directory"),
            ("\(folder.path)/file", "\(folder.path)/file can't be made: it is a file"),
        ] {
            let made = try Tool.run("ca", "init", "--ca-directory", place)
            #expect(made.status == 1)
            #expect(made.errors == "understudy: the certificate authority can't be written: \(wanted)\n")
        }
        let missing = "\(folder.path)/missing"
        let log = try Tool.run("exec", "--log-file", "\(missing)/log", "--", "true")
        #expect(log.status == 1)
        #expect(log.errors == "understudy: the log file \(missing)/log can't be written: No such file or directory\n")
        for options in [[], ["--proxy-port", "0"]] {
            let temporary = try Shell.run(
                Tool.path, ["exec"] + options + ["--", "true"], environment: ["TMPDIR": missing])
            #expect(temporary.status == 1)
            #expect(temporary.errors.contains("No such file or directory: set TMPDIR"), "\(temporary)")
        }
    }

    @Test(
        "a folder of another owner, or on a file system that can only be read",
        .enabled(if: hasNamespaces, "no namespaces"))
    func readOnly() throws {
        let folder = try Folder()
        let result = try Shell.run(
            "unshare",
            [
                "-mr", "sh", "-c", "mount -t tmpfs -o ro none \"$1\" && exec \"$0\" ca init --ca-directory \"$1/ca\"",
                Tool.path, folder.path,
            ])
        #expect(result.status == 1)
        #expect(
            result.errors
                == "understudy: the certificate authority can't be written: \(folder.path)/ca can't be made: Read-only file system\n"
        )
        let full = try Shell.run(
            "unshare",
            [
                "-mr", "sh", "-c",
                "mount -t tmpfs -o size=8k none \"$1\" && head -c 8192 /dev/zero > \"$1/x\"; exec \"$0\" ca init --ca-directory \"$1\"",
                Tool.path, folder.path,
            ])
        #expect(full.status == 1)
        #expect(full.errors.contains("understudy-ca.key can't be written: No space left on device"), "\(full)")
    }

    @Test("without /proc, commands find their arguments", .enabled(if: hasNamespaces, "no namespaces"))
    func proc() throws {
        let folder = try Folder()
        func run(_ command: String) throws -> Shell.Result {
            // A database can't be reached from this namespace.
            try Shell.run(
                "unshare",
                ["-mr", "sh", "-c", "mount -t tmpfs none /proc && \(command)", Tool.path, folder.path],
                environment: ["UNDERSTUDY_STORE": "memory"])
        }
        let served = try run(
            "timeout 300 sh -c '\"$0\" serve --port 0 > \"$1/out\" & until grep -q listening \"$1/out\"; do sleep 0.05; done; kill $!; wait $!' \"$0\" \"$1\"; cat \"$1/out\""
        )
        #expect(served.output.hasPrefix("understudy listening on "), "\(served)")
        #expect(try run("exec \"$0\" seed check \(Repository.root)/seed-data/default.json").output == "ok\n")
        #expect(try run("exec \"$0\" exec -- sh -c 'echo here; exit 3'").status == 3)
        #expect(try run("exec \"$0\" nonsense").status == 64)
    }

    @Test("a seed that isn't a readable file of sensible size is refused with the reason")
    func seeds() throws {
        let folder = try Folder()
        let result = try HostileSurroundingsTests.run(
            """
            cd "$1"; mkdir dir; truncate -s 100M big; printf '{"accounts":[{"id":"\\xff"}]}' > latin; ln -s loop loop; echo '{}' > ok; ln -s ok link
            mkfifo pipe; (echo '{}' > pipe) &
            for seed in dir big latin loop /dev/zero ok/x nothing '' link ./link pipe; do "$0" seed check "$seed" 2>&1; done
            "$0" seed check <(echo '{}')
            """, folder)
        let lines = result.output.split(separator: "\n").map(String.init)
        #expect(
            lines == [
                "dir: $: the directory has no *.json file", "big: $: the file can't be read: it has more than 64 MB",
                "latin: $: the file can't be read: it isn't UTF-8",
                "loop: $: the file can't be read: Too many levels of symbolic links",
                "/dev/zero: $: the file can't be read: it has more than 64 MB", "ok/x: $: no such file",
                "nothing: $: no such file", ": $: no such file", "ok", "ok", "ok", "ok",
            ], "\(result)")
    }

    @Test("output that can't be written is an error", .enabled(if: Machine.hasFullDevice, "no /dev/full"))
    func output() throws {
        let folder = try Folder()
        let full = try HostileSurroundingsTests.run("\"$0\" seed schema > /dev/full", folder)
        #expect(full.status == 1)
        #expect(full.errors == "understudy: can't write to standard output: No space left on device\n")
        // No file or socket takes the numbers of missing standard descriptors.
        #expect(try HostileSurroundingsTests.run("\"$0\" seed check /nowhere <&- >&- 2>&-", folder).status == 1)
    }

    @Test("explain takes anything", arguments: ["--id-token", "--client-secret", "--token", "--raw-nonce"])
    func explain(option: String) throws {
        let folder = try Folder()
        let path = "\(folder.path)/value"
        try Data([0xFF, 0xFE]).write(to: URL(filePath: path))
        let values = [
            "", ".", "..", "a.b.c", "e30.e30.", "W10.W10.", "ghp_", "gho_" + String(repeating: "é", count: 36), "@",
            "@/",
            "@/dev/zero", "@\(path)", String(repeating: "e", count: 100_000) + ".e.e",
        ]
        for value in values {
            let result = try Tool.run("explain", option, value)
            #expect([0, 1, 64].contains(result.status), "\(value.prefix(40)): \(result.status)")
        }
    }
}
