import HTTPServer
import JSON
import Logging
import TestSupport
import Testing

@testable import EmulatorCore

/// Plays the hosts that the seed names, beside one that it always plays.
private struct HostsSection: SeedSection {
    static let name = "played"
    static let about = "Hosts."

    let names: [String]

    init(_ fields: inout Fields) { names = fields("names", .set(of: .text(.nonEmpty)), default: [], "Their names.") }

    var seededClients: [SeededClient] { [] }

    static func check(_ references: inout SeedReferences) {
        for item in references.root[name]?["names"]?.items ?? [] { references.checkHost(item, item.string ?? "") }
    }
}

private struct HostsProvider: Provider {
    static let facts = ProviderFacts(name: "played", title: "Issuers", section: HostsSection.self)
    private let hosts: [String]

    init(seed: Seed) { hosts = seed[HostsSection.self].names }

    var endpoints: [Endpoint] {
        [
            Endpoint("GET", ["always.example", "*.below.example"] + hosts, "/keys") { exchange in
                Response(status: 200, body: Array(exchange.address.base(of: exchange.address.host ?? "").utf8))
            },
            Endpoint("GET", [], "/own/page") { _ in Response(status: 200) },
        ]
    }

    func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response? { nil }
    func client(of exchange: Exchange) -> String? { nil }
    func endToken(_ text: String, in exchange: Exchange) -> (kind: String, client: String)? { nil }
    func setUpGuides(at place: SetUpPlace) -> [SetUpGuide] { [] }
}

@Suite("Hosts that a seed names")
struct SeededHostTests {
    private func seed(_ names: String...) throws -> Seed {
        let list = JSONValue.array(names.map { .string($0) })
        return try Seed(
            [SeedSource(name: "seed", text: #"{"played":{"names":\#(list.text)}}"#, directory: ".")],
            format: SeedFormat([HostsProvider.self]))
    }

    @Test(
        "are found like the others, in each form of address",
        arguments: [
            ("login.corp.example", "/keys", "https://login.corp.example"),
            ("LOGIN.corp.example:8443", "/keys", "https://login.corp.example:8443"),
            ("login.corp.example.localhost:9099", "/keys", "http://login.corp.example.localhost:9099"),
            ("localhost:9099", "/login.corp.example/keys", "http://localhost:9099/login.corp.example"),
            ("127.0.0.1:9099", "/~w/keycloak/keys", "http://127.0.0.1:9099/~w/keycloak"),
            ("keycloak:8080", "/keys", "https://keycloak:8080"),
        ])
    func found(host: String, path: String, base: String) throws {
        let seed = try seed("login.corp.example", "keycloak")
        let dispatcher = Dispatcher(
            providers: [HostsProvider(seed: seed)], own: [],
            worlds: WorldRegistry(seed: seed, generator: .ofTests),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let request = Request(method: "GET", target: path, headers: [(name: "Host", value: host)])
        guard case .now(let answer) = dispatcher.handle(request) else { throw TransportError(reason: "it waits") }
        #expect(answer.status == 200)
        #expect(String(decoding: answer.body, as: UTF8.self) == base)
        #expect(dispatcher.plays("login.corp.example"))
        #expect(!dispatcher.plays("corp.example"))
    }

    @Test(
        "are names that can be played, and nobody else's",
        arguments: [
            ("", "a string that isn't empty"), ("a b", "host name"), ("Login.example", "in lower case"),
            ("a,DNS:b", "host name"), ("-a.example", "host name"), ("a..example", "host name"), ("a_b", "host name"),
            ("127.0.0.1", "host name"), ("[::1]", "host name"), ("é.example", "host name"),
            (String(repeating: "a", count: 64), "host name"),
            (Array(repeating: "abcdefg", count: 32).joined(separator: "."), "host name"),
            ("always.example", "belongs to another provider"), ("a.below.example", "belongs to another provider"),
            ("localhost", "reserved for the daemon"), ("a.localhost", "reserved for the daemon"),
            ("own", "reserved for the daemon"),
            ("favicon.ico", "reserved for the daemon"),
        ])
    func refused(name: String, message: String) {
        let error = #expect(throws: Issues.self) { try seed(name) }
        #expect(error?.description.contains(message) ?? false, "\(String(describing: error))")
    }
}
