import HTTPServer
import JSON
import Logging
import Platform
import Recordings
import Synchronization
import Time
import Worlds

/// The daemon's dispatcher of requests: it finds the test world and the endpoint of a request, runs the endpoint, and
/// records and logs the response.
package final class Dispatcher: Sendable {
    static let requestHeader = "Understudy-Request"

    let endpoints: EndpointTable
    let worlds: WorldRegistry
    private let providers: [any Provider]
    let logger: Logger
    private let numbers: ExchangeNumbers
    private let requests = Atomic<Int>(0)
    /// The scenarios (prepared situations) that are run in every new test world before the world answers requests.
    let scenarios: [ChosenScenario]
    /// The secret token for control of the daemon, which is masked in recorded requests; `nil` if the daemon has none.
    package let controlToken: ControlToken?

    /// Makes a dispatcher of requests to `providers`.
    ///
    /// - Parameters:
    ///   - own: The endpoints that belong to no provider: the daemon's pages and the control API.
    ///   - controlRefusal: Returns the refusal of a request whose client may not control the daemon, and otherwise
    ///     `nil`.
    package init(
        providers: [any Provider], own: [Endpoint],
        controlRefusal: @escaping ControlRefusal.Check = { _, _ in nil }, worlds: WorldRegistry,
        scenarios: [ChosenScenario] = [], logger: Logger
    ) {
        endpoints = EndpointTable(providers: providers, own: own, control: controlRefusal)
        controlToken = nil
        self.providers = providers
        self.worlds = worlds
        numbers = ExchangeNumbers(of: worlds.archive)
        self.scenarios = scenarios
        self.logger = logger
    }

    /// Makes a dispatcher of requests. In every test world without a seed of its own, it uses the providers of the seed
    /// `played`. A seed is the initial data of a test world.
    package init(
        _ played: PlayedSeed, worlds: WorldRegistry, scenarios: [ChosenScenario] = [],
        controlToken: ControlToken? = nil, logger: Logger
    ) {
        self.controlToken = controlToken
        endpoints = played.endpoints
        providers = played.providers
        self.worlds = worlds
        numbers = ExchangeNumbers(of: worlds.archive)
        self.scenarios = scenarios
        self.logger = logger
    }

    func endpoints(of world: World?) -> EndpointTable { world?.own?.played.endpoints ?? endpoints }

    /// Returns the providers of a test world's own seed (initial data) or, if the world has none, those of the daemon's
    /// seed.
    func providers(of world: World) -> [any Provider] { world.own?.played.providers ?? providers }

    func nextID() -> String { "r\(numbers.next)" }

    struct RequestContext: Sendable {
        let request: Request
        let id: String
        /// The ID of the request during which the daemon sends this request to itself, or `Scenario.parent` for a
        /// scenario's call; `nil` for a request from outside.
        let parent: String?
        let address: Address
        let world: World
        /// The time when the request came, in microseconds since 1970.
        let began: Int64
    }

    /// The number of HTTP requests and SMTP conversations that came from outside the daemon.
    package var requestCount: Int { requests.load(ordering: .relaxed) }

    func count() { requests.wrappingAdd(1, ordering: .relaxed) }

    package func handle(_ request: Request) -> Reply {
        count()
        guard let threads = worlds.threads else { return handle(request, from: nil) }
        return .later { [self] done in
            threads.run { [self] in
                handle(request, from: nil).deliver(done)
            }
        }
    }

    func handle(_ request: Request, from parent: String?) -> Reply {
        let id = nextID()
        let began = MachineClock.microseconds
        let named: NamedWorld
        let found: World?
        do {
            // The daemon's requests to itself belong to one for which the world was refreshed.
            (named, found) = try world(of: request, refreshing: parent == nil)
        } catch {
            let nowhere = NamedWorld(unreadable: request, unnamed: worlds.unnamed)
            let address = Address(request, in: nowhere) { _ in false }
            return .now(identified(refusal(of: error), request, at: address, id: id))
        }
        let endpoints = self.endpoints(of: found)
        let address = Address(
            request, in: named, alias: { endpoints.alias(of: $0) }, knows: { endpoints.serves($0) })
        guard let world = found else {
            return .now(identified(Dispatcher.noWorld(named.name), request, at: address, id: id))
        }
        if !Dispatcher.safeMethods.contains(request.method) { world.markChanged() }
        let context = RequestContext(
            request: request, id: id, parent: parent, address: address, world: world, began: began)
        // The daemon's requests to itself don't wait for the scenarios: they are part of them, or of a request that has
        // waited.
        guard !scenarios.isEmpty, parent == nil, !world.isPrepared else { return answer(context) }
        return prepared(context)
    }

    private static let healthPath = "\(Endpoint.controlRoot)/health"

    /// Returns the test world of a request. If the store fails, `GET health` gets the world that this daemon has in
    /// memory, and says why the store fails.
    private func world(of request: Request, refreshing: Bool) throws -> (NamedWorld, World?) {
        do {
            let named = try namedWorld(of: request, refreshing: refreshing)
            return (named, try worlds.world(named.name, refreshing: refreshing))
        } catch let failure as StoreFailure {
            guard refreshing, request.path.hasSuffix(Dispatcher.healthPath) else { throw failure }
            return try world(of: request, refreshing: false)
        }
    }

    private struct BadHost: AnswerableError {
        let response: Response
    }

    private func namedWorld(of request: Request, refreshing: Bool) throws -> NamedWorld {
        let authority = request.header("Host") ?? "localhost"
        // RFC 9112 section 3.2: an impossible Host is refused. It would appear in the URLs of answers.
        guard Address.isWellFormed(authority) else { throw BadHost(response: Dispatcher.badHost(authority)) }
        return try NamedWorld(request, unnamed: worlds.unnamed) { world, host in
            endpoints(of: try worlds.existing(world, refreshing: refreshing)).serves(host)
        }
    }

    /// Answers a request to a new test world once the world's initial scenarios (prepared situations) have been run, by
    /// this request or an earlier one.
    private func prepared(_ context: RequestContext) -> Reply {
        .later { [self] done in
            let goOn: @Sendable () -> Void = { [self] in answer(context).deliver(done) }
            switch context.world.preparation.requestTurn(then: goOn) {
            case .wait: return
            case .go: goOn()
            case .mine:
                Task.atOnce(executorPreference: OperationExecutor.shared) { [self] in
                    do {
                        if let failure = try await prepare(context.world) { logger.error("\(failure)") }
                        goOn()
                    } catch {
                        done(complete(refusal(of: error), context, nil, client: nil))
                    }
                }
            }
        }
    }

    private func answer(_ context: RequestContext) -> Reply {
        do { return try reply(to: context) } catch {
            return .now(complete(refusal(of: error), context, nil, client: nil))
        }
    }

    private func reply(to context: RequestContext) throws -> Reply {
        let (request, address) = (context.request, context.address)
        let endpoints = self.endpoints(of: context.world)
        switch endpoints.match(request.method, at: address) {
        case .found(let entry, let parameters):
            return try reply(to: context, by: entry, parameters)
        case .methodNotAllowed(let methods):
            if address.host == nil, let page = endpoints.refusePage?(exchange(context), .otherMethod(methods)) {
                return .now(identified(page, request, at: address, id: context.id))
            }
            let entry = endpoints.first(of: methods, at: address)
            let refusal =
                request.method == "OPTIONS"
                ? nil : try (entry?.provider as? any RefusesUnserved)?.notServed(exchange(context))
            var response =
                refusal?.diagnosed(adding: "; this address takes \(methods.joined(separator: ", "))")
                ?? notAllowed(request, methods, cors: entry?.endpoint.cors ?? .none)
            if entry?.provider != nil, response.header(Evidence.headerName) == nil {
                response = response.known(by: request.method == "OPTIONS" ? .preflight : .unserved)
            }
            if entry?.endpoint.isControl ?? false {
                return .now(identified(response, request, at: address, id: context.id))
            }
            return .now(complete(response, context, nil, client: nil))
        case .notFound:
            if let refusal = misplacedCall(request, address, endpoints) {
                return .now(identified(refusal, request, at: address, id: context.id))
            }
            if address.host == nil, let page = endpoints.refusePage?(exchange(context), .nothingThere) {
                return .now(identified(page, request, at: address, id: context.id))
            }
            let exchange = exchange(context)
            // If a provider explains an address at the daemon's own name, its explanation comes first.
            let explained = address.host == nil ? explanation(of: exchange) : nil
            let refusal = try explained ?? refusal(of: exchange, by: endpoints.providers(at: address.host))
            let meant =
                explained != nil
                ? "" : endpoints.nearest(to: address.path, at: address.host).map { "; did you mean \"\($0)\"?" } ?? ""
            var response = refusal?.diagnosed(adding: meant) ?? notFound(request, address, hint: meant)
            if refusal != nil, response.header(Evidence.headerName) == nil { response = response.known(by: .unserved) }
            // Calls of the control API aren't recorded, nor are mistyped ones.
            if address.host == nil, address.path.hasPrefix(Endpoint.controlRoot + "/") {
                return .now(identified(response, request, at: address, id: context.id))
            }
            return .now(complete(response, context, nil, client: nil))
        }
    }

    private func reply(
        to context: RequestContext, by entry: EndpointTable.Entry, _ parameters: [String: String]
    ) throws -> Reply {
        let (request, address, endpoint) = (context.request, context.address, entry.endpoint)
        var exchange = exchange(context, parameters)
        if let excess = RequestBudget.excess(of: request) {
            let words =
                endpoint.isControl
                ? nil
                : try entry.provider?.overBudget(exchange, excess)
                    ?? endpoints(of: context.world).refusePage?(exchange, .tooMuch(excess))
            let refusal = words ?? ControlAnswer.error(400, "tooMuch", excess.line)
            guard endpoint.traits != nil else {
                return .now(identified(refusal, request, at: address, id: context.id))
            }
            return .now(complete(refusal, context, nil, client: nil))
        }
        guard endpoint.traits != nil else {
            return serve(exchange, by: endpoint).map { [self] response in
                identified(response, request, at: address, id: context.id)
            }
        }
        // The client is read before the handler runs, which may revoke the credentials by which it is known.
        let client = entry.provider?.client(of: exchange)
        // Faults don't apply to a scenario's own calls.
        if context.parent != Scenario.parent {
            exchange.appliedFault = try context.world.consumeFault(for: exchange, at: endpoint) {
                endpoints(of: context.world).shortPaths(of: address.path, at: address.host)
            } client: {
                client ?? request.namedClient
            }
        }
        let fault = exchange.appliedFault
        return serve(exchange, by: endpoint).map { [self] response in
            if let fault { context.world.finish(fault) }
            let isProviders = entry.provider != nil && !endpoint.isControl
            return complete(
                isProviders ? Dispatcher.known(response, by: endpoint, fault) : response, context, fault,
                client: client)
        }
    }

    /// Waits until the signing keys that an endpoint needs are ready. Then runs the endpoint, or carries out the fault
    /// that applies to the request.
    private func serve(_ exchange: Exchange, by endpoint: Endpoint) -> Reply {
        let run: @Sendable () -> Reply = { [self] in
            guard let fault = exchange.appliedFault else { return endpoint.run(exchange, or: refusal) }
            let reply = fault.carryOut(exchange, at: endpoint, or: refusal) {
                endpoint.run(exchange, or: self.refusal)
            }
            return endpoint.shared(reply, with: exchange.request)
        }
        guard !endpoint.keys.isEmpty, !exchange.world.keys.areReady(endpoint.keys) else { return run() }
        return .later { [self] done in
            exchange.world.keys.whenReady(endpoint.keys) { [self] failure in
                guard let failure else { return run().deliver(done) }
                done(refusal(of: failure))
            }
        }
    }

    private func exchange(_ context: RequestContext, _ parameters: [String: String] = [:]) -> Exchange {
        Exchange(
            request: context.request, address: context.address, world: context.world, id: context.id,
            parameters: parameters, network: self, isInternal: context.parent != nil)
    }

    /// Asks each provider for an explanation why nothing is served at an address of the daemon's own host name. Returns
    /// the first explanation; `nil` when no provider has one.
    private func explanation(of exchange: Exchange) -> Response? {
        for provider in providers(of: exchange.world) {
            if let answer = (provider as? any ExplainsOwnAddresses)?.unserved(exchange) { return answer }
        }
        return nil
    }

    /// Asks each provider for its own error for an address at which nothing is served. Returns the first such error;
    /// `nil` when no provider has one.
    private func refusal(of exchange: Exchange, by providers: [any Provider]) throws -> Response? {
        for provider in providers {
            if let refusal = try (provider as? any RefusesUnserved)?.notServed(exchange) { return refusal }
        }
        return nil
    }

    /// The HTTP methods whose requests don't by themselves count as changes of a test world.
    private static let safeMethods: Set<String> = ["GET", "HEAD", "OPTIONS"]
}

