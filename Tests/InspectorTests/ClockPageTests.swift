import TestSupport
import Testing

@Suite struct ClockPageTests {
    let fixture: InspectorFixture

    init() throws { fixture = try InspectorFixture() }

    @Test("the clock is moved, set, frozen and reset by buttons")
    func moves() throws {
        #expect(try fixture.page("clock").text.contains("clock shows the machine"))
        let moved = try fixture.submit("clock", ["do": "advance", "span": "6m"])
        #expect(moved.status == 303 && moved.location.contains("/_understudy/clock?notice="))
        #expect(try fixture.page("clock").text.contains("clock is 6 minutes ahead of the machine."))
        _ = try fixture.submit("clock", ["do": "advance", "span": " -1h "])
        #expect(try fixture.page("clock").text.contains("54 minutes behind"))
        _ = try fixture.submit("clock", ["do": "freeze"])
        _ = try fixture.submit("clock", ["do": "set", "time": "2030-01-01T00:00"])
        let frozen = try fixture.page("clock").text
        #expect(frozen.contains(">frozen</span>") && frozen.contains("datetime=\"2030-01-01T00:00:00Z\""))
        #expect(frozen.contains("Let it run"))
        // The machine's clock ticks; this one doesn't.
        #expect(frozen.components(separatedBy: "data-running").count == 2)
        _ = try fixture.submit("clock", ["do": "run"])
        #expect(try fixture.page("clock").text.contains(">running</span>"))
        _ = try fixture.submit("clock", ["do": "reset"])
        #expect(try fixture.page("clock").text.contains("clock shows the machine"))
    }

    @Test(
        "what no calendar has is refused, and comes back in its field",
        arguments: [
            (["do": "advance", "span": "soon<"], "$.advance", "value=\"soon&lt;\""),
            (["do": "advance", "span": "9999999d"], "$.advance", "value=\"9999999d\""),
            (["do": "set", "time": "2030-02-30T00:00"], "$.set", "value=\"2030-02-30T00:00\""),
            (["do": "advance"], "$.advance", "name=\"span\""),
        ])
    func refused(fields: [String: String], path: String, field: String) throws {
        let answer = try fixture.submit("clock", fields)
        #expect(answer.status == 400)
        #expect(answer.text.contains("role=\"alert\"") && answer.text.contains(path) && answer.text.contains(field))
        #expect(try fixture.page("clock").text.contains("clock shows the machine"))
    }

    @Test("each world has a clock of its own")
    func worlds() throws {
        let fixture = try InspectorFixture(isAlone: true)
        _ = try fixture.submit("clock", ["do": "advance", "span": "30d"], world: "w1")
        #expect(try fixture.page("clock").text.contains("clock shows the machine"))
        #expect(try fixture.page("clock", world: "w1").text.contains("30 days ahead"))
    }
}
