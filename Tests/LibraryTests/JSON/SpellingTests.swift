import JSON
import Testing

@Suite("Spelling")
struct SpellingTests {
    @Test("near words are suggested, far ones aren't")
    func hints() {
        #expect(Spelling.hint("acounts", among: ["accounts", "apple"]) == "; did you mean \"accounts\"?")
        #expect(Spelling.hint("xyzzy", among: ["accounts", "apple"]).isEmpty)
        #expect(Spelling.hint(String(repeating: "a", count: 100_000), among: ["accounts"]).isEmpty)
    }
}