// Answers before they are sent: they are recorded and logged.

extension Dispatcher {
    /// Returns the answer to a request whose handler has thrown an error.
    @Sendable func refusal(of error: any Error) -> Response {
        switch error {
        case let failure as StoreFailure:
            worlds.budget.notices.warnOncePerMinute(.stores, failure.diagnosis.line)
            return failure.response
        case let error as any AnswerableError: return error.response
        case let refusal as NamedWorld.Refusal: return noWorld(refusal)
        default:
            logger.error("\(error)")
            return Dispatcher.defect
        }
    }

    /// Returns a provider's response with the header `Understudy-Evidence`, which names the public source for the
    /// behaviour. A response that has the header already keeps it. Pages, successful responses and responses without a
    /// diagnosis get the endpoint's source. Other refusals get the value `none`, unless the store has failed or the
    /// control token is missing. A response that a simulated fault has changed gets no header.
    private static func known(_ response: Response, by endpoint: Endpoint, _ fault: AppliedFault?) -> Response {
        let own = response.headers.firstIndex { $0.name == Evidence.headerName }
        let isOrdered = fault?.isUsed ?? false
        if let own {
            guard isOrdered, response.headers[own].value == Evidence.none else { return response }
            var response = response
            response.headers.remove(at: own)
            return response
        }
        if isOrdered { return response }
        let isPage = response.header("Content-Type")?.hasPrefix("text/html") ?? false
        guard response.header(Diagnosis.headerName) == nil || isPage || response.status < 300 else {
            // A store that fails, or a missing control token, is no behaviour of the provider.
            return response.status == 503 || endpoint.isManagement ? response : response.known(by: nil)
        }
        return response.known(by: endpoint.evidence)
    }

