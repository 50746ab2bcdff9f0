import OAuth
import Testing

@Suite("registered redirect URIs")
struct RegisteredRedirectURITests {
    @Test(
        "what a registered one matches",
        arguments: [
            ("https://app.example/cb", "https://app.example/cb", true, true),
            ("https://app.example/cb", "https://app.example/cb?x=1", false, true),
            ("https://app.example/cb", "https://app.example/cb#\u{301}x", false, false),
            ("https://app.example/cb", "https://app.example/cb\r\nX: y", false, false),
            ("https://app.example", "https://app.example.evil.example/", false, false),
            ("https://app.example", "https://app.example@evil.example/", false, false),
            ("https://app.example", "https://app.example/anything", false, true),
            ("http://localhost:*", "http://localhost:1@evil.example/cb", false, false),
            ("http://localhost:*", "http://localhost:3000/cb", false, true),
            ("http://localhost:*/cb", "http://localhost:3000/cb", true, true),
            ("http://localhost:*/cb", "http://localhost/cb", true, true),
            ("http://localhost:*/cb", "http://localhost.evil.example/cb", false, false),
            ("http://localhost:*/cb", "http://localhost@evil.example/cb", false, false),
            ("http://localhost:*/cb", "http://localhost:99999/cb", false, false),
            ("http://localhost:*/cb", "http://localhost:x/cb", false, false),
        ])
    func matching(registered: String, uri: String, exact: Bool, prefix: Bool) {
        #expect(RegisteredRedirectURI(registered).matches(uri, .exact) == exact)
        #expect(RegisteredRedirectURI(registered).matches(uri, .prefix) == prefix)
    }
}
