import Foundation
import TestSupport
import Testing

/// The traces of a failing test, seen from outside: these tests start their own executable again, for the failing
/// examples only.
@Suite("A test that fails", .enabled(if: Machine.isLinux, "elsewhere tests are no executable"))
struct ChildTests {
    private func run(_ arguments: [String]) throws -> Shell.Result {
        // The parent's settings aren't meant for the child.
        try Shell.run(
            "env",
            ["-u", "UNDERSTUDY_URL", "-u", "UNDERSTUDY_STORE", CommandLine.arguments[0]] + arguments,
            environment: [Child.variable: "1"])
    }

    @Test("has the refusals of its world among its issues, and attached")
    func swiftTesting() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "attachments-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let result = try run([
            "--testing-library", "swift-testing", "--filter", "KitTests.FailingExamples",
            "--attachments-path", folder.path(),
        ])
        #expect(result.status != 0)
        let output = result.output + result.errors
        #expect(output.contains("refused were 1 of 1 requests"), "\(output)")
        #expect(output.contains("a cancel was ordered"))
        #expect(output.contains("com.nobody"))
        #expect(output.components(separatedBy: "no request came; does the code under test ask http://").count == 2)
        #expect(
            output.contains(
                #"fault-1 met no request that matches {"host":"*","path":"*/apple/authorizations"}"#), "\(output)")
        #expect(output.contains("outcome-1, cancel at github, still waits for a sign-in (times: 1)"))
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path())
        #expect(files.filter { $0.hasSuffix(".txt") }.count == 5, "\(files)")
        #expect(files.filter { $0.hasSuffix(".har") }.count == 4, "\(files)")
        let texts = try files.filter { $0.hasSuffix(".txt") }.map {
            try String(contentsOf: folder.appending(path: $0), encoding: .utf8)
        }
        #expect(texts.contains { $0.contains("world fails-by-an-expectation-") && $0.contains("POST /_understudy") })
    }

    @Test("of XCTest prints the refusals of its world, and one that passes doesn't")
    func xctest() throws {
        let failing = try run(["KitTests.CaseExamples/testFails"])
        #expect(failing.status != 0)
        #expect((failing.output + failing.errors).contains("a cancel was ordered"))
        let passing = try run(["KitTests.CaseExamples/testPasses"])
        #expect(passing.status == 0, "\(passing.output)\(passing.errors)")
        #expect(!(passing.output + passing.errors).contains("Understudy, world"))
    }

    @Test("of XCTest fails where its daemon can't be started")
    func unstartable() throws {
        let result = try run(["KitTests.UnstartableCaseExamples/testNothing"])
        #expect(result.status != 0)
        #expect((result.output + result.errors).contains("no daemon"))
    }
}
