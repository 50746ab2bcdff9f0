import Foundation
import TestSupport
import Testing

@Suite("a limit of the size of files")
struct FileSizeLimitTests {
    @Test("what the worlds' file has no room for is refused, and the daemon goes on") func refused() throws {
        let folder = try Folder()
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        // The limit is in kilobytes.
        let script = "ulimit -f 100 && exec \"$0\" serve --port 0 --store 'sqlite:\(folder.path)/w'"
        process.arguments = ["bash", "-c", script, Tool.path]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        defer {
            process.terminate()
            process.waitUntilExit()
        }
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        let port = try #require(Int(line.trimmingCharacters(in: .newlines).split(separator: ":").last ?? ""))
        let client = TestClient(port: port)
        var answer: Answer?
        for place in 0..<200 where answer?.status ?? 201 == 201 {
            answer = try client.post("/_understudy/v1/accounts", json: ["id": "p\(place)"])
        }
        let refusal = try #require(answer)
        #expect(refusal.status == 503 && refusal.text.contains("storeFull"))
        #expect(try client.get("/_understudy/v1/accounts/p0").status == 200)
    }
}
