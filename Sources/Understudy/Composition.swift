import Control
import EmulatorCore
import HTTPServer
import Inspector
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
        let chosen = try scenarios(options.scenarios)
        let scenarios = Lazy {
            let others = BuiltInScenarios.all.filter { scenario in
                !chosen.contains { $0.scenario.name == scenario.name }
            }
            return (others + chosen.map(\.scenario)).sorted { $0.name < $1.name }
        }
        let daemon = Daemon(
            worlds: worlds, ports: ports, options: options, gauges: gauges, chosen: chosen.map(\.scenario),
            scenarios: scenarios)
        return Dispatcher(daemon.play(seed), worlds: worlds, scenarios: chosen, logger: options.logger)
    }

    /// What is the same for each seed that the daemon plays.
    private struct Daemon: Sendable {
        let worlds: WorldRegistry
        let ports: WorldPorts
        let options: RunningServer.Options
        let gauges: ProcessGauges
        let chosen: [Scenario]
        let scenarios: Lazy<[Scenario]>
        let formToken = FormToken()

        func play(_ seed: Seed) -> PlayedSeed {
            let providers = Providers.playing(seed)
            let control = ControlAPI(
                for: seed, providers: providers, worlds: worlds, ports: ports,
                seeds: RuntimeSeeds(check: SeedInput.checked, play: { play($0) }),
                version: Version.current, hosts: options.controlHosts, scenarios: scenarios,
                masksSecrets: options.masksSecrets, gauges: gauges)
            let inspector = Inspector(
                control, providers: providers, version: Version.current, chosen: chosen, formToken: formToken)
            let home = [
                // Any origin may ask whether an emulator is here, as at the Emulator Suite.
                Operation("GET", [], "/", cors: .any, nil) { await inspector.home($0) },
                // Browsers ask for it without being told to, so it isn't a failure.
                Operation("GET", [], "/favicon.ico", nil) { _ in Response(status: 204) },
            ]
            return PlayedSeed(
                seed, providers: providers, own: home + inspector.operations + control.operations,
                controlRefusal: { control.refusal(of: $0) },
                refusePage: { inspector.refuse($0, because: $1) })
        }
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