    /// Adds the request's ID to the response, then records and logs the request with its response.
    func complete(
        _ response: Response, _ context: RequestContext, _ fault: AppliedFault?, client: String?
    ) -> Response {
        let time = context.world.now
        var response = response
        if let fault, fault.isUsed, response.header(Diagnosis.headerName) == nil {
            // A late answer, or a token that a fault changed, isn't a refusal.
            response =
                response.isRefusal ? response.diagnosed(fault.diagnosis) : response.addingNote(Note(fault.diagnosis))
        }
        response = identified(response, context.request, at: context.address, id: context.id)
        context.world.recording.add(
            RecordedExchange(
                id: context.id, parent: context.parent, world: context.world.name, host: context.address.host,
                path: context.address.path, client: client,
                request: controlToken?.withheld(from: context.request) ?? context.request, response: response,
                time: time, began: context.began,
                duration: MachineClock.microseconds - context.began,
                fault: fault.flatMap { $0.isUsed ? $0.summary : nil }))
        return response
    }

    func identified(_ response: Response, _ request: Request, at address: Address, id: String) -> Response {
        var response = response
        response.headers.append((name: Dispatcher.requestHeader, value: id))
        if request.header("Origin") != nil { Dispatcher.expose(in: &response) }
        if response.header(Diagnosis.headerName) != nil,
            response.header("Content-Type")?.hasPrefix("text/html") ?? false
        {
            response.body = Page.linked(response.body, base: address.ownBase, id: id)
        }
        let diagnosis = response.header(Diagnosis.headerName) ?? response.header(Note.headerName)
        if diagnosis != nil || logger.logLevel <= .debug {
            // Queries and bodies have codes and secrets, so only the path is logged.
            var metadata: Logger.Metadata = [
                "request": "\(id)", "status": "\(response.status)", "method": "\(request.method)",
                "path": "\(Diagnosis.visible("\(address.host ?? "")\(address.path)"))",
            ]
            if address.world != worlds.unnamed { metadata["world"] = "\(address.world)" }
            if let diagnosis {
                logger.info("\(diagnosis)", metadata: metadata)
            } else {
                logger.debug("answered", metadata: metadata)
            }
        }
        return response
    }
}

