import Foundation
import TestSupport
import Testing

@testable import Firebase

/// The parts that pop-ups and redirects of the web SDK need and that no browser has to run;
/// `Tests/Browser/test_popups.py` tests the others.
@Suite("Firebase: the web SDK's frame")
struct SignInFrameTests {
    let fixture: FirebaseFixture

    init() throws {
        fixture = try FirebaseFixture(
            seed: """
                {"interaction": {"mode": "auto", "account": "ada"},
                 "firebase": {"projects": [{"id": "demo-app", "authorizedDomains": ["app.example"]}]}}
                """, isAlone: true)
    }

    @Test("scripts are built in as they are, and can stand in a page")
    func scripts() throws {
        for (name, text) in [("gapi", Scripts.gapi), ("frame", Scripts.frame), ("handler", Scripts.handler)] {
            let file = try Repository.read("Sources/Firebase/Assets/\(name).js")
            // The raw string of the source ends before its last line break.
            #expect("\(text)\n" == file, "\(name)")
            // These texts would end the element, or begin a comment in it:
            // https://html.spec.whatwg.org/#restrictions-for-contents-of-script-elements
            #expect(!file.lowercased().contains("</script") && !file.contains("<!--"))
        }
    }

    @Test("our gapi is at Google's address and at ours, for pages of any origin")
    func gapi() throws {
        let port = fixture.client.port
        for (path, host) in [
            ("/_understudy/gapi.js", "localhost:\(port)"), ("/_understudy/gapi.js", "app.example"),
            ("/~other/_understudy/gapi.js", "localhost:\(port)"), ("/apis.google.com/js/api.js", "localhost:\(port)"),
            ("/js/api.js?onload=x", "apis.google.com"), ("/js/api.js", "apis.google.com.localhost:\(port)"),
        ] {
            let answer = try fixture.client.get(
                path,
                headers: ["Host": host, "Origin": "https://app.example", "Sec-Fetch-Site": "cross-site"])
            #expect(answer.status == 200, "\(path) at \(host)")
            #expect(answer.text == "\(Scripts.gapi)")
            #expect(answer.header("Content-Type")?.hasPrefix("text/javascript") == true)
            #expect(answer.header("Access-Control-Allow-Origin") == "https://app.example")
            #expect(answer.header("Cross-Origin-Resource-Policy") == "cross-origin")
        }
        #expect(try fixture.client.get("/apis.google.com/js/platform.js").status == 404)
    }

    // MARK: - The frame and what is kept for it

    private func frame(_ name: String? = nil, app: String = "[DEFAULT]", world: String = "") throws -> Answer {
        var query = ["apiKey": FirebaseFixture.key, "appName": app]
        query["understudy_answer"] = name
        return try fixture.client.get("\(world)/emulator/auth/iframe?\(TestClient.encode(query))")
    }

    /// Returns the handler's last page, for an app's page at `url`.
    private func answer(
        to url: String, _ type: String = "signInViaRedirect", world: String = ""
    ) throws -> Answer {
        let query = [
            "apiKey": FirebaseFixture.key, "appName": "[DEFAULT]", "authType": type, "providerId": "github.com",
            "redirectUrl": url, "eventId": "",
        ]
        let origin = "http://localhost:\(fixture.client.port)"
        var answer = try fixture.client.get("\(world)/emulator/auth/handler?\(TestClient.encode(query))")
        for _ in 0..<5 where answer.status == 302 {
            try #require(answer.location.hasPrefix(origin))
            answer = try fixture.client.get(String(answer.location.dropFirst(origin.count)))
        }
        return answer
    }

