import JOSE
import JSON
import Testing

@Suite("JSON Web Signatures")
struct JWSTests {
    @Test("a minted token parses, and its signature covers both parts")
    func roundTrip() throws {
        let key = try Key.generateP256()
        let text = try JWS.mint(
            header: JSONObject([("alg", "ES256")]), claims: JSONObject([("z", 1), ("a", "ü\"\n")]), key: key,
            algorithm: .es256)
        let token = try JWS(parsing: text)
        #expect(token.algorithm == "ES256")
        #expect(token.claims["a"] == "ü\"\n")
        #expect(token.verify(with: key, algorithm: .es256) == .valid)
        var tampered = text
        tampered.replaceSubrange(tampered.startIndex..<tampered.index(after: tampered.startIndex), with: "f")
        #expect((try? JWS(parsing: tampered))?.verify(with: key, algorithm: .es256) != .valid)
    }

    @Test(
        "a text that is no token is refused, never trapped on",
        arguments: [
            "", ".", "..", "...", "a.b", "a.b.c.d", "e30.e30.!", "!.e30.", "e30.!.", "W10.e30.", "e30.W10.", "e30.ew.",
            "bnVsbA.e30.", "e30=.e30.", " e30.e30.", "e30.e30.A", "e30.e30\n.", String(repeating: "A", count: 20_000),
            String(repeating: ".", count: 10_000), "e30." + String(repeating: "W1", count: 4000) + ".",
        ])
    func malformed(text: String) {
        let error = #expect(throws: JWS.Malformed.self) { try JWS(parsing: text) }
        #expect(!(error?.description.isEmpty ?? true))
    }
}

@Suite("JSON values")
struct JSONValueTests {
    @Test("members keep the order in which they were set")
    func order() {
        var object = JSONObject([("z", 1), ("a", 2)])
        object["m"] = 3
        object["z"] = 9
        object["a"] = nil
        #expect(JSONValue.object(object).text == #"{"z":9,"m":3}"#)
    }

    @Test(
        "text is escaped so that it reads back",
        arguments: ["", "a", ",]", "\"\\/", "\u{0}\u{1}\u{1f}", "\r\n\t", "é😀", "\u{2028}", "</script>"])
    func escapes(text: String) throws {
        #expect(try JSONValue(parsing: JSONValue.string(text).serialized()).string == text)
    }

    @Test("numbers: integers stay whole, fractions stay fractions")
    func numbers() throws {
        let value = try JSONValue(parsing: #"{"a":1,"b":-9223372036854775808,"c":1.5,"d":1e3,"e":true,"f":null}"#)
        #expect(value["a"] == 1)
        #expect(value["b"]?.integer == Int64.min)
        #expect(value["c"] == .number(1.5))
        #expect(value["d"]?.integer == 1000)
        #expect(value["e"] == true)
        #expect(value["f"]?.isNull ?? false)
    }

    @Test(
        "what isn't JSON is refused",
        arguments: [
            "", "{", "{]", "nul", "\"", "{\"a\" 1}", "{\"a\":1,}", "[1, ]", "[1 2]", "\u{feff}x", "01", "1e999",
            "{\"a\":\"\\u12\"}",
        ])
    func malformed(text: String) { #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) } }

    @Test("deep nesting is refused before it costs stack")
    func depth() {
        let deep = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: deep) }
    }
}
