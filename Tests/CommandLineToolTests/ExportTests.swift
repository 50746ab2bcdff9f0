import Foundation
import TestSupport
import Testing

@testable import CommandLineTool

@Suite("--import and --export-on-exit")
struct ExportTests {
    private let folder: Folder

    init() throws { folder = try Folder() }

    private var place: String { "\(folder.path)/data" }

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    /// Creates a user at a daemon of `exec`.
    private func signUp(_ options: [String], _ environment: [String: String] = [:]) throws -> Shell.Result {
        let command =
            #"curl -s -d '{"email":"ada@example.org","password":"secret1"}' "$UNDERSTUDY_URL/identitytoolkit.googleapis.com/v1/accounts:$0?key=any""#
        let name = options.last ?? ""
        return try Shell.run(
            Tool.path, ["exec", "--project", "demo-export"] + options.dropLast() + ["--", "sh", "-c", command, name],
            environment: environment)
    }

    @Test(
        "what one run leaves, the next one begins with; the first one needs no directory yet", arguments: [false, true])
    func runs(isThere: Bool) throws {
        if isThere { try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true) }
        let first = try signUp(["--import", place, "--export-on-exit", "signUp"])
        #expect(first.status == 0, "\(first.errors)")
        #expect(exists("\(place)/auth_export/accounts.json"))
        let second = try signUp(["--import", place, "signInWithPassword"])
        #expect(second.output.contains("VerifyPasswordResponse"), "\(second.output) \(second.errors)")
        let other = try signUp(["signInWithPassword"], ["UNDERSTUDY_IMPORT": place])
        #expect(other.output.contains("VerifyPasswordResponse"))
    }

    @Test("a directory of its own, with a space, an equals sign or in the environment", arguments: [0, 1, 2])
    func directories(form: Int) throws {
        let options = [["--export-on-exit", place], ["--export-on-exit=\(place)"], []][form]
        let environment = form == 2 ? ["UNDERSTUDY_EXPORT_ON_EXIT": place] : [:]
        #expect(try signUp(options + ["signUp"], environment).status == 0)
        #expect(exists("\(place)/firebase-export-metadata.json"))
    }

    @Test(
        "the log says that imported second factors have no effect where the project has them off",
        arguments: ["ENABLED", "DISABLED"])
    func factors(state: String) throws {
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        let seed = "\(folder.path)/seed.json"
        try #"{"firebase":{"projects":[{"id":"shop","mfa":{"state":"\#(state)","providers":["phone"]}}]}}"#.write(
            toFile: seed, atomically: true, encoding: .utf8)
        try
            #"{"users":[{"localId":"u","email":"u@example.org","emailVerified":true,"mfaInfo":[{"phoneInfo":"+15555550100","mfaEnrollmentId":"m"}]}]}"#
            .write(toFile: "\(place)/accounts.json", atomically: true, encoding: .utf8)
        let daemon = try Daemon(["--port", "0", "--import", place, "--seed", seed])
        let log = daemon.stop().errors
        #expect(log.contains("second factors have no effect") == (state == "DISABLED"), "\(log)")
    }

    @Test("serve exports when it is told to end")
    func serve() throws {
        let daemon = try Daemon(["--port", "0", "--export-on-exit", place])
        #expect(daemon.stop().status == 0)
        #expect(exists("\(place)/auth_export/config.json"))
    }

    @Test("one directory for both is a misuse where worlds outlive the daemon: the next start would have other users")
    func lasting() throws {
        let options = [
            "serve", "--port", "0", "--import", place, "--export-on-exit", "--store", "sqlite:\(folder.path)/w",
        ]
        let refused = try Shell.run(Tool.path, options)
        #expect(refused.status == 64 && refused.errors.contains("can use the same directory only with --store memory"))
        #expect(!exists("\(folder.path)/w"))
    }

    @Test("without any directory it is a misuse; a broken one starts nothing; one that can't be written is told")
    func failures() throws {
        let misuse = try signUp(["--export-on-exit", "signUp"])
        #expect(misuse.status == 64)
        #expect(misuse.errors.contains("--export-on-exit needs a directory"))
        let missing = try signUp(["--import", place, "signUp"])
        #expect(missing.status == 1)
        #expect(missing.errors.contains("\(place): $: the folder can't be read: No such file or directory"))
        try Data().write(to: URL(fileURLWithPath: place))
        let unwritable = try signUp(["--export-on-exit", "\(place)/below", "signUp"])
        #expect(unwritable.status == 1)
        #expect(unwritable.errors.contains("can't be made"))
    }

    @Test(
        "the option may stand without a value",
        arguments: [
            (["serve", "--export-on-exit"], ["serve", "--export-on-exit=true"]),
            (["--export-on-exit", "--port", "0"], ["--export-on-exit=true", "--port", "0"]),
            (["--export-on-exit", "x"], ["--export-on-exit", "x"]),
            (["exec", "--export-on-exit", "--", "x"], ["exec", "--export-on-exit=true", "--", "x"]),
            (["exec", "--", "--export-on-exit"], ["exec", "--", "--export-on-exit"]),
            (["serve", "--rehearse"], ["serve", "--rehearse=true"]),
            (["exec", "--rehearse", "make"], ["exec", "--rehearse=true", "make"]),
            (["--rehearse", "slow,unavailable"], ["--rehearse", "slow,unavailable"]),
            (["exec", "--rehearse", "--", "slow"], ["exec", "--rehearse=true", "--", "slow"]),
        ])
    func completion(arguments: [String], wanted: [String]) {
        #expect(DaemonOptions.completed(arguments) == wanted)
    }
}
