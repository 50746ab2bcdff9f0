import Foundation
import JSON
import TestSupport
import Testing

@Suite("Assistants learn why a sign-in was refused")
struct SignInToolTests {
    @Test("a refused sign-in with Apple is explained from its first request to the reason")
    func refused() throws {
        let apple = try AppleFixture()
        let assistant = Assistant(url: apple.server.url)
        let credential = try assistant.ask("sign_in_natively", ["client": "com.example.app", "account": "ada"])
        let code = try #require(credential["authorizationCode"]?.string)
        let secret = try AppleFixture.secret(for: "com.example.app", team: "WRONGTEAM0")
        let answer = try apple.client.post(
            "\(AppleFixture.prefix)/auth/token",
            form: [
                "grant_type": "authorization_code", "client_id": "com.example.app", "client_secret": secret,
                "code": code,
            ])
        #expect(answer.status == 400)
        let signIns = try assistant.ask("list_sign_ins", ["refused": true])["flows"]?.array ?? []
        #expect(signIns.count == 1)
        #expect(signIns.first?["client"]?.string == "com.example.app")
        #expect(signIns.first?["ending"]?.string == "refused")
        let steps = try #require(signIns.first?["steps"]?.array)
        #expect(steps.count == 2)
        #expect(steps.last?["host"]?.string == "appleid.apple.com" && steps.last?["path"]?.string == "/auth/token")
        #expect(steps.last?["answer"]?.string == "400 invalid_client")
        #expect(signIns.first?["stoppedBy"] == steps.last?["id"])
        #expect(steps.last?["diagnosis"]?.string?.contains("WRONGTEAM0") == true, "\(steps)")
        #expect(steps.first?["diagnosis"] == nil)
        let request = try assistant.ask("show_request", ["id": steps.last?["id"] ?? ""])
        #expect(request["diagnosis"] == steps.last?["diagnosis"])
        #expect(request["request"]?["body"]?.string?.isEmpty == false)
        let explained = try assistant.ask("explain_value", ["value": .string(secret)])
        #expect(explained["sound"]?.bool == false)
        let error = try assistant.ask("explain_error", ["error": "invalid_client", "provider": "apple"])
        #expect(error["errors"]?.array?.contains { $0.text.contains("client secret") } == true)
    }

    @Test("conditions narrow sign-ins down, and after goes on")
    func conditions() throws {
        let apple = try AppleFixture()
        let assistant = Assistant(url: apple.server.url)
        for account in ["ada", "grace"] {
            _ = try assistant.ask("sign_in_natively", ["client": "com.example.app", "account": .string(account)])
        }
        _ = try apple.client.get("\(AppleFixture.prefix)/auth/keys")
        _ = try apple.client.get("/api.github.com/user", headers: ["User-Agent": "me"])
        func flows(_ arguments: JSONValue) throws -> [String] {
            (try assistant.ask("list_sign_ins", arguments)["flows"]?.array ?? []).compactMap { $0["id"]?.string }
        }
        let all = try flows([:])
        #expect(all.count == 3)
        #expect(try flows(["all": true]).count == 4)
        #expect(try flows(["limit": 1]) == [all[2]])
        #expect(try assistant.ask("list_sign_ins", ["limit": 1])["more"]?.bool == true)
        #expect(try flows(["provider": "github"]) == [all[2]])
        #expect(try flows(["text": "grace"]) == [all[1]])
        #expect(try flows(["client": "com.example.app"]) == Array(all.prefix(2)))
        #expect(try flows(["after": .string(all[0]), "limit": 2]) == Array(all[1...2]))
        #expect(try flows(["refused": false]).count == 2)
        #expect(try assistant.refusal("list_sign_ins", ["provider": "bad"]).contains("no provider"))
    }

    @Test("waiting ends when something comes, when it is cancelled, and when its time is over")
    func waits() throws {
        let apple = try AppleFixture()
        let assistant = Assistant(url: apple.server.url)
        let waiting = assistant.send("tools/call", ["name": "list_sign_ins", "arguments": ["wait": "50s"]])
        _ = try assistant.ask("sign_in_natively", ["client": "com.example.app", "account": "ada"])
        #expect(try assistant.answer(waiting).json["flows"]?.array?.count == 1)
        let none = try assistant.ask("list_sign_ins", ["wait": "10ms", "provider": "github"])
        #expect(none["flows"] == [])
        #expect(try assistant.refusal("list_sign_ins", ["wait": "61s"]).contains("$.wait"))
        let cut = assistant.send(
            "tools/call", ["name": "list_sign_ins", "arguments": ["wait": "50s", "client": "none"]])
        assistant.server.finish()
        #expect(try assistant.answer(cut).json["flows"] == [])
    }

    @Test("however much was said, an answer stays short")
    func bounded() throws {
        let apple = try AppleFixture()
        let assistant = Assistant(url: apple.server.url)
        let long = String(repeating: "x", count: 200_000)
        for number in 0..<30 {
            _ = try apple.client.post(
                "\(AppleFixture.prefix)/auth/token",
                form: ["grant_type": "\(number)", "code": "\(number)\(long)", "client_id": "\(number)\(long)"])
        }
        // The message has the text, the same as JSON, and what surrounds them. Quotation marks are escaped in the text.
        let limit = 3 * 24_000
        let list = try assistant.call("list_sign_ins", ["limit": 20])
        #expect(list.size < limit && (list.json["flows"]?.array?.count ?? 0) > 5)
        let last = try #require(list.json["last"])
        let one = try assistant.call("show_request", ["id": last])
        #expect(one.size < limit)
        #expect(one.text.contains("bytes in all"))
        #expect(try assistant.call("read_seed").size < limit)
        #expect(try assistant.call("list_endpoints").size < limit)
        #expect(try assistant.call("search_documentation", ["query": "a", "limit": 20]).size < limit)
        #expect(try assistant.call("read_documentation", ["page": "seed"]).size < limit)
    }
}
