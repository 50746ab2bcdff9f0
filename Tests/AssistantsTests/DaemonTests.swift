import Foundation
import HTTPServer
import JSON
import TestSupport
import Testing
import Understudy

@testable import Assistants

@Suite("The daemon that tools ask")
struct DaemonTests {
    /// A port on which nothing listens.
    private func freePort() throws -> Int {
        let server = try RunningServer.start()
        defer { server.end() }
        return server.port
    }

    @Test("where none answers, each tool says how to start one; the documentation needs none")
    func absent() throws {
        let url = "http://127.0.0.1:\(try freePort())"
        let assistant = Assistant(url: url)
        for tool in [
            "check_health", "app_environment", "list_sign_ins", "list_orders", "clock", "read_mail", "read_seed",
        ] {
            let refusal = try assistant.refusal(tool)
            #expect(refusal.contains(url) && refusal.contains("understudy serve") && refusal.contains("--start"))
        }
        #expect(try assistant.call("read_documentation", ["page": "ios"]).text.hasPrefix("# For an iOS app"))
    }

    @Test("one that comes later is found, and one that has gone is started again")
    func starts() throws {
        let port = UInt16(try freePort())
        let start: DaemonSupply.Start = {
            var options = RunningServer.Options()
            options.port = port
            return try RunningServer.start(options: options)
        }
        let supply = DaemonSupply(url: "http://127.0.0.1:\(port)", world: nil, token: nil, start: start)
        let first = try start()
        try supply.prepare()
        let assistant = Assistant(supply)
        _ = try assistant.ask("save_account", ["id": "max"])
        #expect(first.worlds.main.read { $0.account("max") } != nil)
        first.end()
        #expect(try assistant.ask("check_health")["status"]?.string == "ok")
        #expect(try assistant.refusal("list_accounts", ["id": "max"]) != "")
        var ended = 0
        supply.end { _ in ended += 1 }
        supply.end { _ in ended += 1 }
        #expect(ended == 1)
    }

    private struct Taken: Error, CustomStringConvertible {
        let description = "the port is taken"
    }

    @Test("what isn't Understudy isn't taken for it, and the reason why none can be started is told")
    func stranger() throws {
        let stranger = try Receiver { _ in .now(Response(status: 200, body: Array("{\"authEmulator\":{}}".utf8))) }
        let supply = DaemonSupply(url: stranger.url, world: nil, token: nil) {
            throw Taken()
        }
        #expect(throws: Taken.self) { try supply.prepare() }
        let gone = DaemonSupply(url: "http://127.0.0.1:\(try freePort())", world: nil, token: nil) {
            throw Taken()
        }
        #expect(try Assistant(gone).refusal("clock").contains("the port is taken"))
    }

    @Test(
        "what answers otherwise isn't taken for one in which nothing happened",
        arguments: [
            (200, "<html>"), (200, "[]"), (200, ""), (302, ""), (500, "oops"), (200, "{}"), (200, #"{"now":7}"#),
        ])
    func otherAnswers(_ status: Int, _ body: String) throws {
        let stranger = try Receiver { _ in .now(Response(status: status, body: Array(body.utf8))) }
        let assistant = Assistant(url: stranger.url)
        for tool in [
            "check_health", "list_sign_ins", "clock", "list_accounts", "reset_world", "read_mail",
        ] {
            let refusal = try assistant.refusal(tool)
            if !body.hasPrefix("{") {
                #expect(refusal.contains("\(stranger.url) answered \(status) without JSON"), "\(tool): \(refusal)")
            }
        }
    }

    @Test("a daemon's control token is shown; without it, the refusal says where it is to be given")
    func token() throws {
        var options = RunningServer.Options()
        options.controlToken = "a-token-of-these-tests"
        let server = try TestServer.start(options: options)
        defer { server.stop() }
        #expect(try Assistant(url: server.url).refusal("clock").contains("UNDERSTUDY_CONTROL_TOKEN"))
        #expect(try Assistant(url: server.url, token: "another-token-than-it").refusal("clock").contains("isn't"))
        #expect(try Assistant(url: server.url, token: "a-token-of-these-tests").ask("clock")["now"] != nil)
    }
}
