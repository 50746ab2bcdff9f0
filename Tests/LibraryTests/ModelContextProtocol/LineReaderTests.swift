import Foundation
import ModelContextProtocol
import Testing

@Suite("Lines of messages")
struct LineReaderTests {
    /// Returns the lines that a reader with a limit of 10 bytes makes of a text.
    private func lines(_ text: String) throws -> [LineReader.Line] {
        // A file is used, because a pipe holds only 64 KiB until it is read.
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).lines")
        try text.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        var reader = LineReader(handle.fileDescriptor, limit: 10)
        var lines: [LineReader.Line] = []
        while let line = reader.next() { lines.append(line) }
        return lines
    }

    @Test(
        "lines end at breaks, the last one at the end of the input",
        arguments: [
            ("", [LineReader.Line]()), ("one\n", [.text(Array("one".utf8))]),
            ("one\ntwo", [.text(Array("one".utf8)), .text(Array("two".utf8))]),
            ("\n\n", [.text([]), .text([])]), ("0123456789\n", [.text(Array("0123456789".utf8))]),
        ])
    func splits(_ text: String, _ expected: [LineReader.Line]) throws {
        #expect(try lines(text) == expected)
    }

    @Test("a line that is too long is skipped to its end, and the next one is read")
    func tooLong() throws {
        #expect(try lines("0123456789x\nnext\n") == [.tooLong, .text(Array("next".utf8))])
        #expect(try lines(String(repeating: "x", count: 300_000) + "\nnext") == [.tooLong, .text(Array("next".utf8))])
        #expect(try lines("next\n" + String(repeating: "x", count: 300_000)) == [.text(Array("next".utf8)), .tooLong])
    }
}
