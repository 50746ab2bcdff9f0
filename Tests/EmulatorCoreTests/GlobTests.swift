import EmulatorCore
import Testing

@Suite("Patterns with stars")
struct GlobTests {
    @Test(
        "a star stands for any characters",
        arguments: [
            ("a", "a", true), ("a", "ab", false), ("*", "", true), ("*", "a/b", true), ("a*", "a", true),
            ("a*b", "ab", true), ("a*b", "aXbXb", true), ("a*b", "aXbX", false), ("a*a", "a", false),
            ("*a*b*", "xaxbx", true), ("*ab*ab*", "xabx", false), ("*aab*", "aaab", true), ("*abab*b", "abababb", true),
            ("/v1/*:signUp", "/v1/accounts:signUp", true), ("**", "x", true), ("a**b", "ab", true),
        ])
    func matches(pattern: String, text: String, fits: Bool) {
        #expect(Glob(pattern).matches(text) == fits)
        // If one of two patterns has no star, they overlap when it matches the other.
        #expect(Glob(pattern).overlaps(Glob(text)) == fits)
        #expect(Glob(text).overlaps(Glob(pattern)) == fits)
    }

    @Test("two patterns overlap when a text fits both")
    func overlap() {
        #expect(Glob("/a/*").overlaps(Glob("*/b")))
        #expect(!Glob("/a/*").overlaps(Glob("/b/*")))
        #expect(Glob("*a*").overlaps(Glob("*b*")))
    }
}
