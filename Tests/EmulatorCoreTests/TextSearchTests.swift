import EmulatorCore
import Testing

@Suite("Searches in texts")
struct TextSearchTests {
    @Test(
        "a text is found where it stands, in any case",
        arguments: [
            ("", "", true), ("", "a", true), ("a", "", false), ("a", "b", false), ("a", "bab", true),
            ("RESET", "a reset b", true),
            ("reset", "Your RESET", true), ("aab", "aaab", true), ("abab", "abacabab", true), ("abab", "abaab", false),
            ("é", "CAFÉ", true), ("straße", "STRAßE 1", true), ("日本", "今日本", true), ("aé", "aaé", true),
            ("éa", "éé", false),
            ("aaaa", "aaa", false), ("aabaaac", "aabaabaaac", true),
        ])
    func finds(wanted: String, text: String, isThere: Bool) {
        #expect(TextSearch(wanted).isFound(in: text) == isThere)
    }
}
