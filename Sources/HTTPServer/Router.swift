/// Finds the endpoint for a method and a path. A pattern's segment `:name` takes any one segment.
package struct Router<Endpoint: Sendable>: Sendable {
    package enum Match {
        case found(Endpoint, parameters: [String: String])
        /// The path exists for these methods only.
        case methodNotAllowed([String])
        case notFound
    }

    private struct Route: Sendable {
        let pattern: [String]
        var endpoints: [(method: String, endpoint: Endpoint)]
    }

    private var routes: [Route] = []
    /// Routes without parameters, found in one step.
    private var literals: [String: Int] = [:]

    package init() {}

    package mutating func add(_ method: String, _ pattern: String, _ endpoint: Endpoint) {
        let segments = Router.segments(of: pattern)
        if let place = routes.firstIndex(where: { $0.pattern == segments }) {
            routes[place].endpoints.append((method: method, endpoint: endpoint))
            return
        }
        routes.append(Route(pattern: segments, endpoints: [(method: method, endpoint: endpoint)]))
        if !segments.contains(where: { $0.hasPrefix(":") }) { literals[pattern] = routes.count - 1 }
    }

    /// Adds what another router serves.
    package mutating func merge(_ other: Router) {
        for route in other.routes {
            let pattern = "/" + route.pattern.joined(separator: "/")
            for (method, endpoint) in route.endpoints { add(method, pattern, endpoint) }
        }
    }

    /// What is served, method by path, in the order in which it was added.
    package var served: [(method: String, path: String, endpoint: Endpoint)] {
        routes.flatMap { route in
            route.endpoints.map { served in
                (method: served.method, path: "/" + route.pattern.joined(separator: "/"), endpoint: served.endpoint)
            }
        }
    }

    /// `HEAD` finds what `GET` does. `path` is percent-encoded; parameters come back decoded.
    package func match(_ method: String, _ path: String) -> Match {
        let wanted = method == "HEAD" ? "GET" : method
        if let place = literals[path] { return choose(routes[place], wanted, [:]) }
        let segments = Router.segments(of: path)
        for route in routes where route.pattern.count == segments.count {
            var parameters: [String: String] = [:]
            let fits = zip(route.pattern, segments).allSatisfy { pattern, segment in
                guard pattern.hasPrefix(":") else { return pattern == segment }
                parameters[String(pattern.dropFirst())] = segment
                return !segment.isEmpty
            }
            if fits { return choose(route, wanted, parameters) }
        }
        return .notFound
    }

    private func choose(_ route: Route, _ method: String, _ parameters: [String: String]) -> Match {
        if let found = route.endpoints.first(where: { $0.method == method }) {
            return .found(found.endpoint, parameters: parameters)
        }
        let methods = route.endpoints.map(\.method)
        return .methodNotAllowed(methods + (methods.contains("GET") ? ["HEAD"] : []) + ["OPTIONS"])
    }

    private static func segments(of path: String) -> [String] {
        Array(path.utf8).split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst().map {
            String(decoding: PercentCoding.decode($0), as: UTF8.self)
        }
    }
}
