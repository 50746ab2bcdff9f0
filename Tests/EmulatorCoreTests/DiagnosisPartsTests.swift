import Testing

@testable import EmulatorCore

/// The parts of a diagnosis, with the difference marked.
@Suite struct DiagnosisPartsTests {
    private func marked(_ pieces: [DiagnosisParts.Piece]) -> String {
        pieces.map { $0.isMarked ? "[\($0.text)]" : $0.text }.joined()
    }

    @Test(
        "a line is read as it was written, and where two values differ is marked",
        arguments: [
            (
                Diagnosis(
                    received: "redirect_uri \"http://localhost:3001/callback\"",
                    expected: "\"https://a.example/\" or \"http://localhost:3000/callback\"", "register it"),
                "redirect_uri \"http://localhost:300[1]/callback\"",
                "\"https://a.example/\" or \"http://localhost:300[0]/callback\""
            ),
            // The values have no quotation marks, as in lists of Apple's.
            (
                Diagnosis(
                    received: "redirect_uri \"https://example.com/callback/\"",
                    expected: "exactly one of: https://example.com/callback https://example.org/x", "register it"),
                "redirect_uri \"https://example.com/callback[/]\"",
                "exactly one of: https://example.com/callback https://example.org/x"
            ),
            // The values have nothing in common.
            (
                Diagnosis(received: "scope \"everything\"", expected: "\"openid\"", "ask for less; it is enough"),
                "scope \"everything\"", "\"openid\""
            ),
            // A value may have the text that otherwise ends a part.
            (
                Diagnosis(received: "state \"a; expected b\"", expected: nil, "send it as it was"),
                "state \"a", "b\""
            ),
            (Diagnosis(received: "a \"x; y\" value", "it is wrong"), "a \"x; y\" value", ""),
            (Diagnosis("a code works once"), "", ""),
        ])
    func parts(diagnosis: Diagnosis, received: String, expected: String) {
        let parts = DiagnosisParts(line: diagnosis.line)
        #expect(marked(parts.received) == received)
        #expect(marked(parts.expected) == expected)
        #expect(diagnosis.line.hasSuffix(parts.advice))
    }

    @Test("a header has three dots for an ellipsis, and a question mark for another character beyond ASCII")
    func ascii() {
        #expect(Diagnosis("gho_, ghu_ \u{2026}, caf\u{E9}").line == "gho_, ghu_ ..., caf?")
        #expect(Diagnosis(String(repeating: "\u{2026}", count: 1_000)).line == String(repeating: ".", count: 1_000))
    }

    @Test("a page has the parts under one another, and escapes them") func html() {
        let html = DiagnosisParts(line: "received \"<b>\"; expected \"a\"; use \"a\"").html().fragment
        #expect(html.contains("<dt>Received</dt><dd><code>&quot;&lt;b&gt;&quot;</code></dd>"))
        #expect(html.contains("<dt>Do</dt><dd>Use &quot;a&quot;</dd>"))
        #expect(DiagnosisParts(line: "received \"x\"; nobody has it").html().fragment.contains("<dt>Why</dt>"))
        #expect(DiagnosisParts(line: "a code works once").html().fragment == "<p>A code works once</p>")
    }
}
