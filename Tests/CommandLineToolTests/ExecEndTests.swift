import Foundation
import TestSupport
import Testing

/// The end of `exec`, which must leave nothing behind.
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

    /// Waits until none of the processes runs.
    private static func haveEnded(_ processes: [pid_t]) -> Bool {
        eventually { !processes.contains(where: isAlive) }
    }

    private static func startProcess(_ arguments: [String], folder: String) throws -> (Process, output: FileHandle) {
        let process = Process()
        process.executableURL = URL(filePath: Tool.path)
        process.arguments = ["exec"] + arguments
        // The worlds are in memory: a temporary file would stay behind when the daemon is killed.
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
        // The command that prints the start line must run to its end: if an interrupt comes while a command runs that
        // ends by itself, bash continues with the next one.
        let script = "sleep 1000 & (sleep 1001 & echo $$ $! $PPID; exec sleep 1002)"
        let (process, output) = try ExecEndTests.startProcess(
            options + ["--", "bash", "-c", script], folder: folder.path)
        let started = ExecEndTests.line(output).split(whereSeparator: \.isWhitespace).compactMap { pid_t($0) }.prefix(2)
        #expect(started.count == 2)
        if !options.isEmpty {
            // The authority's key is only in memory.
            let found = try Shell.run("grep", ["-rl", "PRIVATE KEY", folder.path])
            #expect(found.status == 1, "\(found)")
            #expect(try Shell.run("find", [folder.path, "-name", "trusted.pem"]).output.contains("trusted.pem"))
        }
        kill(process.processIdentifier, signal)
        process.waitUntilExit()
        #expect(process.terminationStatus == (signal == SIGKILL ? SIGKILL : 128 + signal))
        #expect(ExecEndTests.haveEnded(Array(started)))
        // A remaining process removes the files after the command's end.
        let isClean = try eventually {
            var left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            // The log is kept if the command fails and exec lives to report it.
            if signal != SIGKILL { left.removeAll { $0.hasPrefix("understudy-log-") } }
            return left.isEmpty
        }
        #expect(isClean)
    }

    @Test(
        "a command that outlives SIGTERM is killed by the second, or with exec itself", arguments: [SIGTERM, SIGKILL])
    func stubborn(signal: Int32) throws {
        let folder = try Folder()
        let (process, output) = try ExecEndTests.startProcess(
            ["--", "bash", "-c", "trap 'echo told' TERM; echo $$; while :; do sleep 0.1; done"], folder: folder.path)
        let command = try #require(pid_t(ExecEndTests.line(output).dropLast()))
        kill(process.processIdentifier, signal)
        if signal == SIGTERM {
            #expect(ExecEndTests.line(output) == "told\n")
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
            // Foundation regards a process as running while anybody holds a descriptor from it.
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
                for i in $(seq 6000); do grep -q listening "$1/out" && break; sleep 0.05; done
                kill -HUP $!; \(isIgnored ? "sleep 0.3" : "wait $!; code=$?")
                curl -s -o /dev/null -w '%{http_code} ' "$(sed 's/.* //' "$1/out")/_understudy/v1/health"
                \(isIgnored ? "kill $!; wait $!; code=$?" : ":"); echo $code
                """, Tool.path, folder.path,
            ])
        #expect(result.output == (isIgnored ? "200 0\n" : "000 0\n"), "\(result)")
    }

    /// Types into bash with job control in a terminal: each text when the terminal has shown something so many times.
    /// Returns everything shown.
    private static func type(_ steps: [(shown: String, times: Int, typed: String)]) throws -> String {
        let script = """
            import fcntl, os, pty, select, signal, struct, sys, termios, time
            # The threads of a test have nearly all signals blocked, which a login doesn't.
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            pid, terminal = pty.fork()
            if pid == 0:
                # So wide that no line is broken.
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 1000, 0, 0))
                os.environ["PS1"] = "here> "
                os.execvp("bash", ["bash", "--norc", "-i"])
            shown = b""
            def look(seconds, until=lambda: False):
                global shown
                end = time.monotonic() + seconds
                while time.monotonic() < end and not until():
                    if select.select([terminal], [], [], 0.05)[0]:
                        try: shown += os.read(terminal, 65536)
                        except OSError: return
            steps = sys.argv[1:]
            while steps:
                text, times, typed = steps[0].encode(), int(steps[1]), steps[2]
                look(\(patienceSeconds), lambda: shown.count(text) >= times)
                if shown.count(text) < times: break
                # What has said that it is there still has to ask for what is typed.
                look(1)
                os.write(terminal, typed.encode())
                steps = steps[3:]
            look(1)
            print(shown.decode(errors="replace"))
            os.kill(pid, signal.SIGKILL)
            """
        let arguments = steps.flatMap { [$0.shown, "\($0.times)", $0.typed] }
        return try Shell.run("python3", ["-c", script] + arguments).output
    }

    @Test("in a terminal the command reads what is typed, and Ctrl-C is its own, once")
    func terminal() throws {
        // The text that a command prints is written differently from how it is typed, because the terminal shows both.
        let interrupted = try ExecEndTests.type([
            (
                "here> ", 1,
                "\(Tool.path) exec -- bash -c 'trap \"echo cau\"\"ght; x=1\" INT; echo rea\"\"dy; while [ ! $x ]; do sleep 0.2; done; sleep 1; exit 5'\n"
            ),
            ("ready", 1, "\u{3}"), ("here> ", 2, "echo code=$?\n"), ("code=5", 1, "exit\n"),
        ])
        #expect(interrupted.components(separatedBy: "caught").count == 2, "\(interrupted)")
        #expect(interrupted.contains("code=5"), "\(interrupted)")
        let read = try ExecEndTests.type([
            ("here> ", 1, "\(Tool.path) exec -- sh -c 'echo rea\"\"dy; read line; echo \"got $line\"'\n"),
            ("ready", 1, "hello\n"), ("got hello", 1, "exit\n"),
        ])
        #expect(read.contains("got hello"), "\(read)")
    }

    @Test("Ctrl-Z stops the command and exec, and fg lets both go on; also in a pipeline", arguments: ["", " | cat"])
    func jobControl(pipe: String) throws {
        let shown = try ExecEndTests.type([
            ("here> ", 1, "\(Tool.path) exec -- sh -c 'echo rea\"\"dy; read line; echo \"got $line\"'\(pipe)\n"),
            ("ready", 1, "\u{1A}"), ("Stopped", 1, "fg\n"),
            // bash shows the command when it is typed, when it stops, and when it continues.
            ("read line", 3, "hello\n"), ("got hello", 1, "echo code=$?\n"), ("code=0", 1, "exit\n"),
        ])
        #expect(shown.contains("Stopped"), "\(shown)")
        #expect(shown.contains("got hello"), "\(shown)")
        #expect(shown.contains("code=0"), "\(shown)")
    }
}
