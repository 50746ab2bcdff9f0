import Control
import EmulatorCore
import Foundation
import TestSupport
import Testing
import Understudy

@Suite("The control API is described as OpenAPI 3.1")
struct OpenAPITests {
    static let path = "/_understudy/v1/openapi.json"
    private let fixture: AppleFixture
    private var client: TestClient { fixture.client }
    let document: [String: Any]
    let described: [(name: String, call: [String: Any])]
    let schemas: [String: [String: Any]]

    init() throws {
        fixture = try AppleFixture(isAlone: true)
        document = try fixture.client.get(Self.path).json
        let paths = document["paths"] as? [String: [String: [String: Any]]] ?? [:]
        described = paths.flatMap { path, methods in methods.map { (name: "\($0.uppercased()) \(path)", call: $1) } }
        let components = document["components"] as? [String: Any] ?? [:]
        schemas = components["schemas"] as? [String: [String: Any]] ?? [:]
    }

    private func call(_ name: String) throws -> [String: Any] {
        try #require(described.first { $0.name == name }?.call, "\(name) isn't described")
    }

    @Test("it lists exactly the calls that are listed by the index, and by nobody else")
    func calls() throws {
        let index = try client.get("/_understudy/v1/").json["calls"] as? [[String: String]] ?? []
        let root = "http://localhost:\(client.port)"
        let listed = index.map { call -> String in
            let path = (call["url"] ?? "").replacingOccurrences(of: root, with: "")
            let parameters = path.replacing(#/:([a-z]+)/#) { "{\($0.1)}" }
            return "\(call["method"] ?? "") \(parameters)"
        }
        #expect(Set(listed) == Set(described.map(\.name)).subtracting(["GET /_understudy/v1/"]))
        #expect(listed.count > 50 && listed.count == Set(listed).count)
        #expect(index.allSatisfy { !($0["about"] ?? "").isEmpty })
        #expect(Set(described.compactMap { $0.call["operationId"] as? String }).count == described.count)
    }

    @Test("each call is served: no path of it is unknown, and no other method of it is taken")
    func served() throws {
        for path in Set(described.map { String($0.name.split(separator: " ")[1]) }) {
            let target = path.replacing(#/\{[a-z]+\}/#, with: "nothing-of-this-name")
            let methods = Set(
                described.filter { $0.name.hasSuffix(" \(path)") }.map { $0.name.split(separator: " ")[0] })
            let answer = try client.request("TRACE", target)
            let allowed = Set((answer.header("Allow") ?? "").components(separatedBy: ", ")).subtracting([
                "HEAD", "OPTIONS",
            ])
            #expect(answer.status == 405 && allowed == Set(methods.map(String.init)), "\(path)")
        }
    }

    @Test("each call has a summary and an answer, and whatever has a body has a schema")
    func answers() throws {
        for (name, call) in described {
            #expect((call["summary"] as? String)?.hasSuffix(".") ?? false, "\(name)")
            let responses = call["responses"] as? [String: [String: Any]] ?? [:]
            #expect(responses.keys.contains { $0.hasPrefix("2") }, "\(name)")
            for status in ["400", "401", "403", "503"] { #expect(responses[status] != nil, "\(name) \(status)") }
            for (status, response) in responses where status != "204" {
                let content = response["content"] as? [String: [String: Any]] ?? [:]
                #expect(!content.isEmpty && content.values.allSatisfy { $0["schema"] != nil || status == "default" })
            }
        }
    }

    @Test("references lead to schemas, and each schema is referred to")
    func references() throws {
        let text = try client.get(Self.path).text
        let found = Set(text.matches(of: #/"#\/components\/schemas\/([A-Za-z]+)"/#).map { String($0.1) })
        #expect(found == Set(schemas.keys))
        #expect(found.isSuperset(of: ["Account", "Error", "Exchange", "Fault", "Message", "Outcome", "Seed"]))
    }

    @Test("what a fault can say is all in its schema, and an unknown member is refused")
    func members() throws {
        let declared = Set(Fault.schema.fields.map(\.name))
        #expect(Set((schemas["Fault"]?["properties"] as? [String: Any] ?? [:]).keys) == declared)
        #expect(schemas["Fault"]?["additionalProperties"] as? Bool == false)
        #expect(schemas["Fault"]?["required"] as? [String] == ["effect"])
        let refusal = try client.post("/_understudy/v1/faults", json: ["effect": ["status": 503], "tmes": 1])
        #expect(refusal.status == 400 && refusal.diagnosis.contains("\"times\""))
    }

    @Test("seed, person and outcome are those of the seed's JSON Schema")
    func seed() throws {
        let seed = try #require(
            try JSONSerialization.jsonObject(with: Data(SeedInput.schema.utf8)) as? [String: Any])
        let written = try #require(seed["properties"] as? [String: [String: Any]])
        let described = try #require(schemas["Seed"]?["properties"] as? [String: [String: Any]])
        #expect(Set(described.keys) == Set(written.keys))
        for (name, list) in [("Account", "accounts"), ("Outcome", "outcomes"), ("Fault", "faults")] {
            let items = written[list]?["items"] as? [String: Any] ?? [:]
            let properties = items["properties"] as? [String: Any] ?? [:]
            #expect(Set((schemas[name]?["properties"] as? [String: Any] ?? [:]).keys) == Set(properties.keys))
            let reference = (described[list]?["items"] as? [String: Any])?["$ref"] as? String
            #expect(reference == "#/components/schemas/\(name)")
        }
    }

    @Test("it knows each call at which something can be ordered, and each that Firebase's own document names")
    func otherLists() throws {
        let endpoints = try client.get("/_understudy/v1/endpoints").json["endpoints"] as? [[String: Any]] ?? []
        let orderable = endpoints.compactMap { endpoint -> String? in
            guard let path = endpoint["path"] as? String, path.hasPrefix("/_understudy/v1/") else { return nil }
            return "\(endpoint["method"] ?? "") \(path)"
        }
        #expect(orderable.count == 3)
        for name in orderable {
            let responses = try call(name)["responses"] as? [String: Any] ?? [:]
            #expect(responses["default"] != nil, "\(name) answers what a fault orders")
        }
        #expect(
            described.filter { ($0.call["responses"] as? [String: Any])?["default"] != nil }.count == orderable.count)
        let firebase = try client.get("/emulator/openapi.json").json["paths"] as? [String: [String: Any]] ?? [:]
        let control = firebase.filter { $0.key.hasPrefix("/_understudy/v1/") }
        #expect(!control.isEmpty)
        for (path, methods) in control {
            for method in methods.keys { _ = try call("\(method.uppercased()) \(path)") }
        }
    }

    @Test("the clock's call is described whole")
    func clock() throws {
        let clock = try call("POST /_understudy/v1/clock")
        let expected = """
            {"$ref": "#/components/schemas/ClockOrder"}
            """
        let body = clock["requestBody"] as? [String: Any]
        let content =
            (body?["content"] as? [String: [String: Any]])?["application/json"]?["schema"] as? [String: String]
        #expect(content == (try JSONSerialization.jsonObject(with: Data(expected.utf8)) as? [String: String]))
        #expect(body?["required"] as? Bool == false)
        let order = try #require(schemas["ClockOrder"])
        let properties = order["properties"] as? [String: [String: String]]
        #expect(
            properties == [
                "reset": ["type": "boolean", "description": "Return to the machine's real time."],
                "set": [
                    "type": "string", "description": "The time to set.",
                    "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?Z$",
                ],
                "advance": [
                    "type": "string", "description": "How far to move time: \"6m\" or \"-1h\".",
                    "pattern": "^-?[0-9]+(ms|s|m|h|d)$",
                ], "freeze": ["type": "boolean", "description": "Whether time stands still."],
            ])
        let responses = clock["responses"] as? [String: [String: Any]] ?? [:]
        #expect(Set(responses.keys) == ["200", "400", "401", "403", "404", "413", "431", "503"])
        let answer = (responses["200"]?["content"] as? [String: [String: Any]])?["application/json"]?["schema"]
        #expect((answer as? [String: String]) == ["$ref": "#/components/schemas/Clock"])
    }

    @Test("parameters of a query are declared once: what is described is taken, and nothing else")
    func query() throws {
        let parameters = try call("GET /_understudy/v1/requests")["parameters"] as? [[String: Any]] ?? []
        let names = parameters.filter { $0["in"] as? String == "query" }.compactMap { $0["name"] as? String }
        #expect(
            Set(names) == [
                "host", "path", "method", "client", "status", "flow", "refused", "after", "limit", "wait", "count",
                "format", "world",
            ])
        for (query, path) in [
            ("limit=0", "$.limit"), ("limit=some", "$.limit"), ("refused=yes", "$.refused"), ("status=600", "$.status"),
            ("wait=61s", "$.wait"), ("after=seven", "$.after"), ("fields=a", "$.fields"), ("format=xml", "$.format"),
            ("host=api.github.com&host=github.com", "$"),
        ] {
            let answer = try client.get("/_understudy/v1/requests?\(query)")
            let error = answer.json["error"] as? [String: Any]
            #expect(answer.status == 400 && error?["code"] as? String == "invalidQuery", "\(query)")
            #expect(error?["path"] as? String == path, "\(query)")
        }
        #expect(try client.get("/_understudy/v1/requests?limit=2&refused=true&status=4xx&count=1").status == 200)
        // A parameter that seems to be a filter must not empty the whole list.
        for (method, path) in [
            ("DELETE", "requests?host=api.github.com"), ("DELETE", "mail?to=nobody@example.com"),
            ("DELETE", "outcomes?provider=apple"), ("DELETE", "faults?host=x"), ("POST", "reset?world=w"),
        ] {
            let answer = try client.request(method, "/_understudy/v1/\(path)")
            #expect(answer.status == 400 && answer.text.contains("invalidQuery"), "\(path)")
        }
    }

    @Test("a world's document says where the world is")
    func world() throws {
        let other = try client.get("/~checkout\(Self.path)").json
        let servers = other["servers"] as? [[String: String]]
        #expect(servers?.first?["url"] == "http://localhost:\(client.port)/~checkout")
        #expect((other["paths"] as? [String: Any])?.count == (document["paths"] as? [String: Any])?.count)
        #expect(document["openapi"] as? String == "3.1.0")
        #expect((document["security"] as? [[String: Any]])?.count == 2)
    }

    @Test("a stream of events is of the type that is described")
    func events() throws {
        for call in ["requests", "mail"] {
            let responses = try self.call("GET /_understudy/v1/\(call)")["responses"] as? [String: [String: Any]] ?? [:]
            #expect((responses["200"]?["content"] as? [String: Any])?["text/event-stream"] != nil)
            let wire = try Wire(port: client.port)
            wire.send("GET /_understudy/v1/\(call) HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
            let answer = try wire.receive(toHEAD: true)
            #expect(answer.status == 200 && answer.header("Content-Type") == "text/event-stream")
        }
    }
}
