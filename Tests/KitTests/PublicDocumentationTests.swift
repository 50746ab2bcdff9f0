import Foundation
import TestSupport
import Testing

/// The kits' documentation must describe each public symbol.
@Suite("The kits' documentation")
struct PublicDocumentationTests {
    @Test(
        "says something of each public symbol, cases included",
        arguments: ["UnderstudyClient", "UnderstudyTesting", "UnderstudyInProcess"])
    func symbols(target: String) throws {
        let folder = "\(Repository.root)/Sources/\(target)"
        let files = try #require(FileManager.default.enumerator(atPath: folder)).compactMap { $0 as? String }
            .filter { $0.hasSuffix(".swift") }
        #expect(!files.isEmpty)
        for file in files {
            let lines = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
                .split(separator: "\n", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            for (place, line) in lines.enumerated() where PublicDocumentationTests.isPublic(place, in: lines) {
                let before = lines[..<place].last { !$0.hasPrefix("@") } ?? ""
                #expect(before.hasPrefix("///"), "\(target)/\(file):\(place + 1): \(line)")
            }
        }
    }

    /// Whether the line declares a public symbol. Extensions need no documentation; a case belongs to a public
    /// enumeration.
    private static func isPublic(_ place: Int, in lines: [String]) -> Bool {
        let line = lines[place]
        if line.hasPrefix("case "), !line.hasSuffix(":"), !line.contains(": ") {
            let kind = lines[..<place].last { $0.contains("enum ") || $0.contains("switch ") } ?? ""
            return kind.hasPrefix("public enum")
        }
        let isDeclared = line.hasPrefix("public ") || line.hasPrefix("open ")
        return isDeclared && !line.hasPrefix("public extension")
    }
}