    private func event(_ text: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    @Test("the frame knows the project's domains, and of a key that nobody has none")
    func domains() throws {
        let known = Answer.attribute("data-domains", of: try frame().text)
        for domain in ["app.example", "demo-app.firebaseapp.com", "demo-app.web.app"] {
            #expect(known.contains("\"\(domain)\""))
        }
        #expect(Answer.attribute("data-kept", of: try frame().text) == "")
        let other = try fixture.client.get(
            "/__/auth/iframe?apiKey=unknown&appName=a", headers: ["Host": "demo-app.firebaseapp.com"])
        #expect(Answer.attribute("data-domains", of: other.text) == "[]")
    }

    @Test("an answer for a page of another site waits for the frame that names it, once")
    func anotherSite() throws {
        let page = try answer(to: "http://127.0.0.1:3000/")
        #expect(page.header("Referrer-Policy") == "unsafe-url")
        let name = Answer.attribute("data-kept-as", of: page.text)
        #expect(name.count == 32)
        #expect(Answer.attribute("data-kept", of: try frame("x").text) == "")
        #expect(Answer.attribute("data-kept", of: try frame(name, app: "another").text) == "")
        #expect(Answer.attribute("data-kept", of: try frame(name, world: "/~other").text) == "")
        let kept = try event(Answer.attribute("data-kept", of: try frame(name).text))
        #expect(kept["type"] as? String == "signInViaRedirect")
        #expect(kept["eventId"] is NSNull)
        #expect((kept["urlResponse"] as? String)?.hasPrefix(FirebaseFixture.handler) == true)
        #expect(Answer.attribute("data-kept", of: try frame(name).text) == "")
        // The event is removed after an hour.
        let late = Answer.attribute("data-kept-as", of: try answer(to: "http://127.0.0.1:3000/").text)
        try fixture.advance("61m")
        #expect(Answer.attribute("data-kept", of: try frame(late).text) == "")
    }

    @Test("an answer that is longer than an address can be isn't kept")
    func longAnswer() throws {
        let query = [
            "apiKey": FirebaseFixture.key, "appName": "[DEFAULT]", "authType": "signInViaRedirect",
            "providerId": "github.com", "redirectUrl": "http://127.0.0.1:3000/", "eventId": "",
        ]
        let begun = try fixture.client.get("/emulator/auth/handler?\(TestClient.encode(query))")
        let state = try #require(URLComponents(string: begun.location)?.queryItems?.first { $0.name == "state" }?.value)
        func answer(_ length: Int) throws -> Answer {
            try fixture.client.post(
                "/emulator/auth/handler", form: ["state": state, "code": String(repeating: "c", count: length)])
        }
        let long = try answer(33_000)
        #expect(long.status == 413 && Answer.attribute("data-kept-as", of: long.text) == "", "\(long)")
        #expect(Answer.attribute("data-kept-as", of: try answer(30_000).text).count == 32)
    }

    @Test("nothing waits for a page of the same site, nor for one that opened a pop-up")
    func sameSite() throws {
        for (url, type) in [
            ("http://localhost:3000/", "signInViaRedirect"), ("http://127.0.0.1:3000/", "linkViaPopup"),
        ] {
            let page = try answer(to: url, type)
            #expect(page.status == 200)
            #expect(Answer.attribute("data-kept-as", of: page.text) == "")
            #expect(page.header("Referrer-Policy") == nil)
            #expect(Answer.attribute("data-flow", of: page.text) == (type == "linkViaPopup" ? "popup" : "redirect"))
        }
    }

    @Test("worlds, which share an origin, keep apart what their handlers store")
    func worlds() throws {
        for (world, key) in [("", "demo-api-key:[DEFAULT]"), ("/~other", "~other:demo-api-key:[DEFAULT]")] {
            #expect(Answer.attribute("data-key", of: try frame(world: world).text) == key)
            let page = try answer(to: "http://localhost:3000/", world: world)
            #expect(Answer.attribute("data-key", of: page.text) == key)
        }
    }

    @Test("under the real name a redirect to another site is production's, and its note says why it has no result")
    func realName() throws {
        func get(_ url: String, at host: String) throws -> Answer {
            try fixture.client.get(url, headers: ["Host": host])
        }
        for (page, isElsewhere) in [("https://app.example/", true), ("https://demo-app.firebaseapp.com/", false)] {
            let query = [
                "apiKey": FirebaseFixture.key, "authType": "signInViaRedirect", "providerId": "github.com",
                "redirectUrl": page,
            ]
            var answer = try get("/__/auth/handler?\(TestClient.encode(query))", at: "demo-app.firebaseapp.com")
            for _ in 0..<5 where answer.status == 302 {
                let url = try #require(URLComponents(string: answer.location))
                answer = try get("\(url.percentEncodedPath)?\(url.percentEncodedQuery ?? "")", at: url.host ?? "")
            }
            #expect(answer.status == 200)
            #expect(Answer.attribute("data-kept-as", of: answer.text) == "")
            #expect(answer.note.contains("getRedirectResult()") == isElsewhere)
        }
    }

    @Test("in emulator mode a pop-up for a page of no authorized domain says so to the page that opened it")
    func unauthorized() throws {
        func refusal(_ type: String, _ path: String, _ host: String) throws -> Answer {
            let query = [
                "apiKey": FirebaseFixture.key, "appName": "a", "authType": type, "providerId": "github.com",
                "eventId": "E", "redirectUrl": "https://evil.example/",
            ]
            return try fixture.client.get("\(path)?\(TestClient.encode(query))", headers: ["Host": host])
        }
        let local = "localhost:\(fixture.client.port)"
        let page = try refusal("signInViaPopup", "/emulator/auth/handler", local)
        #expect(page.status == 400)
        let told = try event(Answer.attribute("data-event", of: page.text))
        #expect((told["error"] as? [String: String])?["code"] == "auth/unauthorized-domain")
        #expect(told["eventId"] as? String == "E")
        #expect(told["urlResponse"] is NSNull)
        // At the real host the SDK checks that itself, and would reject twice.
        for answer in [
            try refusal("signInViaPopup", "/__/auth/handler", "demo-app.firebaseapp.com"),
            try refusal("signInViaRedirect", "/emulator/auth/handler", local),
        ] {
            #expect(answer.status == 400)
            #expect(!answer.text.contains("data-event"))
        }
    }
}
