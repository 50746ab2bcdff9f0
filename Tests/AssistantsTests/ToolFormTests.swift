import EmulatorCore
import JSON
import ModelContextProtocol
import TestSupport
import Testing

@testable import Assistants

@Suite("The forms of tools")
struct ToolFormTests {
    /// Returns the document with its references replaced by what they refer to.
    private static func resolved(_ value: JSONValue, _ schemas: JSONValue?) -> JSONValue {
        if let reference = value["$ref"]?.string, let name = reference.split(separator: "/").last {
            // Members beside a reference belong to its position, not to the referenced schema.
            var beside = value.object ?? JSONObject()
            beside["$ref"] = nil
            var referred = resolved(schemas?[String(name)] ?? .null, schemas).object ?? JSONObject()
            referred.merge(beside)
            return .object(referred)
        }
        switch value {
        case .array(let items): return .array(items.map { resolved($0, schemas) })
        case .object(let object):
            return .object(JSONObject(object.members.map { ($0.key, resolved($0.value, schemas)) }))
        default: return value
        }
    }

    private func listed(_ assistant: Assistant) throws -> [String: JSONValue] {
        let list = try assistant.message(assistant.send("tools/list", [:]))["result"]?["tools"]?.array ?? []
        return Dictionary(list.map { ($0["name"]?.string ?? "", $0) }, uniquingKeysWith: { first, _ in first })
    }

    @Test(
        "a tool takes what its call takes, as the daemon describes it, and a world",
        arguments: [
            ("clock", "clock"), ("explain_value", "explain"), ("mint_token", "tokens"), ("order_outcome", "outcomes"),
            ("order_fault", "faults"),
        ])
    func bodies(_ tool: String, _ path: String) throws {
        let apple = try AppleFixture()
        let document = try JSONValue(
            parsing: apple.client.get("\(AppleFixture.control)/openapi.json").body, limits: .answer)
        let call = document["paths"]?["\(AppleFixture.control)/\(path)"]?["post"]
        let body = try #require(call?["requestBody"]?["content"]?["application/json"]?["schema"])
        let expected = ToolFormTests.resolved(body, document["components"]?["schemas"])
        let schema = try #require(try listed(Assistant(url: apple.server.url))[tool]?["inputSchema"])
        var properties = try #require(schema["properties"]?.object)
        #expect(properties["world"] != nil)
        properties["world"] = nil
        let brief = Tool.brief(["properties": expected["properties"] ?? .null])
        #expect(JSONValue.object(properties) == brief["properties"])
        #expect(schema["required"] == expected["required"])
    }

    @Test(
        "lists are narrowed down as the calls are",
        arguments: [
            (
                "list_sign_ins", "flows",
                ["refused", "unfinished", "provider", "client", "text", "all", "after", "wait"]
            ),
            ("read_mail", "mail", ["to", "from", "subject", "text", "kind", "after", "wait"]),
            ("list_accounts", "accounts", ["after"]),
        ])
    func filters(_ tool: String, _ path: String, _ names: [String]) throws {
        let call = DeclaredCall("GET", path)
        let schema = try #require(try listed(Assistant(url: "http://127.0.0.1:1"))[tool]?["inputSchema"])
        for name in names {
            let field = try #require(call.fields.first { $0.name == name }, "\(name)")
            #expect(schema["properties"]?[name] == Tool.brief(field.jsonSchema()), "\(name)")
        }
    }

    @Test("a device's sign-in takes what any of the three systems takes, and says whose it is")
    func native() throws {
        let schema = try #require(try listed(Assistant(url: "http://127.0.0.1:1"))["sign_in_natively"]?["inputSchema"])
        #expect(schema["required"] == ["client"])
        let properties = schema["properties"]?.object
        #expect(
            Set(properties?.keys ?? []) == [
                "provider", "client", "serverClient", "scopes", "nonce", "state", "account", "tracking", "world",
            ])
        #expect(properties?["tracking"]?["description"]?.string?.hasPrefix("Facebook: ") == true)
        #expect(properties?["state"]?["description"]?.string?.hasPrefix("Apple: ") == true)
        #expect(properties?["scopes"]?["anyOf"] != nil)
    }

    @Test("any declared call is listed, described and made, and no other")
    func anyCall() throws {
        let apple = try AppleFixture(isAlone: true)
        let assistant = Assistant(url: apple.server.url)
        let all = try assistant.call("call_control_api").text
        #expect(all.contains("POST apple/notifications: ") && all.contains("GET requests/:id: "))
        let one = try assistant.call("call_control_api", ["path": "apple/notifications"]).text
        #expect(one.contains("body: {") && one.contains("consent-revoked"))
        let undeclared = try assistant.refusal("call_control_api", ["method": "GET", "path": "nonsense"])
        #expect(undeclared.contains("no call GET nonsense"))
        let query: JSONValue = ["method": "GET", "path": "accounts", "query": ["limit": "1"]]
        #expect(try assistant.ask("call_control_api", query)["accounts"]?.array?.count == 1)
        let wrong: JSONValue = ["method": "POST", "path": "clock", "body": ["advance": "soon"]]
        #expect(try assistant.refusal("call_control_api", wrong).contains("$.advance"))
        let mail: JSONValue = ["from": "app@example.com", "to": ["ada@example.com"], "subject": "Hi", "text": "Hello"]
        _ = try assistant.ask("call_control_api", ["method": "POST", "path": "mail", "body": mail])
        let raw = try assistant.call("call_control_api", ["method": "GET", "path": "mail/m1/raw"]).text
        #expect(raw.contains("Subject: Hi\r\n"))
    }
}
