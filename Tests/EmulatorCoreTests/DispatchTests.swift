import HTTPServer
import JOSE
import Logging
import EmulatorCore
import TestSupport
import Testing
import Understudy

/// A provider with one operation that scripts of any origin may read, and one that they may not.
private struct OpenProvider: Provider {
    static let facts = ProviderFacts(name: "open", title: "Open")

    init(seed: Seed) {}

    func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response? { nil }
    func client(of exchange: Exchange) -> String? { nil }
    func endToken(_ text: String, in exchange: Exchange) -> (kind: String, client: String)? { nil }
    func setUpGuides(at place: SetUpPlace) -> [SetUpGuide] { [] }

    var endpoints: [Endpoint] {
        [
            Endpoint("GET", ["open.example"], "/any", cors: .any) { _ in Response(status: 200) },
            Endpoint("GET", ["open.example"], "/none") { _ in Response(status: 200) },
        ]
    }
}

@Suite("Dispatching")
struct DispatchTests {
    private func handle(_ method: String, _ path: String, _ headers: [String: String] = [:]) throws -> Response {
        let seed = try Seed([], format: SeedFormat([]))
        let worlds = WorldRegistry(seed: seed, generator: .ofTests)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let dispatcher = Dispatcher(providers: [OpenProvider(seed: seed)], own: [], worlds: worlds, logger: logger)
        let all = headers.map { (name: $0.key, value: $0.value) } + [(name: "Host", value: "localhost")]
        switch dispatcher.handle(Request(method: method, target: path, headers: all)) {
        case .now(let response): return response
        case .later: throw TransportError(reason: "nothing here waits")
        }
    }

    @Test("CORS is what the operation says")
    func cors() throws {
        let origin = ["Origin": "https://app.example"]
        #expect(
            try handle("GET", "/open.example/any", origin).header("Access-Control-Allow-Origin")
                == "https://app.example")
        #expect(try handle("GET", "/open.example/none", origin).header("Access-Control-Allow-Origin") == nil)
        #expect(try handle("GET", "/open.example/any").header("Access-Control-Allow-Origin") == nil)
        let preflight = try handle("OPTIONS", "/open.example/any", origin)
        #expect(preflight.status == 204)
        #expect(preflight.header("Access-Control-Allow-Origin") == "https://app.example")
        #expect(preflight.header("Vary") == "Origin")
        #expect(preflight.header("Access-Control-Allow-Private-Network") == nil)
        #expect(preflight.header("Access-Control-Allow-Methods") == "GET, HEAD, OPTIONS")
        let fromPublic = try handle(
            "OPTIONS", "/open.example/any",
            ["Origin": "https://app.example", "Access-Control-Request-Private-Network": "true"])
        #expect(fromPublic.header("Access-Control-Allow-Private-Network") == "true")
        let closed = try handle("OPTIONS", "/open.example/none", origin)
        #expect(closed.header("Allow") == "GET, HEAD, OPTIONS")
        #expect(closed.header("Access-Control-Allow-Origin") == nil)
    }

    @Test("what isn't served is refused with a diagnosis, and every answer is numbered")
    func refusals() throws {
        for (method, path, status) in [
            ("GET", "/open.example/nothing", 404), ("GET", "/other.example/x", 404),
            ("DELETE", "/open.example/any", 405),
            ("GET", "/~a%20b/open.example/any", 404),
        ] {
            let response = try handle(method, path)
            #expect(response.status == status)
            #expect(!(response.header("Understudy-Diagnosis") ?? "").isEmpty)
            #expect(response.header("Understudy-Request")?.hasPrefix("r") ?? false)
        }
    }

    @Test(
        "what can't be a host is refused, since it would come back in URLs",
        arguments: [
            "\u{1A}api.github.com", "a b", "a/b", "a@b", "a\"b", "a<b>", "a\\b", "a?b", "a#b", "é.example", "a\tb",
        ])
    func hosts(host: String) throws {
        let response = try handle("GET", "/open.example/any", ["Host": host])
        #expect(response.status == 400)
        #expect((response.header("Understudy-Diagnosis") ?? "").contains("expected a host name"))
    }

    @Test(
        "any name and address is a host",
        arguments: ["", "a", "A-b_c.example:9099", "[::1]:9099", "127.0.0.1", "a%20b", "xn--a.localhost"])
    func goodHosts(host: String) throws {
        #expect(try handle("GET", "/open.example/any", ["Host": host]).status == 200)
    }
}
