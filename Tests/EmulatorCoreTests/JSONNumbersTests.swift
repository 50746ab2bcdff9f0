import Testing

@testable import EmulatorCore

@Suite("numbers in JSON that are too large")
struct JSONNumbersTests {
    @Test(
        "are found wherever they stand",
        arguments: [
            ("[1,2,10001]", "10001"), (#"{"a":-10001}"#, "-10001"), (#"{"a":"x","b":[{"c":1e9}]}"#, "1e9"),
            ("10000.5", "10000.5"), (#"["a\\",99999]"#, "99999"),
        ])
    func found(text: String, number: String) {
        #expect(JSONNumbers.first(beyond: 10_000, in: Array(text.utf8)) == number)
    }

    @Test(
        "aren't looked for in texts, nor in what isn't JSON",
        arguments: ["[10000,-10000,1e4]", #"{"99999":"99999\"99999"}"#, "", #""99999"#, #""9\"#, "--9", "[1-99999"])
    func others(text: String) { #expect(JSONNumbers.first(beyond: 10_000, in: Array(text.utf8)) == nil) }
}
