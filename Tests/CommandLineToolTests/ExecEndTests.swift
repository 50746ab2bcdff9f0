import Foundation
import TestSupport
import Testing

/// How `exec` ends, and what it leaves: nothing.
@Suite("understudy exec, when it ends", .serialized)
struct ExecEndTests {
    private static func isAlive(_ process: pid_t) -> Bool {
        #if os(Linux)
            guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return false }
            return text.split(separator: ")").last?.split(separator: " ").first != "Z"
        #else
            guard let state = try? Shell.run("ps", ["-o", "stat=", "-p", "\(process)"]).output else { return false }
            return !state.isEmpty && !state.hasPrefix("Z")
        #endif
    }

    /// Waits until none of them runs, at most ten seconds.
    private static func haveEnded(_ processes: [pid_t]) -> Bool {
        for _ in 0..<500 {
            if !processes.contains(where: isAlive) { return true }
            Thread.sleep(forTimeInterval: 0.02)
        }
        return false
    }

    private static func startProcess(_ arguments: [String], folder: String) throws -> (Process, output: FileHandle) {
        let process = Process()
        process.executableURL = URL(filePath: Tool.path)
        process.arguments = ["exec"] + arguments
        // Worlds in memory: a file that tests have for them would stay where the daemon is killed.
        process.environment = ProcessInfo.processInfo.environment.merging([
            "TMPDIR": folder, "HOME": folder, "UNDERSTUDY_STORE": "memory",
        ]) { $1 }
        let output = Pipe()
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        return (process, output.fileHandleForReading)
    }

    private static func line(_ handle: FileHandle) -> String {
        var text = ""
        while !text.hasSuffix("\n") {
            let data = handle.readData(ofLength: 1)
            if data.isEmpty { break }
            text += String(decoding: data, as: UTF8.self)
        }
        return text
    }

    @Test(
        "by a signal, the command ends with all that it started, and no temporary file stays",
        arguments: [SIGKILL, SIGTERM, SIGHUP, SIGINT], [[], ["--proxy-port", "0"]])
    func signalled(signal: Int32, options: [String]) throws {
        let folder = try Folder()
        // What says that all has started is what runs to the end: bash goes on with its next command when an
        // interrupt comes while one runs that ends by itself.
        let script = "sleep 1000 & (sleep 1001 & echo $$ $! $PPID; exec sleep 1002)"
        let (process, output) = try ExecEndTests.startProcess(
            options + ["--", "bash", "-c", script], folder: folder.path)
        let started = ExecEndTests.line(output).split(whereSeparator: \.isWhitespace).compactMap { pid_t($0) }.prefix(2)
        #expect(started.count == 2)
        if !options.isEmpty {
            // The authority's key is nowhere but in memory.
            let found = try Shell.run("grep", ["-rl", "PRIVATE KEY", folder.path])
            #expect(found.status == 1, "\(found)")
            #expect(try Shell.run("find", [folder.path, "-name", "trusted.pem"]).output.contains("trusted.pem"))
        }
        kill(process.processIdentifier, signal)
        process.waitUntilExit()
        #expect(process.terminationStatus == (signal == SIGKILL ? SIGKILL : 128 + signal))
        #expect(ExecEndTests.haveEnded(Array(started)))
        // Whoever was left to remove the files does it after the command's end.
        var left = ["…"]
        for _ in 0..<500 where !left.isEmpty {
            left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            // A log is kept when the command fails, and exec is there to say so.
            if signal != SIGKILL { left.removeAll { $0.hasPrefix("understudy-log-") } }
            Thread.sleep(forTimeInterval: 0.02)
        }
        #expect(left.isEmpty)
    }

    @Test("a command that ignores SIGTERM is killed by the second, or with exec itself", arguments: [SIGTERM, SIGKILL])
    func stubborn(signal: Int32) throws {
        let folder = try Folder()
        let (process, output) = try ExecEndTests.startProcess(
            ["--", "bash", "-c", "trap '' TERM; echo $$; while :; do sleep 0.1; done"], folder: folder.path)
        let command = try #require(pid_t(ExecEndTests.line(output).dropLast()))
        kill(process.processIdentifier, signal)
        if signal == SIGTERM {
            Thread.sleep(forTimeInterval: 0.2)
            #expect(process.isRunning)
            kill(process.processIdentifier, signal)
        }
        process.waitUntilExit()
        #expect(process.terminationStatus == (signal == SIGTERM ? 137 : SIGKILL))
        #expect(ExecEndTests.haveEnded([command]))
    }

    @Test("what a command leaves running when it ends by itself goes on")
    func background() throws {
        let folder = try Folder()
        let (process, output) = try ExecEndTests.startProcess(
            // Foundation takes a process for running while anybody holds a descriptor that it gave to it.
            [
                "--", "python3", "-c",
                "import subprocess as s; print(s.Popen(['sleep', '1000'], stdout=s.DEVNULL).pid)",
            ], folder: folder.path)
        let left = try #require(pid_t(ExecEndTests.line(output).dropLast()))
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        #expect(ExecEndTests.isAlive(left))
        kill(left, SIGKILL)
    }

    @Test("a SIGHUP that is ignored stays so; else serve ends as by SIGTERM", arguments: [true, false])
    func hangup(isIgnored: Bool) throws {
        let folder = try Folder()
        let result = try Shell.run(
            "bash",
            [
                "-c",
                """
                \(isIgnored ? "trap '' HUP" : "")
                "$0" serve --port 0 > "$1/out" 2> /dev/null &
                for i in $(seq 200); do grep -q listening "$1/out" && break; sleep 0.05; done
                kill -HUP $!; sleep 0.3
                curl -s -o /dev/null -w '%{http_code} ' "$(sed 's/.* //' "$1/out")/_understudy/v1/health"
                kill $! 2> /dev/null; wait $!; echo $?
                """, Tool.path, folder.path,
            ])
        #expect(result.output == (isIgnored ? "200 0\n" : "000 0\n"), "\(result)")
    }

    /// What is typed into bash with job control in a terminal of its own, with pauses, and what the terminal shows.
    private static func type(_ lines: [String]) throws -> String {
        let script = """
            import os, pty, select, signal, sys, time
            # The threads of a test have nearly all signals blocked, which a login doesn't.
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            pid, terminal = pty.fork()
            if pid == 0:
                os.execvp("bash", ["bash", "--norc", "-i"])
            shown = b""
            def look(seconds):
                global shown
                end = time.time() + seconds
                while time.time() < end:
                    if select.select([terminal], [], [], 0.05)[0]:
                        try: shown += os.read(terminal, 65536)
                        except OSError: return
            look(1)
            for line in sys.argv[1:]:
                os.write(terminal, line.encode())
                look(1.5)
            os.write(terminal, b"exit\\n")
            look(1)
            print(shown.decode(errors="replace"))
            """
        return try Shell.run("python3", ["-c", script] + lines).output
    }

    @Test("in a terminal the command reads what is typed, and Ctrl-C is its own, once")
    func terminal() throws {
        let interrupted = try ExecEndTests.type([
            "\(Tool.path) exec -- bash -c 'trap \"echo caught\" INT; sleep 1; sleep 1; exit 5'\n", "\u{3}", "",
            "echo code=$?\n",
        ])
        #expect(interrupted.components(separatedBy: "caught").count == 3, "\(interrupted)")
        #expect(interrupted.contains("code=5"), "\(interrupted)")
        let read = try ExecEndTests.type([
            "\(Tool.path) exec -- sh -c 'read line; echo \"got $line\"'\n", "hello\n",
        ])
        #expect(read.contains("got hello"))
    }

    @Test("Ctrl-Z stops the command and exec, and fg lets both go on; also in a pipeline", arguments: ["", " | cat"])
    func jobControl(pipe: String) throws {
        let shown = try ExecEndTests.type([
            "\(Tool.path) exec -- sh -c 'read line; echo \"got $line\"'\(pipe)\n", "\u{1A}", "fg\n", "hello\n",
            "echo code=$?\n",
        ])
        #expect(shown.contains("Stopped"), "\(shown)")
        #expect(shown.contains("got hello"), "\(shown)")
        #expect(shown.contains("code=0"), "\(shown)")
    }
}