extension Response {
    /// Whether the response is an error by its status, or is sent incompletely or not at all.
    fileprivate var isRefusal: Bool {
        switch delivery {
        case .dropped, .cut: true
        case .whole, .stream: status >= 400
        }
    }
}

extension Dispatcher {
    /// Returns whether the daemon's own seed (initial data), as opposed to the seed of a single test world, has a
    /// provider at this host name.
    package func plays(_ host: String) -> Bool { endpoints.serves(host) }

    /// Returns the name of the provider whose endpoint answers a request with this method, host and path, and whether
    /// the endpoint is an authorization endpoint. Returns `nil` if no endpoint answers the request.
    package func endpoint(_ method: String, _ host: String, _ path: String) -> (provider: String?, authorizes: Bool)? {
        guard case .found(let entry, _) = endpoints.match(method, host: host, path: path) else { return nil }
        return (entry.provider?.name, entry.endpoint.traits?.authorizes ?? false)
    }
}

extension Dispatcher: Network {
    package func makeID() -> String { nextID() }

    package func plays(_ host: String, in world: World) -> Bool { endpoints(of: world).serves(host) }

    package func send(_ request: Request, from parent: String) -> Reply { handle(request, from: parent) }

    package func holds(_ world: World) -> Bool { worlds.held(world.name)?.state === world.state }

    /// The greatest number of test worlds that are searched for the one that has issued a certain code or token.
    private static let askedWorlds = 64

    /// Returns the name of the test world, other than `world`, that has issued the code or token `text`; `nil` if none
    /// is found. Only worlds that this daemon holds in memory are searched.
    package func world(thatIssued text: String, besides world: World) -> String? {
        guard (8...4_096).contains(text.utf8.count) else { return nil }
        let others = worlds.all.lazy.map(\.world).filter { $0.name != world.name }.prefix(Dispatcher.askedWorlds)
        return others.first { other in
            providers(of: other).contains { ($0 as? any KeepsGrants)?.issued(text, in: other) != nil }
        }?.name
    }

    package func log(_ message: String, detail: String, for exchange: Exchange) {
        var metadata: Logger.Metadata = ["request": "\(exchange.id)"]
        if exchange.address.world != worlds.unnamed { metadata["world"] = "\(exchange.address.world)" }
        logger.info("\(message)", metadata: metadata)
        logger.debug("\(detail)", metadata: metadata)
    }
}
