import Foundation
import TestSupport
import Testing

@testable import Understudy

@Suite("What is built in")
struct EmbeddedFilesTests {
    @Test("is what lies in seed-data, byte for byte")
    func files() throws {
        let folder = "\(Repository.root)/seed-data"
        let paths = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { path in
            path == "default.json" || path.hasPrefix("keys/") || path.hasPrefix("scenarios/") && path.hasSuffix(".json")
        }
        #expect(EmbeddedFiles.all.map(\.path) == paths.sorted())
        for path in paths {
            let file = Array(try Data(contentsOf: URL(filePath: "\(folder)/\(path)")))
            #expect(EmbeddedFiles.bytes(at: path) == file, "\(path)")
        }
    }

    @Test("holds only scenarios that can be read")
    func scenarios() {
        let files = EmbeddedFiles.all.filter { $0.path.hasPrefix("scenarios/") }
        #expect(BuiltInScenarios.all.map { "scenarios/\($0.name).json" } == files.map(\.path))
    }
}
