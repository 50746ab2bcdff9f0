import Control
import EmulatorCore
import HTTPServer
import Inspector
import JSON
import Worlds

/// Combines the providers' endpoints, the control API and the web pages into a server.
package enum Composition {
    /// Returns the endpoints, and the steps of an SMTP conversation, at which tests can inject faults (errors or
    /// delays).
    package static func catalog(for seed: Seed) -> EndpointCatalog {
        EndpointCatalog(providers: Providers.playing(seed))
    }

    /// Descriptions of all calls of the control API, for the documentation. They are the same for every seed.
    package static let calls: [Endpoint] = {
        let nothing = Providers.seedFormat.nothing
        let daemon = Daemon(
            worlds: Lazy { WorldRegistry(seed: nothing, generator: KeyGenerator()) }, ports: WorldPorts(),
            mailPorts: WorldPorts(.smtp), options: RunningServer.Options(), gauges: ProcessGauges(), chosen: [],
            scenarios: Lazy { [] }, token: nil, formToken: FormToken())
        return daemon.control(nothing, Providers.playing(nothing)).calls
    }()

    /// Makes all parts of a daemon except its sockets. The returned object answers requests, with `seed` as the initial
    /// data.
    package static func dispatcher(
        _ seed: Seed, _ worlds: WorldRegistry, _ options: RunningServer.Options,
        _ gauges: ProcessGauges = ProcessGauges(), ports: WorldPorts = WorldPorts(),
        mailPorts: WorldPorts = WorldPorts(.smtp)
    ) throws -> Dispatcher {
        let chosen = try scenarios(options.scenarios)
        let scenarios = Lazy {
            let others = BuiltInScenarios.all.filter { scenario in
                !chosen.contains { $0.scenario.name == scenario.name }
            }
            return (others + chosen.map(\.scenario)).sorted { $0.name < $1.name }
        }
        let formToken: FormToken
        do throws(StoreFailure) { formToken = try FormToken(worlds.archive) } catch {
            throw StartError(description: error.diagnosis.line)
        }
        let daemon = Daemon(
            worlds: Lazy { worlds }, ports: ports, mailPorts: mailPorts, options: options, gauges: gauges,
            chosen: chosen.map(\.scenario), scenarios: scenarios, token: try token(options),
            formToken: formToken)
        do {
            try worlds.resume(RuntimeSeeds(check: SeedInput.check(options), play: { daemon.play($0) }))
        } catch let failure as StoreFailure {
            throw StartError(description: failure.diagnosis.line)
        } catch {
            throw StartError(description: "\(error)")
        }
        return Dispatcher(
            daemon.play(seed), worlds: worlds, scenarios: chosen, controlToken: daemon.token, logger: options.logger)
    }

    /// The parts of a daemon that are independent of its test worlds' seeds (initial data).
    private struct Daemon: Sendable {
        let worlds: Lazy<WorldRegistry>
        let ports: WorldPorts
        let mailPorts: WorldPorts
        let options: RunningServer.Options
        let gauges: ProcessGauges
        let chosen: [Scenario]
        let scenarios: Lazy<[Scenario]>
        let token: ControlToken?
        let formToken: FormToken

        func control(_ seed: Seed, _ providers: [any Provider]) -> ControlAPI {
            ControlAPI(
                for: seed, providers: providers, worlds: worlds, ports: ports, mailPorts: mailPorts,
                seeds: RuntimeSeeds(check: SeedInput.check(options), play: { play($0) }),
                version: Version.current, hosts: options.controlHosts, token: token, scenarios: scenarios,
                masksSecrets: options.masksSecrets, gauges: gauges)
        }

        func play(_ seed: Seed) -> PlayedSeed {
            let providers = Providers.playing(seed)
            let control = control(seed, providers)
            let inspector = Inspector(
                control, providers: providers, version: Version.current, chosen: chosen, formToken: formToken)
            let home = [
                // Pages of any origin may ask whether this is an emulator, as at the Emulator Suite.
                Endpoint("GET", [], "/", cors: .any, nil) { try await inspector.home($0) },
                // Browsers ask for the icon by themselves, so it isn't a failure.
                Endpoint("GET", [], "/favicon.ico", nil) { _ in Response(status: 204) },
            ]
            return PlayedSeed(
                seed, providers: providers, own: home + inspector.endpoints + control.endpoints,
                controlRefusal: { control.refusal(of: $0, isControl: $1) },
                refusePage: { inspector.refuse($0, because: $1) })
        }
    }

    /// Returns the control token that the options give. If it is invalid, the error message doesn't contain it.
    private static func token(_ options: RunningServer.Options) throws -> ControlToken? {
        guard let text = options.controlToken else { return nil }
        guard let token = ControlToken(text) else {
            throw StartError(description: "the control token is invalid: expected \(ControlToken.rule)")
        }
        return token
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
