/// Finds what answers a method at a path. A pattern's segment `:name` takes any one segment.
package struct Router<Endpoint: Sendable>: Sendable {
    package enum Match {
        case found(Endpoint, parameters: [String: String])
        /// The path exists for these methods only.
        case methodNotAllowed([String])
        case notFound
    }

    private struct Route: Sendable {
        let path: String
        let pattern: [String]
        let hasParameters: Bool
        var endpoints: [(method: String, endpoint: Endpoint)]

        init(path: String, endpoints: [(method: String, endpoint: Endpoint)]) {
            self.path = path
            self.endpoints = endpoints
            pattern = Router.segments(of: path)
            hasParameters = pattern.contains { $0.hasPrefix(":") }
        }
    }

    private var routes: [Route] = []
    /// Routes by their path; those without parameters are found in one step.
    private var places: [String: Int] = [:]

    package init() {}

    package mutating func add(_ method: String, _ pattern: String, _ endpoint: Endpoint) {
        if let place = places[pattern] {
            routes[place].endpoints.append((method: method, endpoint: endpoint))
        } else {
            add(Route(path: pattern, endpoints: [(method, endpoint)]))
        }
    }

    private mutating func add(_ route: Route) {
        places[route.path] = routes.count
        routes.append(route)
    }

    /// Adds what another router serves.
    package mutating func merge(_ other: Router) {
        for route in other.routes {
            if let place = places[route.path] {
                routes[place].endpoints += route.endpoints
            } else {
                add(route)
            }
        }
    }

    /// What is served, method by path, in the order in which it was added.
    package var served: [(method: String, path: String, endpoint: Endpoint)] {
        routes.flatMap { route in
            route.endpoints.map { served in
                (method: served.method, path: route.path, endpoint: served.endpoint)
            }
        }
    }

    /// `HEAD` finds what `GET` does. `path` is percent-encoded; parameters come back decoded.
    package func match(_ method: String, _ path: String) -> Match {
        let wanted = method == "HEAD" ? "GET" : method
        // A path that looks like a pattern isn't the one with parameters.
        if let place = places[path], !routes[place].hasParameters { return choose(place, wanted, [:]) }
        let segments = Router.segments(of: path)
        for (place, route) in routes.enumerated() where route.pattern.count == segments.count {
            var parameters: [String: String] = [:]
            let fits = zip(route.pattern, segments).allSatisfy { pattern, segment in
                guard pattern.hasPrefix(":") else { return pattern == segment }
                parameters[String(pattern.dropFirst())] = segment
                return !segment.isEmpty
            }
            if fits { return choose(place, wanted, parameters) }
        }
        return .notFound
    }

    private func choose(_ place: Int, _ method: String, _ parameters: [String: String]) -> Match {
        for number in routes[place].endpoints.indices where routes[place].endpoints[number].method == method {
            return .found(routes[place].endpoints[number].endpoint, parameters: parameters)
        }
        let methods = routes[place].endpoints.map(\.method)
        return .methodNotAllowed(methods + (methods.contains("GET") ? ["HEAD"] : []) + ["OPTIONS"])
    }

    private static func segments(of path: String) -> [String] {
        Array(path.utf8).split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst().map {
            String(decoding: PercentCoding.decode($0), as: UTF8.self)
        }
    }
}
