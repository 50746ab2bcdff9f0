import Foundation
import TestSupport
import Testing

@testable import Understudy

@Suite struct WorldsPageTests {
    let fixture: InspectorFixture

    init() throws { fixture = try InspectorFixture(isAlone: true) }

    @Test("worlds are made, reset and deleted, each told by its name")
    func life() throws {
        #expect(try fixture.submit("worlds", ["field.name": "w1"]).status == 303)
        _ = try fixture.client.post("/~w1/appleid.apple.com/auth/token", form: [:])
        let page = try fixture.page("worlds").text
        #expect(page.contains("href=\"http://localhost:\(fixture.client.port)/~w1/_understudy/\">w1</a>"))
        #expect(page.contains("<span class=\"badge bad\">1</span>"))
        // Each world can be reset from any other.
        #expect(try fixture.submit("worlds/reset", ["name": "w1"], world: "w2").status == 303)
        #expect(!(try fixture.page("worlds").text.contains("badge bad")))
        #expect(try fixture.submit("worlds/delete", ["name": "w1"]).status == 303)
        #expect(!(try fixture.page("worlds").text.contains(">w1</a>")))
    }

    @Test("a world gets a port of its own, at which its inspector is", .oneProcess("a world's port is one replica's"))
    func port() throws {
        _ = try fixture.submit("worlds", ["field.name": "w1", "field.listen": "0"])
        let page = try fixture.page("worlds").text
        let address = try #require(
            page.components(separatedBy: "href=\"http://localhost:").dropFirst().first {
                $0.contains("/_understudy/\">w1</a>") && !$0.hasPrefix("\(fixture.client.port)")
            })
        let port = try #require(Int(address.prefix { $0 != "/" }))
        let own = try TestClient(port: port).get("/_understudy/setup/firebase-web", headers: ["Accept": "text/html"])
        #expect(own.text.contains("connectAuthEmulator(auth, &quot;http://localhost:\(port)&quot;)"))
        let byPath = try fixture.page("setup/firebase-web", world: "w1")
        #expect(byPath.text.contains("connectAuthEmulator(auth, &quot;http://localhost:\(port)&quot;)"))
    }

    @Test(
        "what can't be is refused, with the form as it was",
        arguments: [
            ("worlds", ["field.name": "a b<"], 400, "id=\"field.name-fault\""),
            ("worlds", ["field.name": "w1", "field.listen": "70000"], 400, "id=\"field.listen-fault\""),
            ("worlds/delete", ["name": "default"], 409, "to empty it"),
            ("worlds/delete", ["name": "nobody"], 404, "there is no test world"),
            ("worlds/reset", ["name": "nobody"], 404, "there is no test world"),
            ("worlds/reset", ["name": "../reset"], 404, "there is no test world"),
        ])
    func refused(path: String, fields: [String: String], status: Int, words: String) throws {
        let answer = try fixture.submit(path, fields, world: "here")
        #expect(answer.status == status)
        #expect(answer.text.contains("role=\"alert\"") && answer.text.contains(words))
        #expect(!answer.text.contains("a b<"))
    }

    @Test("a world isn't deleted from its own page, which would make it anew")
    func ownPage() throws {
        let answer = try fixture.submit("worlds/delete", ["name": "w1"], world: "w1")
        #expect(answer.status == 409 && answer.text.contains("from another world"))
    }

    @Test("many worlds are paged and searched")
    func many() throws {
        for number in 100..<160 {
            _ = try fixture.client.post("/_understudy/v1/worlds", json: ["name": "many-\(number)"])
        }
        let first = try fixture.page("worlds").text
        #expect(first.contains(">many-100</a>") && !first.contains(">many-159</a>"))
        let link = try #require(first.range(of: "worlds?search=&amp;after="))
        let rest = String(first[link.lowerBound...].prefix { $0 != "\"" }).replacingOccurrences(of: "&amp;", with: "&")
        let second = try fixture.page(rest).text
        #expect(second.contains(">many-159</a>") && !second.contains(">many-100</a>"))
        let found = try fixture.page("worlds?search=-15").text
        #expect(found.contains(">many-150</a>") && !found.contains(">many-149</a>"))
        #expect(try fixture.page("worlds?search=zzz").text.contains("No world matches this name"))
    }

    // MARK: - Seeds

    @Test("the seed is shown, merged into and replaced")
    func seed() throws {
        #expect(try fixture.page("worlds/seed").text.contains("Ada"))
        #expect(try fixture.page("worlds/seed?edit=whole").text.contains("<textarea name=\"seed\""))
        let max = #"{"accounts": [{"id": "max", "email": "max@example.org"}]}"#
        #expect(try fixture.submit("worlds/seed", ["mode": "merge", "seed": max], world: "w1").status == 303)
        let people = { (world: String) in try fixture.client.get("\(world)/_understudy/v1/accounts").text }
        #expect(try people("/~w1").contains("max") && people("/~w1").contains("ada"))
        #expect(!(try people("").contains("max")))
        #expect(try fixture.submit("worlds/seed", ["mode": "replace", "seed": max], world: "w1").status == 303)
        #expect(!(try people("/~w1").contains("\"ada\"")))
    }

    @Test("mistakes in a seed are shown with their paths, all of them, and the text stays")
    func mistakes() throws {
        let wrong = #"{"accounts": [{"id": "max", "emial": "<x>"}], "googel": {}}"#
        let answer = try fixture.submit("worlds/seed", ["mode": "merge", "seed": wrong])
        #expect(answer.status == 400)
        #expect(answer.text.contains("$.accounts[0].emial") && answer.text.contains("$.googel"))
        #expect(answer.text.contains("&quot;emial&quot;: &quot;&lt;x&gt;&quot;"))
        let broken = try fixture.submit("worlds/seed", ["mode": "replace", "seed": "{"])
        #expect(broken.status == 400 && broken.text.contains("read as JSON"))
    }

    @Test("what is masked isn't in a seed that is shown")
    func masked() throws {
        var options = RunningServer.Options()
        options.masksSecrets = true
        let fixture = try InspectorFixture(options: options)
        for path in ["worlds/seed", "worlds/seed?edit=whole", "setup", "setup/github"] {
            let page = try fixture.page(path)
            #expect(page.status == 200 && !page.text.contains("github-secret-for-tests"), "\(path)")
        }
        #expect(try fixture.page("setup").text.contains("masked-23"))
    }
}
