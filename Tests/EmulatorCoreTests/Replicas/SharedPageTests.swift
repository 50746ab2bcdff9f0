import Foundation
import HTTPServer
import JSON
import Synchronization
import TestSupport
import Testing
import Understudy

@testable import EmulatorCore

@Suite("the inspector and waiting requests at replicas")
struct SharedPageTests {
    @Test(
        "a form of one replica's page is taken by the other, and a third page says what has happened, once",
        arguments: SharedStores.allCases)
    func forms(kind: SharedStores) throws {
        let pair = try kind.pair()
        defer { pair.end() }
        let (a, b) = (pair.a, pair.b)
        let page = a.send("GET", "/_understudy/clock").text
        let token = try #require(page.firstMatch(of: /name="formToken" value="([^"]+)"/)?.1)
        let moved = b.post(
            form: [("formToken", String(token)), ("do", "advance"), ("span", "1h")], to: "/_understudy/clock")
        let location = try #require(moved.header("Location"))
        #expect(moved.status == 303, "\(moved.text)")
        let path = try #require(location.firstRange(of: "/_understudy/").map { String(location[$0.lowerBound...]) })
        #expect(a.send("GET", path).text.contains("class=\"note good\""))
        #expect(!b.send("GET", path).text.contains("class=\"note good\""))
        #expect(
            b.post(form: [("formToken", "x"), ("do", "advance"), ("span", "1h")], to: "/_understudy/clock").status
                == 403)
    }

    @Test("a request that waits for mail sees what comes to another replica", arguments: SharedStores.allCases)
    func waiting(kind: SharedStores) throws {
        let pair = try kind.pair()
        defer { pair.end() }
        let (a, b) = (pair.a, pair.b)
        let answer = Mutex<Replica.Answer?>(nil)
        let thread = Thread { [b] in
            let found = b.call("GET", "mail?to=ada@example.com&wait=1m")
            answer.withLock { $0 = found }
        }
        thread.start()
        #expect(eventually { b.worlds.budget.listeners.count > 0 })
        let world = try #require(try a.worlds.existing("default"))
        try world.deliver(try SampleMail.rails.message(to: ["ada@example.com"]))
        let sent = Date()
        #expect(eventually { answer.withLock { $0 != nil } })
        let found = try #require(answer.withLock { $0 })
        #expect(found.json["messages"]?.array?.count == 1, "\(found.text)")
        // The waiting call checks every tenth of a second, and not only after the minute.
        #expect(Date().timeIntervalSince(sent) < 50)
    }
}
