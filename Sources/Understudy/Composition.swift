import Control
import EmulatorCore
import HTTPServer
import JSON

/// Puts providers, control API and pages together.
package enum Composition {
    /// Where something can be ordered to go wrong.
    package static func catalog(for seed: Seed) -> OperationCatalog {
        OperationCatalog(providers: Providers.playing(seed))
    }

    /// Everything but the sockets: what answers the requests to a daemon that starts with `seed`.
    package static func dispatcher(
        _ seed: Seed, _ worlds: WorldRegistry, _ options: RunningServer.Options,
        _ gauges: ProcessGauges = ProcessGauges(), ports: WorldPorts = WorldPorts()
    ) throws -> Dispatcher {
        let providers = Providers.playing(seed)
        let chosen = try scenarios(options.scenarios)
        let scenarios = Lazy {
            let others = BuiltInScenarios.all.filter { scenario in
                !chosen.contains { $0.scenario.name == scenario.name }
            }
            return (others + chosen.map(\.scenario)).sorted { $0.name < $1.name }
        }
        let status = StatusPage(
            providers: providers, version: Version.current, chosen: chosen.map(\.scenario), scenarios: scenarios,
            masksSecrets: options.masksSecrets)
        let pages = [
            // Any origin may ask whether an emulator is here, as at the Emulator Suite.
            Operation("GET", [], "/", cors: .any, nil) { status.response($0) },
            // Browsers ask for it without being told to, so it isn't a failure.
            Operation("GET", [], "/favicon.ico", nil) { _ in Response(status: 204) },
        ]
        let control = ControlAPI(
            providers: providers, worlds: worlds, ports: ports, version: Version.current, hosts: options.controlHosts,
            scenarios: scenarios, masksSecrets: options.masksSecrets, gauges: gauges)
        return Dispatcher(
            providers: providers, own: pages + control.operations, controlRefusal: { control.refusal(of: $0) },
            worlds: worlds, scenarios: chosen, logger: options.logger)
    }

    private static func scenarios(_ names: [String]) throws -> [ChosenScenario] {
        do throws(Issues) {
            var scenarios: [ChosenScenario] = []
            for name in names { scenarios.append(try BuiltInScenarios.choose(name)) }
            return scenarios
        } catch {
            throw StartError(description: error.description)
        }
    }
}
