import TestSupport
import Testing

@testable import Apple

/// The script for web pages, as far as no browser has to run it; `Tests/Browser/test_apple_script.py` does.
@Suite("Apple: Sign in with Apple JS")
struct BrowserScriptTests {
    let fixture: AppleFixture

    init() throws { fixture = try AppleFixture(isAlone: true) }

    @Test("the script is called with Apple's address in the way in which it was asked for, in every locale")
    func address() throws {
        let port = fixture.client.port
        let host = "/appleid.cdn-apple.com"
        for (prefix, name, locale, base) in [
            (host, "localhost:\(port)", "en_US", "http://localhost:\(port)/appleid.apple.com"),
            ("/~w\(host)", "localhost:\(port)", "de_DE", "http://localhost:\(port)/~w/appleid.apple.com"),
            ("", "appleid.cdn-apple.com", "fr_CA", "https://appleid.apple.com"),
            ("", "appleid.cdn-apple.com.localhost:\(port)", "en_US", "http://appleid.apple.com.localhost:\(port)"),
        ] {
            let answer = try fixture.client.get(
                "\(prefix)/appleauth/static/jsapi/appleid/1/\(locale)/appleid.auth.js",
                headers: ["Host": name, "Origin": "https://app.example"])
            #expect(answer.status == 200)
            #expect(answer.header("Content-Type")?.hasPrefix("text/javascript") == true)
            #expect(answer.header("Access-Control-Allow-Origin") == "https://app.example")
            #expect(answer.header("Cross-Origin-Resource-Policy") == "cross-origin")
            #expect(answer.text == "\(Scripts.appleid)(\"\(base)\");\n")
        }
        #expect(
            try fixture.client.get("\(host)/appleauth/static/jsapi/other.js").text.contains("<center>Apple</center>"))
    }

    @Test("no message goes to every origin")
    func origins() throws {
        let file = try Repository.read("Sources/Apple/Assets/appleid.js")
        #expect("\(Scripts.appleid)\n" == file)
        #expect(!file.contains("postMessage"))
    }

    @Test(
        "the picture of a button has the sizes that Apple documents, and 404 for others",
        arguments: [
            ("", 200, "width=\"140\" height=\"30\""),
            ("height=64&width=375&scale=2", 200, "width=\"750\" height=\"128\""),
            ("type=continue&color=white&border=true", 200, "Continue with Apple"), ("height=65", 404, ""),
            ("width=129", 404, ""), ("height=99999999999999999999", 404, ""), ("type=buy", 404, ""),
            ("border_radius=-1", 404, ""),
        ])
    func picture(query: String, status: Int, word: String) throws {
        let answer = try fixture.client.get("/appleid.cdn-apple.com/appleid/button?\(query)")
        #expect(answer.status == status)
        #expect(word.isEmpty || answer.text.contains(word))
        #expect(answer.diagnosis.isEmpty == (status == 200))
    }
}
