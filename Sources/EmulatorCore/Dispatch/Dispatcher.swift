import HTTPServer
import JSON
import Logging
import Synchronization
import Time

/// Takes a request to its endpoint: which host, which world, which route; and completes the answer.
package final class Dispatcher: Sendable {
    private static let requestHeader = "Understudy-Request"

    let hosts: [String: Router<Route>]
    private let owners: [String: any Provider]
    private let own: Router<Route>
    private let worlds: WorldRegistry
    private let logger: Logger
    private let counter = Atomic<Int>(0)
    /// Run in every new world before anything else.
    private let scenarios: [Scenario]

    /// `own` serves what stands under no provider's host: our pages and the control API.
    package init(
        providers: [any Provider], own: Router<Route>, worlds: WorldRegistry, scenarios: [Scenario] = [],
        logger: Logger
    ) {
        var hosts: [String: Router<Route>] = [:]
        var owners: [String: any Provider] = [:]
        for provider in providers {
            for (host, routes) in provider.routes {
                hosts[host, default: Router()].merge(routes)
                if owners[host] == nil { owners[host] = provider }
            }
        }
        var own = own
        if let more = hosts.removeValue(forKey: "") { own.merge(more) }
        self.hosts = hosts
        self.owners = owners
        self.own = own
        self.worlds = worlds
        self.scenarios = scenarios
        self.logger = logger
    }

    private func nextID() -> String { "r\(counter.wrappingAdd(1, ordering: .relaxed).newValue)" }

    /// For what is refused before it gets here: a request too large to be read.
    package func refusalHeaders(reason: String) -> [(name: String, value: String)] {
        let id = nextID()
        logger.info("\(reason)", metadata: ["request": "\(id)"])
        return [(name: Diagnosis.headerName, value: reason), (name: Dispatcher.requestHeader, value: id)]
    }

    /// The host as the tables know it: itself, or the pattern that takes it.
    private func known(_ host: String) -> String? {
        if hosts[host] != nil { return host }
        guard let dot = host.firstIndex(of: "."), dot != host.startIndex else { return nil }
        let pattern = "*\(host[dot...])"
        return hosts[pattern] == nil ? nil : pattern
    }

    /// A request on its way to its answer.
    private struct RequestContext: Sendable {
        let request: Request
        let id: String
        /// The exchange on whose behalf the daemon asks itself.
        let parent: String?
        let address: Address
        let world: World
        /// Microseconds since 1970.
        let began: Int64
    }

    package func handle(_ request: Request) -> Reply { handle(request, from: nil) }

    private func handle(_ request: Request, from parent: String?) -> Reply {
        let id = nextID()
        let began = MachineClock.microseconds
        let address = Address(request) { known($0) != nil }
        // RFC 9112 section 3.2: what can't be a host is refused. It would come back in the URLs of answers.
        guard Address.isWellFormed(address.authority) else {
            return .now(identified(Dispatcher.badHost(address.authority), request, at: address, id: id))
        }
        guard let world = worlds.world(address.world) else {
            return .now(identified(Dispatcher.noWorld(address.world), request, at: address, id: id))
        }
        if !Dispatcher.safeMethods.contains(request.method) { world.noteChange() }
        let context = RequestContext(
            request: request, id: id, parent: parent, address: address, world: world, began: began)
        // What the daemon asks itself has no need to wait: a scenario's own calls mustn't, nor what they ask in turn.
        guard !scenarios.isEmpty, parent == nil, !world.preparation.isDone else {
            return answer(context)
        }
        return prepared(context)
    }

    /// Runs the scenarios first, or waits until they have run.
    private func prepared(_ context: RequestContext) -> Reply {
        .later { [self] done in
            let goOn: @Sendable () -> Void = { [self] in answer(context).deliver(done) }
            switch context.world.preparation.take(then: goOn) {
            case .wait: return
            case .go: goOn()
            case .mine:
                Task.immediate {
                    for scenario in scenarios {
                        do throws(Scenario.Failure) {
                            try await scenario.play(in: context.world.name, with: JSONObject(), by: self)
                        } catch {
                            logger.error("the scenario \"\(scenario.name)\" can't be played: \(error.description)")
                        }
                    }
                    context.world.preparation.finish()
                    goOn()
                }
            }
        }
    }

    private func answer(_ context: RequestContext) -> Reply {
        let (request, address, world) = (context.request, context.address, context.world)
        let router = address.host.flatMap(known).flatMap { hosts[$0] } ?? own
        switch router.match(request.method, address.path) {
        case .found(let route, let parameters):
            var exchange = Exchange(
                request: request, address: address, world: world, id: context.id, parameters: parameters,
                network: self)
            if let excess = RequestBudget.excess(of: request) {
                let refusal = overBudget(exchange, excess)
                guard route.traits != nil else {
                    return .now(identified(refusal, request, at: address, id: context.id))
                }
                return .now(complete(refusal, context, nil, client: nil))
            }
            guard route.traits != nil else {
                return serve(exchange, at: route).map { [self] in identified($0, request, at: address, id: context.id) }
            }
            // Asked before the endpoint runs: it may revoke the credentials that tell.
            let client = client(of: exchange)
            // A scenario's own calls aren't what is to go wrong.
            if context.parent != Scenario.parent {
                exchange.appliedFault = world.takeFault(for: exchange, at: route) { client ?? request.namedClient }
            }
            let fault = exchange.appliedFault
            return serve(exchange, at: route).map { [self] in complete($0, context, fault, client: client) }
        case .methodNotAllowed(let methods):
            let refusal = request.method == "OPTIONS" ? nil : ownersRefusal(request, address, world, context.id)
            let response = refusal ?? notAllowed(request, methods, route: anyRoute(router, methods, address.path))
            return .now(complete(response, context, nil, client: nil))
        case .notFound:
            let response = ownersRefusal(request, address, world, context.id) ?? notFound(request, address)
            return .now(complete(response, context, nil, client: nil))
        }
    }

    /// Waits for the keys that the endpoint signs with, and runs it, as far as no fault is ordered.
    private func serve(_ exchange: Exchange, at route: Route) -> Reply {
        let run: @Sendable () -> Reply = {
            guard let fault = exchange.appliedFault else { return route.run(exchange) }
            return fault.carryOut(exchange, at: route) { route.run(exchange) }
        }
        guard !route.keys.isEmpty, !exchange.world.keys.areReady(route.keys) else { return run() }
        return .later { done in
            exchange.world.keys.whenReady(route.keys) { run().deliver(done) }
        }
    }

    private func client(of exchange: Exchange) -> String? {
        exchange.address.host.flatMap(known).flatMap { owners[$0] }?.client(of: exchange)
    }

    private func ownersRefusal(_ request: Request, _ address: Address, _ world: World, _ id: String) -> Response? {
        guard let owner = address.host.flatMap(known).flatMap({ owners[$0] }) else { return nil }
        return owner.notServed(Exchange(request: request, address: address, world: world, id: id, network: self))
    }

    private func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response {
        let owner = exchange.address.host.flatMap(known).flatMap { owners[$0] }
        return owner?.overBudget(exchange, diagnosis) ?? ControlAnswer.error(400, "tooMuch", diagnosis.line)
    }

    private func anyRoute(_ router: Router<Route>, _ methods: [String], _ path: String) -> Route? {
        for method in methods {
            if case .found(let route, _) = router.match(method, path) { return route }
        }
        return nil
    }

    /// Requests with these only look, as far as they give nothing out.
    private static let safeMethods: Set<String> = ["GET", "HEAD", "OPTIONS"]

    /// Gives the answer its name, puts it into the recording and the log, and settles the fault that was ordered.
    private func complete(
        _ response: Response, _ context: RequestContext, _ fault: AppliedFault?, client: String?
    ) -> Response {
        var response = response
        if let fault {
            context.world.finish(fault)
            if fault.isUsed, response.header(Diagnosis.headerName) == nil {
                response = response.diagnosed(fault.diagnosis)
            }
        }
        response = identified(response, context.request, at: context.address, id: context.id)
        context.world.recording.add(
            RecordedExchange(
                id: context.id, parent: context.parent, host: context.address.host, path: context.address.path,
                client: client,
                request: context.request, response: response,
                time: context.world.now, began: context.began,
                duration: MachineClock.microseconds - context.began,
                fault: fault.flatMap { $0.isUsed ? $0.fault.summary : nil }))
        return response
    }

    private func identified(_ response: Response, _ request: Request, at address: Address, id: String) -> Response {
        var response = response
        response.headers.append((name: Dispatcher.requestHeader, value: id))
        let diagnosis = response.header(Diagnosis.headerName)
        if diagnosis != nil || logger.logLevel <= .debug {
            // The path only: queries and bodies carry codes and secrets.
            var metadata: Logger.Metadata = [
                "request": "\(id)", "status": "\(response.status)", "method": "\(request.method)",
                "path": "\(address.host ?? "")\(address.path)",
            ]
            if address.world != WorldRegistry.defaultName { metadata["world"] = "\(address.world)" }
            if let diagnosis {
                logger.info("\(diagnosis)", metadata: metadata)
            } else {
                logger.debug("answered", metadata: metadata)
            }
        }
        return response
    }
}

extension Route {
    fileprivate func run(_ exchange: Exchange) -> Reply {
        let reply = endpoint(exchange)
        guard cors == .any, exchange.request.header("Origin") != nil else { return reply }
        return reply.map { response in
            var response = response
            if response.header("Access-Control-Allow-Origin") == nil {
                response.headers.append((name: "Access-Control-Allow-Origin", value: "*"))
            }
            return response
        }
    }
}

extension Dispatcher: Network {
    package func plays(_ host: String) -> Bool { known(host) != nil }

    package func send(_ request: Request, from parent: String) -> Reply { handle(request, from: parent) }

    package func log(_ message: String, detail: String, for exchange: Exchange) {
        var metadata: Logger.Metadata = ["request": "\(exchange.id)"]
        if exchange.address.world != WorldRegistry.defaultName { metadata["world"] = "\(exchange.address.world)" }
        logger.info("\(message)", metadata: metadata)
        logger.debug("\(detail)", metadata: metadata)
    }
}
