import Foundation
import TestSupport
import Testing
import Understudy

@Suite("Scenarios, played twice")
struct ScenarioWalkTests {
    private static let api = ScenarioWalk.control

    /// All scenarios have a walk, except those of the Model Context Protocol, which need a protected resource:
    /// ResourceScenarioTests plays them.
    @Test("every scenario has a walk")
    func all() throws {
        #expect(ScenarioWalk.all.map(\.name).sorted() == ScenarioTests.names.filter { !$0.hasPrefix("mcp-") })
    }

    @Test(
        "a client meets what the scenario says, twice in a row, and a correct one succeeds", arguments: ScenarioWalk.all
    )
    func walk(_ walk: ScenarioWalk) throws {
        let receiver = try Receiver()
        defer { receiver.stop() }
        let web = #"{"clientID":"web","backchannelLogoutURI":"\#(receiver.url)"}"#
        let fixture = try FaultFixture(seed: #"{"openid":{"issuers":[{"id":"corp","clients":[\#(web)]}]}}"#)
        let client = fixture.client
        // In the last round it is played twice before any request.
        for plays in [1, 1, 2] {
            let values = try walk.before(client)
            for _ in 0..<plays {
                let answer = try client.post("\(ScenarioWalkTests.api)/scenarios/\(walk.name)", json: walk.values)
                #expect(answer.status == 200, "\(answer)")
            }
            try walk.meets(client, values)
            if walk.lasts {
                try walk.meets(client, values)
                let ended = try client.request("DELETE", "\(ScenarioWalkTests.api)/scenarios/\(walk.name)")
                #expect(ended.json["withdrawn"] as? Bool == true, "\(ended)")
            }
            try walk.correct(client)
        }
    }

    @Test("what it ordered is withdrawn, and the clock goes back", arguments: ["cancelled-sign-in", "clock-ahead"])
    func withdrawal(name: String) throws {
        let fixture = try FaultFixture()
        let path = "\(ScenarioWalkTests.api)/scenarios/\(name)"
        #expect(try fixture.client.request("DELETE", path).json["withdrawn"] as? Bool == false)
        try Site.order(["provider": "apple", "outcome": "cancel"], at: fixture.client)
        try fixture.clock(["advance": "1h"])
        _ = try fixture.client.request("POST", path)
        #expect(try fixture.client.request("DELETE", path).json["withdrawn"] as? Bool == true)
        let outcomes = try fixture.client.get("\(ScenarioWalkTests.api)/outcomes").json["outcomes"] as? [Any]
        #expect(outcomes?.count == 1)
        #expect(try ScenarioWalk.isAhead(fixture.client, by: 3_600))
        #expect(try fixture.client.request("DELETE", "\(ScenarioWalkTests.api)/scenarios/clock-ahaed").status == 404)
    }

    @Test("a refused scenario leaves no orders behind")
    func halfway() throws {
        let fixture = try FaultFixture()
        let answer = try fixture.client.post(
            "\(ScenarioWalkTests.api)/scenarios/openid-nonce-mismatch", json: ["host": "login.nowhere.example"])
        #expect(answer.status == 409)
        #expect(answer.diagnosis.contains("login.nowhere.example"))
        #expect(try fixture.faults().isEmpty)
    }

    @Test(
        "a daemon doesn't start with a scenario that can't be played",
        arguments: [
            ("provider-outage,host=login.nowhere.example", "the daemon serves no host"),
            ("provider-outage,hots=github.com", "\"host\""),
            ("revoked-grant", "no test world can start"),
        ])
    func start(name: String, reason: String) throws {
        var options = RunningServer.Options()
        options.scenarios = [name]
        let error = #expect(throws: StartError.self) { try FaultFixture(options: options) }
        #expect(error?.description.contains(reason) ?? false, "\(error?.description ?? "")")
    }

    @Test("parameters of a scenario at the start")
    func parameters() throws {
        var options = RunningServer.Options()
        options.scenarios = ["provider-outage,host=graph.facebook.com", "clock-ahead,by=1h"]
        let fixture = try FaultFixture(options: options)
        for world in ["", "/~other"] {
            #expect(try fixture.client.get("\(world)/graph.facebook.com/me").status == 503)
            #expect(try fixture.client.get("\(world)/appleid.apple.com/auth/keys").status == 200)
        }
        #expect(try ScenarioWalk.isAhead(fixture.client, by: 3_600))
    }
}
