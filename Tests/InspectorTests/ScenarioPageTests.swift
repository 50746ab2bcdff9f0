import Foundation
import TestSupport
import Testing

@testable import Understudy

@Suite struct ScenarioPageTests {
    let fixture: InspectorFixture

    init() throws { fixture = try InspectorFixture() }

    /// Returns the name of the page's first field.
    private func parameter(of path: String) throws -> String {
        let page = try fixture.page(path).text
        let start = try #require(page.range(of: "name=\"parameter."))
        return "parameter." + page[start.upperBound...].prefix { $0 != "\"" }
    }

    @Test("a scenario is started with its parameters, seen to be on, and stopped")
    func play() throws {
        let fixture = try InspectorFixture(isAlone: true)
        let path = "orders/scenarios/clock-ahead"
        #expect(try fixture.page("orders/scenarios").text.contains("/_understudy/\(path)\""))
        let parameter = try parameter(of: path)
        let started = try fixture.submit(path, [parameter: "20m"])
        #expect(started.status == 303 && started.location.contains("/_understudy/\(path)?notice="))
        #expect(try fixture.page(path).text.contains(">on</span>"))
        #expect(try fixture.page("clock").text.contains("clock is 20 minutes"))
        #expect(try fixture.page("orders/scenarios").text.contains("<h2>Started</h2>"))
        #expect(try fixture.page("orders/scenarios", world: "w1").text.contains("<h2>Started</h2>") == false)
        #expect(try fixture.submit("\(path)/end", [:]).status == 303)
        #expect(try fixture.page("clock").text.contains("clock shows the machine"))
        #expect(!(try fixture.page(path).text.contains(">on</span>")))
    }

    @Test("what a scenario has ordered says so among the orders")
    func origin() throws {
        _ = try fixture.submit("orders/scenarios/cancelled-sign-in", [:])
        let orders = try fixture.page("orders").text
        #expect(orders.contains("orders/scenarios/cancelled-sign-in\">The person cancels</a>"))
        #expect(try fixture.client.get("/_understudy/v1/scenarios").text.contains("\"played\":true"))
        _ = try fixture.submit("orders/withdraw-all", [:])
        #expect(try fixture.page("orders/scenarios/cancelled-sign-in").text.contains("all steps have happened"))
    }

    @Test("a value that the calls refuse comes back in its field")
    func refused() throws {
        let path = "orders/scenarios/clock-ahead"
        let parameter = try parameter(of: path)
        let answer = try fixture.submit(path, [parameter: "<soon>"])
        #expect(answer.status == 409 && answer.text.contains("role=\"alert\""))
        #expect(answer.text.contains("value=\"&lt;soon&gt;\""))
        #expect(try fixture.page("clock").text.contains("clock shows the machine"))
    }

    @Test("an unknown scenario is a page that says so")
    func unknown() throws {
        #expect(try fixture.page("orders/scenarios/clok-ahead").text.contains("clock-ahead"))
        #expect(try fixture.page("orders/scenarios/nope").status == 404)
        #expect(try fixture.submit("orders/scenarios/nope", [:]).status == 404)
        #expect(try fixture.submit("orders/scenarios/nope/end", [:]).status == 404)
    }

    @Test("scenarios of one's own are there with the built-in ones, and what the world began with is said")
    func own() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "mine-\(UUID().uuidString).json")
        try Data(
            #"{"title":"Mine & <b>","happens":"It `does`.","advice":"Bear it.","orders":[{"call":"POST clock","body":{"freeze":true}}]}"#
                .utf8
        ).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        var options = RunningServer.Options()
        options.scenarios = [file.path]
        let fixture = try InspectorFixture(options: options)
        let list = try fixture.page("orders/scenarios").text
        #expect(list.contains("Mine &amp; &lt;b&gt;") && list.contains("It <code>does</code>."))
        #expect(try fixture.page("setup").text.contains("Every test world begins with: Mine &amp; &lt;b&gt;."))
    }
}
