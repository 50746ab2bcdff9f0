import HTTPServer
import JOSE
import EmulatorCore

/// The control API, `/_understudy/v1/…`: orders given to a world from a test, and what a world knows.
package struct ControlAPI: Sendable {
    package static let root = "/_understudy/v1"

    let providers: [any Provider]
    let worlds: WorldRegistry
    let version: String
    private let allScenarios: Lazy<[Scenario]>
    private let endpointCatalog: Lazy<EndpointCatalog>
    let masksSecrets: Bool
    /// Host names, beside loopback names and IP addresses, at which it answers.
    let hosts: Set<String>

    let gauges: ProcessGauges

    package init(
        providers: [any Provider], worlds: WorldRegistry, version: String, hosts: [String],
        scenarios: Lazy<[Scenario]>, masksSecrets: Bool, gauges: ProcessGauges
    ) {
        self.gauges = gauges
        allScenarios = scenarios
        self.masksSecrets = masksSecrets
        endpointCatalog = Lazy { EndpointCatalog(providers: providers, controlRoot: ControlAPI.root) }
        self.providers = providers
        self.worlds = worlds
        self.version = version
        self.hosts = Set(hosts.map { $0.lowercased() })
    }

    var scenarios: [Scenario] { allScenarios.value }
    var catalog: EndpointCatalog { endpointCatalog.value }

    package var routes: [ControlRoute] {
        let own: [ControlRoute] = [
            ControlRoute("GET", "health") { .now(health($0)) },
            ControlRoute("POST", "reset") { .now(reset($0)) },
            ControlRoute("GET", "clock") { .now(clock($0)) },
            ControlRoute("POST", "clock") { .now(setClock($0)) },
            ControlRoute("GET", "outcomes") { .now(outcomes($0)) },
            ControlRoute("POST", "outcomes") { .now(addOutcome($0)) },
            ControlRoute("DELETE", "outcomes") { .now(removeOutcomes($0)) },
            ControlRoute("GET", "faults") { .now(faults($0)) },
            ControlRoute("POST", "faults") { .now(addFault($0)) },
            ControlRoute("DELETE", "faults") { .now(removeFaults($0)) },
            ControlRoute("DELETE", "faults/:id") { .now(removeFault($0)) },
            ControlRoute("GET", "endpoints") { .now(endpoints($0)) },
            ControlRoute("GET", "requests") { requests($0) },
            ControlRoute("DELETE", "requests") { .now(removeRequests($0)) },
            ControlRoute("GET", "requests/:id") { request($0) },
            ControlRoute("POST", "verify") { verify($0) },
            ControlRoute("GET", "worlds") { .now(listWorlds($0)) },
            ControlRoute("DELETE", "worlds/:name") { .now(removeWorld($0)) },
            ControlRoute("GET", "scenarios") { .now(listScenarios($0)) },
            ControlRoute("GET", "scenarios/:name") { .now(scenario($0)) },
            ControlRoute("POST", "scenarios/:name") { exchange in
                Reply.running { await playScenario(exchange) }
            },
            ControlRoute("POST", "tokens", keys: KeyOwner.allCases) { mintToken($0) },
            ControlRoute("GET", "accounts") { .now(accounts($0)) },
            ControlRoute("POST", "accounts") { .now(addAccount($0)) },
            ControlRoute("GET", "accounts/:id") { .now(account($0)) },
            ControlRoute("PATCH", "accounts/:id") { .now(changeAccount($0)) },
            ControlRoute("DELETE", "accounts/:id") { .now(removeAccount($0)) },
        ]
        return own + providers.flatMap(\.controlRoutes)
    }

    /// Adds every call to a router, each behind the guard.
    package func add(to router: inout Router<Route>) {
        for control in routes {
            let route = control.route
            router.add(
                control.method, "\(ControlAPI.root)/\(control.path)",
                Route(keys: route.keys, route.traits) { exchange in
                    refusal(of: exchange.request).map { .now($0) } ?? route.endpoint(exchange)
                })
        }
    }

    private func reset(_ exchange: Exchange) -> Response {
        exchange.world.reset()
        return ControlAnswer.ok(["world": .string(exchange.world.name), "reset": true])
    }
}
