import Foundation
import TestSupport
import Testing

@Suite("a disk without room for the worlds' file")
struct FullDiskTests {
    private static let control = "/_understudy/v1"
    private static let mayMount =
        (try? Shell.run("unshare", ["--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"])
            .status == 0)
        ?? false

    /// The disk has a megabyte, most of it occupied by another file, in a mount namespace of the daemon's.
    @Test(
        "what can't be kept is refused, health says so, and it works again with room",
        .enabled(if: FullDiskTests.mayMount, "no mounts in a namespace of one's own"))
    func full() throws {
        let folder = try Folder()
        let script = """
            mount -t tmpfs -o size=1m none '\(folder.path)' && head -c 700000 /dev/zero > '\(folder.path)/other' \
                && exec "$0" serve --port 0 --store 'sqlite:\(folder.path)/w'
            """
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["unshare", "--user", "--map-root-user", "--mount", "bash", "-c", script, Tool.path]
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
        func add(_ place: Int) throws -> Answer {
            let claims = ["note": String(repeating: "x", count: 3_000)]
            return try client.post(
                "\(FullDiskTests.control)/accounts", json: ["id": "p\(place)", "openid": ["claims": claims]])
        }
        var place = 0
        var answer = try add(place)
        while answer.status == 201, place < 1_000 {
            place += 1
            answer = try add(place)
        }
        #expect(place > 0)
        #expect(answer.status == 503 && answer.text.contains("storeFull"), "\(place) \(answer)")
        #expect(try client.get("\(FullDiskTests.control)/health").status == 503)
        #expect(try client.get("\(FullDiskTests.control)/accounts/p\(place - 1)").status == 200)
        // The path is the one that the daemon sees.
        try FileManager.default.removeItem(atPath: "/proc/\(process.processIdentifier)/root\(folder.path)/other")
        #expect(try client.get("\(FullDiskTests.control)/health").status == 200)
        #expect(try client.get("\(FullDiskTests.control)/accounts/p\(place)").status == 404)
        #expect(try add(place).status == 201)
    }
}
