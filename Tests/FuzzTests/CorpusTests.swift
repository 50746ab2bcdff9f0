import Foundation
import FuzzTargets
import TestSupport
import Testing

/// These tests run each target with its stored inputs: those with which the fuzzers began, and those that they have
/// found.
@Suite("Corpus of the fuzzers", .serialized)
struct CorpusTests {
    struct Input: Sendable, CustomTestStringConvertible {
        let target: FuzzTarget
        let file: String

        var testDescription: String { "\(target.name)/\(file)" }
    }

    static let folder = "\(Repository.root)/Tests/Fuzz/corpus"

    static let inputs: [Input] = FuzzTarget.all.flatMap { target in
        let files = (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(target.name)")) ?? []
        return files.sorted().map { Input(target: target, file: $0) }
    }

    @Test("holds what holds for every input", arguments: inputs)
    func input(_ input: Input) throws {
        let data = try Data(contentsOf: URL(filePath: "\(CorpusTests.folder)/\(input.target.name)/\(input.file)"))
        do { try input.target.run(Array(data)) } catch { Issue.record("\(error)") }
    }

    @Test("every target has inputs, and every folder a target")
    func complete() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: CorpusTests.folder)
        #expect(folders.sorted() == FuzzTarget.all.map(\.name).sorted())
        for target in FuzzTarget.all {
            #expect(CorpusTests.inputs.filter { $0.target.name == target.name }.count >= 4, "\(target.name)")
        }
    }

    @Test("a script that is changed stays a script", arguments: 0..<200)
    func mutation(seed: Int) throws {
        let target = try #require(FuzzTarget.all.first { $0.mutate != nil })
        var bytes = Array("GET /appleid.apple.com/auth/keys\n%%\nPOST /github.com/session\n\naccount=ada".utf8)
        var random = FuzzRandom(seed: UInt64(seed))
        for _ in 0..<20 { bytes = target.mutate?(bytes, &random) ?? bytes }
        let text = String(decoding: bytes, as: UTF8.self)
        for part in text.components(separatedBy: "\n%%\n") where !part.isEmpty {
            #expect(part.components(separatedBy: "\n")[0].contains(" "), "\(part)")
        }
    }
}
