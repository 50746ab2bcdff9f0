import HTTPServer
import JOSE
import JSON
import EmulatorCore

/// The control API, `/_understudy/v1/…`: a test orders what happens in a world, and asks what has happened.
package struct ControlAPI: Sendable {
    package static let root = Operation.controlRoot

    package let providers: [any Provider]
    let tokenOrder: ComposedRule<TokenOrder>
    package let worlds: WorldRegistry
    package let ports: WorldPorts
    package let mailPorts: WorldPorts
    let seeds: RuntimeSeeds
    private let keyOwners: [KeyOwner]
    let version: String
    private let allScenarios: Lazy<[Scenario]>
    private let endpointCatalog: Lazy<OperationCatalog>
    /// Finds who answered an exchange.
    package let finder: Lazy<OperationFinder>
    package let masksSecrets: Bool
    /// Host names at which it answers, beside loopback names and IP addresses.
    let hosts: Set<String>
    /// What its callers have to show; `nil` where it takes anybody.
    package let token: ControlToken?

    package let gauges: ProcessGauges

    package init(
        for seed: Seed, providers: [any Provider], worlds: WorldRegistry, ports: WorldPorts, mailPorts: WorldPorts,
        seeds: RuntimeSeeds,
        version: String, hosts: [String], token: ControlToken?, scenarios: Lazy<[Scenario]>, masksSecrets: Bool,
        gauges: ProcessGauges
    ) {
        self.gauges = gauges
        allScenarios = scenarios
        self.masksSecrets = masksSecrets
        endpointCatalog = Lazy { OperationCatalog(providers: providers) }
        finder = Lazy { OperationFinder(providers: providers) }
        self.providers = providers
        let names = providers.map(\.name)
        tokenOrder = ComposedRule { TokenOrder(&$0, providers: names) }
        self.worlds = worlds
        self.ports = ports
        self.mailPorts = mailPorts
        self.seeds = seeds
        keyOwners = seed.keyOwners
        self.version = version
        self.hosts = Set(hosts.map { $0.lowercased() })
        self.token = token
    }

    package var scenarios: [Scenario] { allScenarios.value }
    package var catalog: OperationCatalog { endpointCatalog.value }

    /// Its own calls; providers add theirs.
    package var operations: [Operation] {
        [
            .control("GET", "") { index($0) },
            Operation("GET", [], ControlAPI.root, nil) { index($0) },
            .control("GET", "health") { health($0) },
            .control("POST", "reset") { reset($0) },
            .control("GET", "seed") { seed($0) },
            .control("PUT", "seed") { replaceSeed($0) },
            .control("POST", "seed") { extendSeed($0) },
            .control("GET", "snapshot") { await snapshot($0) },
            .control("PUT", "snapshot") { await loadSnapshot($0) },
            .control("GET", "clock") { clock($0) },
            .control("POST", "clock") { setClock($0) },
            .control("GET", "outcomes") { outcomes($0) },
            .control("POST", "outcomes") { addOutcome($0) },
            .control("DELETE", "outcomes") { removeOutcomes($0) },
            .control("DELETE", "outcomes/:id") { removeOutcome($0) },
            .control("GET", "faults") { faults($0) },
            .control("POST", "faults") { addFault($0) },
            .control("DELETE", "faults") { removeFaults($0) },
            .control("DELETE", "faults/:id") { removeFault($0) },
            .control("GET", "endpoints") { endpoints($0) },
            .control("GET", "requests") { await requests($0) },
            .control("DELETE", "requests") { removeRequests($0) },
            .control("GET", "requests/:id") { await request($0) },
            .control("POST", "verify") { await verify($0) },
            .control("GET", "worlds") { listWorlds($0) },
            .control("POST", "worlds") { addWorld($0) },
            .control("DELETE", "worlds/:name") { removeWorld($0) },
            .control("POST", "worlds/:name/reset") { resetWorld($0) },
            .control("GET", "scenarios") { listScenarios($0) },
            .control("GET", "scenarios/:name") { scenario($0) },
            .control("POST", "scenarios/:name") { await playScenario($0) },
            .control("DELETE", "scenarios/:name") { withdrawScenario($0) },
            .control("POST", "tokens", keys: keyOwners) { await mintToken($0) },
            .control("POST", "explain") { await explain($0) },
            .control("POST", "tokens/revocations") { revokeToken($0) },
            .control("GET", "accounts") { accounts($0) },
            .control("POST", "accounts") { addAccount($0) },
            .control("GET", "accounts/:id") { account($0) },
            .control("PATCH", "accounts/:id") { changeAccount($0) },
            .control("DELETE", "accounts/:id") { removeAccount($0) },
        ] + mailOperations
    }

    /// `GET /_understudy/v1/`: what can be called.
    private func index(_ exchange: Exchange) -> Response {
        let all = operations + providers.flatMap { $0.operations.filter(\.isControl) }
        let calls = all.filter { $0.path.count > ControlAPI.root.count + 1 }.map { call -> JSONValue in
            ["method": .string(call.method), "url": .string(exchange.address.ownBase + call.path)]
        }
        return ControlAnswer.ok([
            "version": .string(version), "world": .string(exchange.world.name), "calls": .array(calls),
        ])
    }

    /// What programs recognize an emulator by, at the daemon's own address.
    package func mark() -> Response {
        var document = JSONObject()
        for provider in providers {
            for (name, value) in type(of: provider).emulatorStatus.members { document[name] = value }
        }
        document["understudy"] = [
            "version": .string(version), "statusPage": "this address, for clients that accept text/html",
        ]
        return ControlAnswer.ok(.object(document))
    }

    private func reset(_ exchange: Exchange) -> Response {
        exchange.world.reset()
        return ControlAnswer.ok(["world": .string(exchange.world.name), "reset": true])
    }
}
