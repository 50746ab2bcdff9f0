import Foundation
import TestSupport
import Testing

/// The parts that all pages have.
@Suite struct FrameTests {
    let fixture: InspectorFixture

    init() throws { fixture = try InspectorFixture() }

    @Test("a page loads nothing but its own files, and those are there") func policy() throws {
        let page = try fixture.page()
        #expect(page.status == 200)
        let policy = try #require(page.header("Content-Security-Policy"))
        #expect(policy.hasPrefix("default-src 'none'") && !policy.contains("unsafe"))
        #expect(!page.text.contains("<style") && !page.text.contains(" style=") && !page.text.contains(" onclick"))
        let files = page.text.components(separatedBy: "/_understudy/assets/").dropFirst().map {
            $0.prefix { $0 != "\"" }
        }
        #expect(files.count >= 2)
        for file in files {
            let asset = try fixture.client.get("/_understudy/assets/\(file)")
            #expect(asset.status == 200 && !asset.body.isEmpty)
            #expect(asset.header("Cache-Control")?.contains("immutable") == true)
        }
    }

    @Test("the first page is at / for browsers, and programs recognize an emulator there") func home() throws {
        #expect(try fixture.client.get("/", headers: ["Accept": "text/html"]).text.contains("<h1>Sign-ins</h1>"))
        #expect((try fixture.client.get("/").json["authEmulator"] as? [String: Any])?["ready"] as? Bool == true)
        #expect(try fixture.client.get("/_understudy").location.hasSuffix("/_understudy/"))
    }

    @Test("an address without a page has one that says so, and is nobody's sign-in") func nothingThere() throws {
        for (path, status) in [("nothing", 404), ("people/ada/delete", 405), ("worlds/reset", 405), ("people/", 404)] {
            let page = try fixture.page(path)
            #expect(page.status == status && page.text.contains("To the sign-ins"), "\(path)")
            #expect(!page.diagnosis.isEmpty)
        }
        #expect(try fixture.client.get("/_understudy/v1/requests").json["requests"] as? [Any] != nil)
        #expect((try fixture.client.get("/_understudy/v1/requests").json["requests"] as? [Any])?.isEmpty == true)
        let long = try fixture.submit("explain", ["value": String(repeating: "x", count: 70_000)], from: "explain")
        #expect(long.status == 400 && long.text.contains("The form is too long"))
    }

    @Test("what a form has done is said once, on its page") func notices() throws {
        let answer = try fixture.submit("clock", ["do": "advance", "span": "6m"])
        let page = String(answer.location.components(separatedBy: "/_understudy/").last ?? "")
        #expect(page.hasPrefix("clock?notice="))
        #expect(!(try fixture.page(page.replacingOccurrences(of: "clock", with: "people"))).text.contains("note good"))
        #expect(try fixture.page(page).text.contains("note good"))
        #expect(!(try fixture.page(page)).text.contains("note good"))
    }

    @Test(
        "a page of another origin gets nothing, but its links lead here",
        arguments: [
            (["Host": "rebound.example"], 403), (["Origin": "https://other.example"], 403),
            (["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"], 403),
            (["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"], 403),
            (["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"], 200),
        ])
    func foreign(headers: [String: String], status: Int) throws {
        let page = try fixture.page(headers: headers)
        #expect(page.status == status)
        #expect((status == 403) == page.text.contains("<h1>Refused</h1>"))
    }
}
