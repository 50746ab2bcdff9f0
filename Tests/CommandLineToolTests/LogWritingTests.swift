import Foundation
import TestSupport
import Testing
import Understudy

@Suite("The log, when nobody reads it", .serialized)
struct LogWritingTests {
    /// A running `understudy serve` whose standard error is a pipe of the test's.
    private final class Served {
        let process = Process()
        let errors = Pipe()
        let client: TestClient

        init(_ arguments: [String] = []) throws {
            let output = Pipe()
            process.executableURL = URL(filePath: Tool.path)
            process.arguments = ["serve", "--port", "0"] + arguments
            // Requests are counted from 1 only if no other daemon shares the store.
            process.environment = ProcessInfo.processInfo.environment.merging(["UNDERSTUDY_STORE": "memory"]) { $1 }
            process.standardOutput = output
            process.standardError = errors
            try process.run()
            try errors.fileHandleForWriting.close()
            var line = ""
            while !line.hasSuffix("\n") {
                line += String(decoding: output.fileHandleForReading.readData(ofLength: 1), as: UTF8.self)
            }
            client = TestClient(port: Int(line.dropLast().split(separator: ":").last ?? "") ?? 0)
        }

        deinit { kill(process.processIdentifier, SIGKILL) }

        /// Sends requests that are refused, with lines long enough to fill every pipe and queue.
        func refuse(_ count: Int) throws {
            let filler = String(repeating: "x", count: 1000)
            for number in 0..<count { #expect(try client.get("/nothing/\(number)/\(filler)").status == 404) }
        }

        func stop() -> Int32 {
            kill(process.processIdentifier, SIGTERM)
            process.waitUntilExit()
            return process.terminationStatus
        }
    }

    @Test("every request is answered, and SIGTERM ends the daemon", arguments: ["text", "json"])
    func unread(format: String) throws {
        let served = try Served(["--log-format", format])
        try served.refuse(800)
        #expect(served.stop() == 0)
    }

    @Test("what was dropped is counted and told in its place, and the order is kept")
    func told() throws {
        let served = try Served(["--log-format", "json"])
        try served.refuse(800)
        let handle = served.errors.fileHandleForReading
        nonisolated(unsafe) var data = Data()
        let end = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            data = handle.readDataToEndOfFile()
            end.signal()
        }
        // The pipe is read from now on, so that it soon has space again.
        var sent = 800
        for _ in 0..<50 {
            Thread.sleep(forTimeInterval: 0.02)
            try served.refuse(1)
            sent += 1
        }
        #expect(served.stop() == 0)
        end.wait()
        var (last, lines, dropped) = (0, 0, 0)
        for line in data.split(separator: 0x0A) {
            let object = try #require(try JSONSerialization.jsonObject(with: line) as? [String: String])
            if let count = object["dropped"] {
                #expect(object["level"] == "warning")
                dropped += Int(count) ?? 0
                last += Int(count) ?? 0
            } else {
                let number = Int(object["request"]?.dropFirst() ?? "") ?? 0
                #expect(number == last + 1)
                last = number
                lines += 1
            }
        }
        #expect(dropped > 0)
        #expect(lines + dropped == sent)
    }

    @Test("standard error that is closed ends nothing")
    func closed() throws {
        let served = try Served()
        try served.errors.fileHandleForReading.close()
        try served.refuse(10)
        #expect(served.stop() == 0)
    }

    @Test(
        "a full disk, and descriptors that were closed at the beginning, end nothing",
        arguments: ["2>/dev/full", "<&- 2>&-"])
    func nowhere(redirection: String) throws {
        let folder = try Folder()
        let result = try Shell.run(
            "bash",
            [
                "-c",
                """
                "$0" serve --port 0 > "$1/out" \(redirection) &
                for i in $(seq 6000); do grep -q listening "$1/out" && break; sleep 0.05; done
                url=$(sed 's/.* //' "$1/out")
                for i in 1 2 3; do curl -s -o /dev/null -w '%{http_code} ' "$url/nothing"; done
                kill $! && wait $!; echo "ended with $?"
                """, Tool.path, folder.path,
            ])
        #expect(result.output == "404 404 404 ended with 0\n", "\(result)")
    }

    @Test("the daemon serves although nobody reads its first line")
    func startupLine() throws {
        let port = unusedPort()
        let output = Pipe()
        let descriptor = output.fileHandleForWriting.fileDescriptor
        let flags = fcntl(descriptor, F_GETFL)
        _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK)
        let filler = [UInt8](repeating: 0x2E, count: 4096)
        while write(descriptor, filler, filler.count) > 0 {}
        _ = fcntl(descriptor, F_SETFL, flags)
        let process = Process()
        process.executableURL = URL(filePath: Tool.path)
        process.arguments = ["serve", "--port", "\(port)"]
        process.standardOutput = output
        process.standardError = Pipe()
        try process.run()
        var status = 0
        let isAnswered = eventually {
            status = (try? TestClient(port: port).get("/_understudy/v1/health").status) ?? 0
            return status != 0
        }
        #expect(isAnswered)
        #expect(status == 200)
        kill(process.processIdentifier, SIGTERM)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }

    @Test("exec tells why its command failed, and ends, although nobody reads")
    func exec() throws {
        let folder = try Folder()
        let result = try Shell.run(
            "bash",
            [
                "-c",
                """
                mkfifo "$1/pipe"; exec 4<>"$1/pipe"
                python3 -c 'import os;os.set_blocking(4,False)
                try:
                    while os.write(4,b"x"*4096): pass
                except BlockingIOError: pass
                os.set_blocking(4,True)'
                timeout 300 "$0" exec --log-file /dev/null -- sh -c 'exit 7' 2>&4; echo $?
                """, Tool.path, folder.path,
            ])
        #expect(result.output == "7\n", "\(result)")
    }
}
