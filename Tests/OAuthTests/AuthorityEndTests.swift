import OAuth
import Testing

@Suite("where the host of a web address ends")
struct AuthorityEndTests {
    @Test("a host ends where a browser sees its end, whatever marks follow")
    func marks() {
        for mark in ["/", "?", "#", "\\"] {
            let address = WebAddress("https://evil.example\(mark)\u{301}.example.com/callback")
            #expect(address?.host == "evil.example")
        }
        #expect(WebAddress("https://example.com@\u{301}evil.example/") == nil)
        #expect(WebAddress("https://example.com/a?\u{301}b")?.path == "/a")
        #expect(WebAddress("https://example.com/a#\u{301}b")?.hasFragment == true)
    }
}
