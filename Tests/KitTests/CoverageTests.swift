import Foundation
import TestSupport
import Testing
import UnderstudyClient

/// These tests fail if the control API has a call that the client doesn't have.
@Suite("The client and the control API")
struct CoverageTests {
    /// The calls without a method: each is covered by another call, or is for people.
    private static let others = ["GET scenarios/:", "POST worlds/:/reset", "GET openapi.json"]

    @Test("have the same calls")
    func calls() async throws {
        let fixture = try ClientFixture()
        let index = try await fixture.world.call("GET", "")
        let paths = try #require(index["calls"]?.array).compactMap { call -> String? in
            guard let method = call["method"]?.string, let url = call["url"]?.string,
                let path = url.components(separatedBy: "/_understudy/v1/").last
            else { return nil }
            return "\(method) \(path.replacing(/:[a-z]+/, with: ":"))"
        }
        #expect(paths.count > 50)
        let written = try CoverageTests.literals()
        let missing = paths.filter { call in
            let path = call.drop { $0 != " " }.dropFirst()
            return !CoverageTests.others.contains(call)
                && !written.contains { $0 == path || ($0.hasPrefix(":/") && path.hasSuffix($0.dropFirst())) }
        }
        #expect(missing.isEmpty)
    }

    /// Returns the texts in the client's sources, with a colon for each interpolation.
    private static func literals() throws -> [String] {
        let folder = "\(Repository.root)/Sources/UnderstudyClient"
        let files = try #require(FileManager.default.enumerator(atPath: folder)).compactMap { $0 as? String }
        return try files.filter { $0.hasSuffix(".swift") }.flatMap { file in
            try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
                .replacing(/\\\((?:[^()]|\([^()]*\))*\)/, with: ":")
                .matches(of: /"([^"\n]*)"/).map { String($0.1) }
        }
    }
}
