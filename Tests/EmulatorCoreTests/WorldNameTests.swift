import EmulatorCore
import Testing

@Suite("Names of worlds")
struct WorldNameTests {
    @Test(
        "a text that is a name for all ways in stays as it is", arguments: ["checkout", "a", "w1", "login-test-2", "0"])
    func kept(text: String) { #expect(WorldName.made(from: text) == text) }

    @Test(
        "of any other text, what can be read is kept, with 12 digits of its digest",
        arguments: [
            ("tests/test_login.py::test_google[chrome]", "tests-test-login-py-test-google-chrome-"),
            ("Checkout", "checkout-"),
            ("checkout_", "checkout-"), ("-checkout", "checkout-"), ("xn--a", "xn-a-"), ("a.b", "a-b-"), ("", "world-"),
            ("日本", "world-"), ("default", "default-"),
            (String(repeating: "a", count: 64), String(repeating: "a", count: 50) + "-"),
        ])
    func made(text: String, start: String) {
        let name = WorldName.made(from: text)
        #expect(name.hasPrefix(start) && name.utf8.count == start.utf8.count + 12)
        #expect(name == WorldName.made(from: text))
    }

    @Test("names made from texts that look alike differ, and each is a name and a label of a host name")
    func distinct() {
        var texts = ["a b", "a-b", "a_b", "A-b", "a--b", "a-b-", " a-b", "default", "a\u{0}b", "ä-b"]
        texts += (0..<2_000).map { "Test case \($0)" } + (60..<200).map { String(repeating: "x", count: $0) }
        let names = texts.map { WorldName.made(from: $0) }
        #expect(Set(names).count == texts.count)
        for name in names {
            #expect(WorldName.isValid(name) && name.utf8.count <= 63)
            #expect(!name.hasPrefix("-") && !name.hasSuffix("-") && !name.contains("--"))
            #expect(name.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D })
        }
    }
}
