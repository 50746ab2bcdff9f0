import HTTPServer
import JOSE
import Logging
import Synchronization

/// Takes a request to its endpoint: which host, which world, which route; and completes the answer.
package final class Dispatcher: Sendable {
    private static let requestHeader = "Understudy-Request"

    private let hosts: [String: Router<Route>]
    private let owners: [String: any Provider]
    private let own: Router<Route>
    private let worlds: WorldRegistry
    private let logger: Logger
    private let counter = Atomic<Int>(0)

    /// `own` serves what stands under no provider's host: our pages and the control API.
    package init(providers: [any Provider], own: Router<Route>, worlds: WorldRegistry, logger: Logger) {
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

    package func handle(_ request: Request) -> Reply {
        let id = nextID()
        let address = Address(request) { known($0) != nil }
        return answer(request, at: address, id: id).map { [self] response in
            complete(response, to: request, at: address, id: id)
        }
    }

    private func answer(_ request: Request, at address: Address, id: String) -> Reply {
        guard let world = worlds.world(address.world) else {
            let advice =
                "a world's name is 1 to 64 letters, digits, \"-\", \"_\" and \".\"; at most \(WorldRegistry.limit) exist"
            return .now(
                Dispatcher.problem(
                    404, "no such world", Diagnosis(received: "world \(Diagnosis.quote(address.world))", advice)))
        }
        let router = address.host.flatMap(known).flatMap { hosts[$0] } ?? own
        switch router.match(request.method, address.path) {
        case .found(let route, let parameters):
            let exchange = Exchange(
                request: request, address: address, world: world, id: id, parameters: parameters, network: self)
            guard !route.keys.isEmpty, !world.keys.areReady(route.keys) else { return route.run(exchange) }
            return .later { done in
                world.keys.whenReady(route.keys) {
                    switch route.run(exchange) {
                    case .now(let response): done(response)
                    case .later(let start): start(done)
                    }
                }
            }
        case .methodNotAllowed(let methods):
            if request.method != "OPTIONS", let response = ownersRefusal(request, address, world, id) {
                return .now(response)
            }
            return .now(notAllowed(request, methods, route: anyRoute(router, methods, address.path)))
        case .notFound:
            return .now(ownersRefusal(request, address, world, id) ?? notFound(request, address))
        }
    }

    private func ownersRefusal(_ request: Request, _ address: Address, _ world: World, _ id: String) -> Response? {
        guard let owner = address.host.flatMap(known).flatMap({ owners[$0] }) else { return nil }
        return owner.notServed(Exchange(request: request, address: address, world: world, id: id, network: self))
    }

    private func anyRoute(_ router: Router<Route>, _ methods: [String], _ path: String) -> Route? {
        for method in methods {
            if case .found(let route, _) = router.match(method, path) { return route }
        }
        return nil
    }

    private func notAllowed(_ request: Request, _ methods: [String], route: Route?) -> Response {
        let allow = (name: "Allow", value: methods.joined(separator: ", "))
        guard request.method == "OPTIONS" else {
            let diagnosis = Diagnosis(received: "\(request.method)", expected: allow.value, "use one of these methods")
            var response = Dispatcher.problem(405, "method not allowed", diagnosis)
            response.headers.append(allow)
            return response
        }
        var response = Response(status: 204, headers: [allow])
        if route?.cors == .any, request.header("Origin") != nil {
            response.headers += [
                (name: "Access-Control-Allow-Origin", value: "*"),
                (name: "Access-Control-Allow-Methods", value: allow.value),
                (name: "Access-Control-Allow-Headers", value: request.header("Access-Control-Request-Headers") ?? "*"),
                (name: "Access-Control-Max-Age", value: "3600"),
            ]
        }
        return response
    }

    private func notFound(_ request: Request, _ address: Address) -> Response {
        let place = address.host.map { "\($0)\(address.path)" } ?? address.path
        let known =
            address.host == nil ? "a path that begins with one of: \(hosts.keys.sorted().joined(separator: ", "))" : nil
        let diagnosis = Diagnosis(
            received: Diagnosis.quote("\(request.method) \(place)"), expected: known,
            "nothing is served at this address")
        return Dispatcher.problem(404, "not found", diagnosis)
    }

    private static func problem(_ status: Int, _ message: String, _ diagnosis: Diagnosis) -> Response {
        let body: JSONValue = ["error": ["code": .string(message), "message": .string(diagnosis.line)]]
        return Response(status: status, contentType: "application/json", body: body.text).diagnosed(diagnosis)
    }

    private func complete(_ response: Response, to request: Request, at address: Address, id: String) -> Response {
        var response = response
        response.headers.append((name: Dispatcher.requestHeader, value: id))
        let diagnosis = response.header(Diagnosis.headerName)
        if diagnosis != nil || logger.logLevel <= .debug {
            // The path only: queries and bodies carry codes and secrets.
            var metadata: Logger.Metadata = [
                "request": "\(id)", "status": "\(response.status)", "method": "\(request.method)",
                "path": "\(address.host ?? "")\(address.path)",
            ]
            if address.world != "default" { metadata["world"] = "\(address.world)" }
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

    package func send(_ request: Request) -> Reply { handle(request) }

    package func log(_ message: String, detail: String, for exchange: Exchange) {
        var metadata: Logger.Metadata = ["request": "\(exchange.id)"]
        if exchange.address.world != "default" { metadata["world"] = "\(exchange.address.world)" }
        logger.info("\(message)", metadata: metadata)
        logger.debug("\(detail)", metadata: metadata)
    }
}
