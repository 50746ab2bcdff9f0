import EmulatorCore
import HTTPServer
import JOSE
import JSON

/// The control API, `/_understudy/v1/…`, by which a test controls what happens in a test world and asks what has
/// happened there.
package struct ControlAPI: Sendable {
    package static let root = Endpoint.controlRoot

    package let providers: [any Provider]
    let tokenOrder: ComposedRule<TokenOrder>
    private let registry: Lazy<WorldRegistry>
    package let ports: WorldPorts
    package let mailPorts: WorldPorts
    let seeds: RuntimeSeeds
    let keyOwners: [KeyOwner]
    /// The format of a seed (the JSON with a test world's initial data), and of the JSON that describes an account or a
    /// sign-in's result.
    let format: SeedFormat
    let version: String
    private let allScenarios: Lazy<[Scenario]>
    private let endpointCatalog: Lazy<EndpointCatalog>
    /// Finds the identity provider whose endpoint answered a recorded request.
    package let finder: Lazy<EndpointFinder>
    package let masksSecrets: Bool
    /// The host names at which the control API answers, in addition to loopback names and IP addresses.
    let hosts: Set<String>
    /// The token that callers of the control API must send; `nil` if they need no token.
    package let token: ControlToken?

    package let gauges: ProcessGauges

    package init(
        for seed: Seed, providers: [any Provider], worlds: Lazy<WorldRegistry>, ports: WorldPorts,
        mailPorts: WorldPorts,
        seeds: RuntimeSeeds,
        version: String, hosts: [String], token: ControlToken?, scenarios: Lazy<[Scenario]>, masksSecrets: Bool,
        gauges: ProcessGauges
    ) {
        self.gauges = gauges
        allScenarios = scenarios
        self.masksSecrets = masksSecrets
        endpointCatalog = Lazy { EndpointCatalog(providers: providers) }
        finder = Lazy { EndpointFinder(providers: providers) }
        self.providers = providers
        let names = providers.map(\.name)
        tokenOrder = ComposedRule("TokenOrder") { TokenOrder(&$0, providers: names) }
        registry = worlds
        self.ports = ports
        self.mailPorts = mailPorts
        self.seeds = seeds
        keyOwners = seed.keyOwners
        format = seed.format
        self.version = version
        self.hosts = Set(hosts.map { $0.lowercased() })
        self.token = token
    }

    package var worlds: WorldRegistry { registry.value }
    package var scenarios: [Scenario] { allScenarios.value }
    package var catalog: EndpointCatalog { endpointCatalog.value }

    /// The endpoints of the control API that belong to no provider. Providers add endpoints of their own.
    package var endpoints: [Endpoint] {
        [Endpoint("GET", [], ControlAPI.root, nil) { index($0) }] + indexCalls + healthCalls + seedCalls
            + snapshotCalls
            + clockCalls + outcomeCalls + faultCalls + requestCalls + flowCalls + verifyCalls + worldCalls
            + scenarioCalls
            + tokenCalls + explainCalls + accountCalls + mailCalls
    }

    /// All calls of the control API, in the order in which `GET /_understudy/v1/` lists them. Some of the calls belong
    /// to a single identity provider, such as Apple.
    package var calls: [Endpoint] {
        (endpoints + providers.flatMap { $0.endpoints.filter(\.isControl) }).filter { $0.call != nil }
    }

    private var indexCalls: [Endpoint] {
        [
            .control(
                "GET", "", "Lists the calls.",
                answers: [
                    .json(
                        "The calls.",
                        .members(
                            "Index",
                            [
                                .required("version", .string, "The daemon's version."),
                                .required("world", .string, "The test world's name."),
                                .required(
                                    "calls",
                                    .sequence(
                                        of: .members([
                                            .required("method", .string, "The call's method."),
                                            .required(
                                                "url", .string, "The call's address; a segment `:name` is a parameter."),
                                            .required("about", .string, "The purpose of the call."),
                                        ])), "The calls."),
                            ]))
                ]
            ) { index($0) },
            .control(
                "GET", "openapi.json", "Returns this OpenAPI 3.1 description of the API.",
                answers: [.json("The document.", .map(of: .any))]
            ) { exchange in try await exchange.onWorkThread { ControlAnswer.ok(openAPI(in: exchange)) } },
            .control(
                "POST", "reset", "Resets the test world to its seed data.", reads: .noQuery,
                answers: [.json("The world was reset.", ControlAPI.resetSchema)]
            ) { try reset($0) },
        ]
    }

    private func index(_ exchange: Exchange) -> Response {
        let listed = calls.filter { $0.path.count > ControlAPI.root.count + 1 }.map { endpoint -> JSONValue in
            [
                "method": .string(endpoint.method), "url": .string(exchange.address.ownBase + endpoint.path),
                "about": .string(endpoint.call?.about ?? ""),
            ]
        }
        return ControlAnswer.ok([
            "version": .string(version), "world": .string(exchange.world.name), "calls": .array(listed),
        ])
    }

    /// Answers a program's request for `/` at the daemon's own address with the JSON by which Firebase's tools
    /// recognize an emulator.
    package func mark() -> Response {
        var document = JSONObject()
        for provider in providers {
            for (name, value) in provider.facts.emulatorStatus.members { document[name] = value }
        }
        document["understudy"] = [
            "version": .string(version), "statusPage": "the page at this URL, for clients that accept text/html",
        ]
        return ControlAnswer.ok(.object(document))
    }

    private func openAPI(in exchange: Exchange) -> JSONValue {
        OpenAPIDocument(calls, version: version, wantsToken: token != nil)
            .json(at: exchange.address.ownBase, world: exchange.world.name)
    }

    private func reset(_ exchange: Exchange) throws -> Response {
        try exchange.world.reset()
        return ControlAnswer.ok(["world": .string(exchange.world.name), "reset": true])
    }
}

// Streams of server-sent events: <https://html.spec.whatwg.org/multipage/server-sent-events.html>

extension Exchange {
    /// Answers a request with a stream of server-sent events, which ends when the test world is removed.
    package func events(_ stream: EventStream) -> Response {
        world.streams.add(stream)
        var response = Response(
            status: 200, contentType: "text/event-stream", headers: [(name: "Cache-Control", value: "no-store")],
            body: "")
        response.delivery = .stream(stream)
        return response
    }
}

extension EventStream {
    /// Sends an empty comment on the event stream every 15 seconds, because proxies close connections that stay silent.
    package func keepAlive(in budget: ProcessBudget) { keepAlive(StreamChunk(Array(":\n\n".utf8), in: budget.streams)) }

    private func keepAlive(_ chunk: StreamChunk) {
        guard send(chunk) else { return }
        Timer.after(.seconds(15)) { [weak self] in self?.keepAlive(chunk) }
    }
}

extension ProcessBudget {
    /// Closes the slowest event streams if all event streams together have more unread bytes than allowed.
    package func enforceStreams() {
        guard streams.enforce() > 0 else { return }
        notices.warnOncePerMinute(
            .streams,
            "all event streams together have more than \(streams.limit) unread bytes: the slowest clients "
                + "are disconnected"
        )
    }
}
