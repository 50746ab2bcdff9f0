/// Finds the endpoint for an HTTP method and a path. The segment `:name` of a route's path matches any one segment.
package struct Router<Endpoint: Sendable>: Sendable {
    package enum Match {
        case found(Endpoint, parameters: [String: String])
        /// The path has endpoints, but only for these HTTP methods.
        case methodNotAllowed([String])
        case notFound
    }

    private struct Route: Sendable {
        let path: String
        let pattern: [String]
        let hasParameters: Bool
        /// The HTTP methods of a path, each with its endpoint at the same position in `endpoints`.
        private(set) var methods: [String] = []
        private(set) var endpoints: [Endpoint] = []

        init(path: String) {
            self.path = path
            pattern = Router.segments(of: path)
            hasParameters = pattern.contains { $0.hasPrefix(":") }
        }

        mutating func add(_ method: String, _ endpoint: Endpoint) {
            methods.append(method)
            endpoints.append(endpoint)
        }
    }

    private var routes: [Route] = []
    /// The positions in `routes` by the routes' paths. A route without parameters is thus found in one step.
    private var places: [String: Int] = [:]

    package init() {}

    package mutating func add(_ method: String, _ pattern: String, _ endpoint: Endpoint) {
        let place = places[pattern] ?? routes.count
        if place == routes.count {
            places[pattern] = place
            routes.append(Route(path: pattern))
        }
        routes[place].add(method, endpoint)
    }

    /// Adds the endpoints of another router to this one.
    package mutating func merge(_ other: Router) {
        for served in other.served { add(served.method, served.path, served.endpoint) }
    }

    /// All endpoints of the router with their methods and paths. Endpoints with the same path are next to each other;
    /// the paths are in the order in which they were added.
    package var served: [(method: String, path: String, endpoint: Endpoint)] {
        routes.flatMap { route in
            zip(route.methods, route.endpoints).map { (method: $0, path: route.path, endpoint: $1) }
        }
    }

    /// Finds the endpoint for an HTTP method and a path; `HEAD` finds the endpoint for `GET`. `path` is
    /// percent-encoded, the returned parameters are decoded.
    package func match(_ method: String, _ path: String) -> Match {
        let wanted = method == "HEAD" ? "GET" : method
        // A path that looks like a pattern must not match the route that has this pattern.
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
        let methods = routes[place].methods
        if let number = methods.firstIndex(of: method) {
            return .found(routes[place].endpoints[number], parameters: parameters)
        }
        return .methodNotAllowed(methods + (methods.contains("GET") ? ["HEAD"] : []) + ["OPTIONS"])
    }

    private static func segments(of path: String) -> [String] {
        Array(path.utf8).split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst().map {
            String(decoding: PercentCoding.decode($0), as: UTF8.self)
        }
    }
}
