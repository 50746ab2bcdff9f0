import Foundation
import JSON
import TestSupport
import Testing

@testable import Assistants

@Suite("Assistants change what a world has")
struct WorldToolTests {
    @Test("people are listed, added, changed and removed")
    func accounts() throws {
        let apple = try AppleFixture(isAlone: true)
        let assistant = Assistant(url: apple.server.url)
        #expect(try assistant.ask("save_account", ["id": "max", "email": "max@example.org"])["email"] != nil)
        #expect(
            try assistant.ask("save_account", ["id": "max", "name": ["given": "Maxine"]])["email"]?.string
                == "max@example.org")
        #expect(
            try assistant.ask("list_accounts", ["id": "max"])["accounts"]?.array?.first?["name"]?["given"]?.string
                == "Maxine")
        let first = try assistant.ask("list_accounts", ["limit": 1])
        #expect(first["accounts"]?.array?.count == 1 && first["more"]?.bool == true)
        let rest = try assistant.ask("list_accounts", ["after": first["last"] ?? ""])
        #expect(rest["accounts"]?.array?.contains { $0["id"]?.string == "max" } == true && rest["more"] == nil)
        let removal: JSONValue = ["method": "DELETE", "path": "accounts/max"]
        #expect(try assistant.call("call_control_api", removal).text == "done (204)")
        #expect(try assistant.refusal("list_accounts", ["id": "max"]).contains("max"))
        #expect(
            try assistant.refusal("save_account", ["id": "max", "apple": ["shareEmail": 1]]).contains(
                "$.apple.shareEmail"))
    }

    @Test("a seed is read without keys, checked, merged and replaced")
    func seeds() throws {
        let apple = try AppleFixture(isAlone: true)
        let assistant = Assistant(url: apple.server.url)
        let teams = try assistant.call("read_seed", ["path": "apple.teams"])
        #expect(!teams.isError && !teams.text.contains("-----BEGIN") && teams.text.contains("a key in PEM"))
        #expect(try assistant.ask("read_seed", ["path": "accounts.0.id"])["value"]?.string == "ada")
        #expect(try assistant.refusal("read_seed", ["path": "accounts.77"]).contains("$.accounts.77"))
        let wrong: JSONValue = ["accounts": [["id": "x y"]]]
        #expect(try assistant.refusal("change_seed", ["seed": wrong, "check": true]).contains("$.accounts[0].id"))
        #expect(try assistant.refusal("change_seed", ["seed": wrong]).contains("$.accounts[0].id"))
        let person: JSONValue = ["accounts": [["id": "max"]]]
        #expect(try assistant.ask("change_seed", ["seed": person, "check": true]) == ["sound": true])
        #expect(try assistant.refusal("list_accounts", ["id": "max"]) != "")
        _ = try assistant.ask("change_seed", ["seed": person])
        #expect(try assistant.ask("list_accounts")["accounts"]?.array?.count == 4)
        _ = try assistant.ask("change_seed", ["seed": person, "mode": "replace", "world": "other"])
        #expect(try assistant.ask("list_accounts", ["world": "other"])["accounts"]?.array?.count == 1)
    }

    @Test("mails are listed with their codes, and read")
    func mail() throws {
        let apple = try AppleFixture(isAlone: true)
        let assistant = Assistant(url: apple.server.url)
        let body: [String: Any] = [
            "from": "app@example.com", "to": ["ada@example.com"], "subject": "Your code", "text": "Your code is 123456",
        ]
        #expect(try apple.client.post("\(AppleFixture.control)/mail", json: body).status == 200)
        let list = try assistant.ask("read_mail", ["to": "ada@*", "wait": "10s"])["messages"]?.array ?? []
        #expect(list.first?["codes"] == ["123456"])
        let whole = try assistant.ask("read_mail", ["id": list.first?["id"] ?? ""])["messages"]?.array?.first
        #expect(whole?["headers"] != nil)
        #expect(try assistant.ask("read_mail", ["kind": "text"])["messages"] == [])
        #expect(try assistant.ask("read_mail", ["subject": "else", "wait": "10ms"])["messages"] == [])
        #expect(try assistant.refusal("read_mail", ["id": "m77"]).contains("m77"))
    }

    @Test(
        "worlds have nothing to do with one another, and have ports for apps",
        .oneProcess("a world's port is the daemon's that was asked"))
    func worlds() throws {
        let apple = try AppleFixture(isAlone: true)
        let assistant = Assistant(url: apple.server.url, world: "mine")
        _ = try assistant.ask("save_account", ["id": "max"])
        #expect(try assistant.refusal("list_accounts", ["id": "max", "world": "default"]) != "")
        let variables = try assistant.ask("app_environment")["variables"]
        let url = try #require(variables?["UNDERSTUDY_URL"]?.string)
        #expect(url != apple.server.url)
        #expect(variables?["FIREBASE_AUTH_EMULATOR_HOST"]?.string.map { url.hasSuffix($0) } == true)
        #expect(variables?["APPLE_BASE_URL"]?.string == "\(url)/appleid.apple.com")
        #expect(try assistant.ask("check_health")["url"]?.string?.hasSuffix("/~mine") == true)
        let list: JSONValue = ["method": "GET", "path": "worlds"]
        #expect(try assistant.ask("call_control_api", list)["worlds"]?.array?.count == 2)
        #expect(try assistant.ask("reset_world")["world"]?.string == "mine")
        #expect(try assistant.refusal("list_accounts", ["id": "max"]) != "")
        func removal(_ world: String) -> JSONValue { ["method": "DELETE", "path": .string("worlds/\(world)")] }
        _ = try assistant.call("call_control_api", removal("mine"))
        #expect(try assistant.refusal("call_control_api", removal("default")).contains("default world"))
        #expect(try assistant.refusal("list_accounts", ["world": "a/b"]).contains("$.world"))
    }
}
