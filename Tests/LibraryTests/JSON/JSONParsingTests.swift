import JSON
import Testing

@Suite("JSON from outside")
struct JSONParsingTests {
    private func fault(_ text: String, _ limits: JSONLimits = .request) -> String? {
        do { _ = try JSONValue(parsing: text, limits: limits) } catch { return error.description }
        return nil
    }

    @Test(
        "a fault names its line and column",
        arguments: [
            ("{\n  \"a\": 1,,\n}", "line 2, column 10"), ("[1,\n2,\n]", "line 3, column 1"), ("", "line 1, column 1"),
            ("{\"é\": tru}", "line 1, column 9"), ("[1] [2]", "line 1, column 5"),
            ("{\"a\":1,\n\"b\":1e400}", "line 2, column 9"),
            // The error comes after an integer that had to be read as a floating-point number.
            ("[98765432109876543210,\n98765432109876543210, x]", "line 2, column 23"),
        ])
    func place(text: String, place: String) throws {
        let found = try #require(fault(text))
        #expect(found.hasPrefix(place + ": "), "\(found)")
    }

    @Test("the order of members is kept, in a few and in many")
    func order() throws {
        for count in [3, 100] {
            let text = "{" + (0..<count).reversed().map { "\"k\($0)\":\($0)" }.joined(separator: ",") + "}"
            #expect(try JSONValue(parsing: text).text == text)
        }
    }

    @Test("a member that is named twice is refused in what people write; elsewhere the last one counts")
    func duplicates() throws {
        let text = #"{"a":1,"b":2,"a":3}"#
        for limits in [JSONLimits.file, .control] {
            #expect(fault(text, limits)?.contains("duplicate object key near '\"a\"'") == true)
        }
        #expect(try JSONValue(parsing: text).text == #"{"a":3,"b":2}"#)
    }

    @Test("an integer that no Int64 holds is a number, one beyond a double is refused")
    func numbers() throws {
        let value = try JSONValue(
            parsing: #"{"a":9223372036854775808,"b":"9223372036854775808","c":-9223372036854775808}"#)
        #expect(value["a"] == .number(9_223_372_036_854_775_808))
        #expect(value["a"]?.integer == nil)
        #expect(value["b"] == .string("9223372036854775808"))
        #expect(value["c"] == .integer(.min))
        for text in ["1e400", "[-1e999]", String(repeating: "9", count: 400)] {
            #expect(fault(text)?.contains("overflow") == true, "\(text)")
        }
        #expect(try JSONValue(parsing: String(repeating: "9", count: 300)).number?.isFinite == true)
    }

    @Test(
        "what isn't UTF-8 is refused",
        arguments: [
            [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0xFF, 0xFE, 0x31, 0x00],
        ])
    func encoding(bytes: [UInt8]) { #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: bytes) } }

    @Test("U+0000 is taken in a string and refused in a name; a byte order mark is skipped")
    func oddities() throws {
        #expect(try JSONValue(parsing: #"["a\u0000b"]"#) == ["a\u{0}b"])
        #expect(fault(#"{"a\u0000b":1}"#) != nil)
        // Escapes don't get longer, so that a name of a thousand bytes can be read again.
        for escaped in [
            #"\b"#, #"\f"#, #"\n"#, #"\r"#, #"\t"#, #"\""#, #"\\\\"#, #"\u0001"#, "/", "\u{7F}", "\u{2028}", "é",
        ] {
            let text = "{\"\(escaped)\":1}"
            let written = try JSONValue(parsing: text).text
            #expect(written.utf8.count <= text.utf8.count, "\(escaped)")
            #expect(try JSONValue(parsing: written) == JSONValue(parsing: text))
        }
        #expect(try JSONValue(parsing: [0xEF, 0xBB, 0xBF, 0x5B, 0x5D]) == [])
        #expect(fault("[1]\u{0}") != nil)
    }

    @Test("limits hold where they are, and one less is taken")
    func limits() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        func object(_ count: Int) -> String { "{" + (0..<count).map { "\"k\($0)\":[{}]" }.joined(separator: ",") + "}" }
        func list(_ count: Int) -> String { "[" + Array(repeating: "0", count: count).joined(separator: ",") + "]" }
        #expect(fault(nested(64)) == nil)
        #expect(fault(nested(65)) == "line 1, column 65: arrays and objects nested deeper than 64 levels")
        #expect(fault(object(1_000)) == nil)
        #expect(fault(object(1_001))?.hasSuffix("an object of more than 1000 members") == true)
        #expect(fault("[\(object(600)),\(object(600))]") == nil)
        #expect(fault(list(99_999)) == nil)
        #expect(fault(list(100_001))?.hasSuffix("more than 100000 values") == true)
        #expect(fault(object(1_001), .file) == nil)
        #expect(fault(list(100_001), .file) == nil)
        // Brackets and commas in strings aren't counted.
        #expect(fault("[\"" + String(repeating: "[,\\\"", count: 1_000) + "\"]") == nil)
        #expect(fault("\"" + String(repeating: "x", count: 1 << 20) + "\"")?.contains("bytes of JSON") == true)
    }

    @Test("an object of any size behaves as a list of pairs does")
    func objects() {
        var object = JSONObject()
        var model: [(String, Int64)] = []
        var seed: UInt64 = 7
        for _ in 0..<4_000 {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let key = "k\(seed >> 33 & 31)"
            let value = Int64(seed >> 40 & 0xFFFF)
            let place = model.firstIndex { $0.0 == key }
            if seed >> 60 < 8 {
                object[key] = .integer(value)
                if let place { model[place].1 = value } else { model.append((key, value)) }
            } else {
                object[key] = nil
                if let place { model.remove(at: place) }
            }
            #expect(object.count == model.count)
            #expect(object[key]?.integer == model.first { $0.0 == key }?.1)
        }
        #expect(object.keys == model.map(\.0))
        #expect(object.members.map(\.value.integer) == model.map(\.1))
        #expect(object == JSONObject(model.reversed().map { ($0.0, .integer($0.1)) }))
        #expect(object != JSONObject(model.dropFirst().map { ($0.0, .integer($0.1)) }))
    }
}
