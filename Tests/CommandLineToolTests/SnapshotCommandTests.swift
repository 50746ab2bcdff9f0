import Foundation
import TestSupport
import Testing

@Suite("understudy snapshot", .serialized)
struct SnapshotCommandTests {
    private static let control = "/_understudy/v1"

    @Test("goes from a daemon to a file that only its owner reads, and into the store of one that doesn't run")
    func files() throws {
        let folder = try Folder()
        let (file, store) = ("\(folder.path)/world.json", "sqlite:\(folder.path)/worlds")
        let token = "a-token-of-these-tests"
        let environment = ["UNDERSTUDY_CONTROL_TOKEN": token]
        let daemon = try Daemon(["--port", "0"], environment: environment)
        defer { _ = daemon.stop() }
        let client = TestClient(port: daemon.port)
        let bearer = ["Authorization": "Bearer \(token)"]
        #expect(
            try client.post("/~w1\(SnapshotCommandTests.control)/accounts", json: ["id": "zoe"], headers: bearer).status
                == 201)
        let url = ["--url", "http://127.0.0.1:\(daemon.port)/"]
        let saved = try Shell.run(
            Tool.path, ["snapshot", "save", "--world", "w1"] + url + [file], environment: environment)
        #expect(saved.status == 0 && saved.output.isEmpty && saved.errors.isEmpty, "\(saved)")
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let loaded = try Shell.run(Tool.path, ["snapshot", "load", "--store", store, "--world", "copy", file])
        #expect(loaded.status == 0, "\(loaded)")
        // A user who moves only the main file has all data.
        let log = FileManager.default.contents(atPath: "\(folder.path)/worlds-wal") ?? Data()
        #expect(log.isEmpty)
        // The snapshot goes through pipes, into the daemon's default world.
        let piped = try Shell.run(
            "bash",
            [
                "-c",
                "\"$0\" snapshot save --store \(store) --world copy - | UNDERSTUDY_URL=http://127.0.0.1:\(daemon.port) \"$0\" snapshot load -",
                Tool.path,
            ], environment: environment)
        #expect(piped.status == 0, "\(piped)")
        #expect(try client.get("\(SnapshotCommandTests.control)/accounts/zoe", headers: bearer).status == 200)
    }

    @Test("what goes wrong is one line") func failures() throws {
        let folder = try Folder()
        let daemon = try Daemon(["--port", "0"])
        defer { _ = daemon.stop() }
        let url = ["--url", "http://127.0.0.1:\(daemon.port)"]
        try "{}".write(toFile: "\(folder.path)/empty", atomically: true, encoding: .utf8)
        for (arguments, status, words) in [
            (["save", "--world", "none"] + url + ["-"], 1, "there is no test world \"none\""),
            (["load"] + url + ["\(folder.path)/empty"], 1, "\(folder.path)/empty: $: \"snapshot\" is missing"),
            (["load"] + url + ["\(folder.path)/nothing"], 1, "nothing can't be read"),
            (["save", "--url", "http://127.0.0.1:1", "-"], 1, "http://127.0.0.1:1"),
            (["save", "--store", "tape:x", "-"], 1, "\"tape:x\" isn't a store"),
            (["save", "--store", "memory:", "-"], 1, "\"memory:\" isn't a store"),
            // This is what an unset variable leaves.
            (["save", "--store", "sqlite:", "-"], 1, "\"sqlite:\" isn't a store"),
            (["save", "--store", "mysql://ada:s3cret@db/x", "-"], 1, "\"mysql\" isn't a store"),
            (["save", "--store", "memory"] + url + ["-"], 64, "give one"),
            (["save", "--world", "a b", "-"], 64, "can't be a test world's name"),
            (["save", "--store", "memory", "-"], 64, "worlds in memory are deleted"),
            (["save", "--store", "sqlite:#temporary", "-"], 64, "is deleted when its daemon stops"),
            (["save", "--store", "sqlite:\(folder.path)/typo", "-"], 64, "there is no file \(folder.path)/typo"),
        ] {
            let result = try Shell.run(Tool.path, ["snapshot"] + arguments)
            #expect(Int(result.status) == status && result.errors.contains(words), "\(arguments) \(result)")
        }
    }
}
