import Foundation
import Testing

@testable import EmulatorCore

@Suite("rows as JSON")
struct RowEncoderTests {
    private enum Choice: Codable, Equatable {
        case plain
        case number(Int)
        case both(name: String, bytes: [UInt8])
    }

    private struct Empty: Codable, Equatable {}

    private struct Part: Codable, Equatable {
        var numbers: [Int]
        var texts: [String: String]?
        var choice: Choice
        var whole: Int?
    }

    private struct Whole: Codable, Equatable {
        var key: String
        var least = Int64.min
        var most = UInt64.max
        var ratio = 0.1
        var round = 3.0
        var single = Float(1.5)
        var flag = true
        var missing: String?
        var parts: [Part] = []
        var lists: [[String]] = [[], ["a"], ["b", "c"]]
        var empty = Empty()
        var named: [String: Part] = [:]
        var numbered: [Int: String] = [5: "five"]
        var choices: [Choice] = [.plain, .number(-4), .both(name: "", bytes: [])]
        var holes: [Int?] = [1, nil, 3]
    }

    /// As accounts are written: a value goes on in the object of another.
    private struct Extended: Encodable {
        let part: Part

        private enum CodingKeys: CodingKey { case more }

        func encode(to encoder: any Encoder) throws {
            try part.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode([1], forKey: .more)
        }
    }

    private static let part = Part(
        numbers: [1, 2, -3], texts: ["k\"": "v\n\r\t\"\\/\u{1}\u{1f}é😀\u{7f}"],
        choice: .both(name: "q", bytes: [0, 255]))

    /// As JSON with its members in order.
    private func sorted(_ bytes: Data) throws -> String {
        let value = try JSONSerialization.jsonObject(with: bytes, options: .fragmentsAllowed)
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .fragmentsAllowed]
        return String(decoding: try JSONSerialization.data(withJSONObject: value, options: options), as: UTF8.self)
    }

    private func expectSame(_ value: some Encodable) throws {
        #expect(try sorted(Data(RowEncoder.encode(value))) == sorted(JSONEncoder().encode(value)))
    }

    @Test("are what Foundation's encoder writes")
    func whole() throws {
        let part = RowEncoderTests.part
        let value = Whole(
            key: "", parts: [part, Part(numbers: [], choice: .plain, whole: 5)], named: ["": part, "one": part])
        try expectSame(value)
        #expect(try JSONDecoder().decode(Whole.self, from: Data(RowEncoder.encode(value))) == value)
        try expectSame(Extended(part: part))
        #expect(String(decoding: try RowEncoder.encode(["a/b"]), as: UTF8.self) == #"["a/b"]"#)
    }

    @Test("may be single values, and empty ones")
    func single() throws {
        try expectSame("text")
        try expectSame(7)
        try expectSame([Int]())
        try expectSame([String: Int]())
        try expectSame(Empty())
        try expectSame(Int?.none)
    }

    @Test("have no number that JSON hasn't", arguments: [Double.nan, .infinity, -.infinity])
    func numbers(value: Double) {
        #expect(throws: EncodingError.self) { try RowEncoder.encode([value]) }
    }
}
