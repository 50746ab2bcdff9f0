import Foundation

/// A daemon that is running, as a test sees it: `Understudy.world("checkout")` is a world of its own in it.
///
/// The daemon is the one at `UNDERSTUDY_URL`, else at `http://localhost:9099`; the token that its control API may want is read from
/// `UNDERSTUDY_CONTROL_TOKEN`, or from the file at `UNDERSTUDY_CONTROL_TOKEN_FILE`. For another daemon, make a value of this type.
public struct Understudy: Sendable, Hashable {
    /// Where a daemon is that nobody named.
    public static let defaultURL = "http://localhost:9099"

    /// The daemon's address, without a world and without a slash at the end.
    public let url: String
    /// What callers of the control API show; `nil` where the daemon takes anybody.
    public let controlToken: String?
    /// The world that ``url`` named, as in `http://localhost:9099/~checkout`; `nil` is the daemon's default world.
    public let worldName: String?

    /// A daemon at an address.
    ///
    /// - Parameters:
    ///   - url: `http://HOST:PORT` or `https://HOST:PORT`; with `/~NAME` at its end, the world that ``world(_:)`` without a name is.
    ///   - controlToken: the daemon's control token, where it has one.
    public init(url: String, controlToken: String? = nil) {
        var place = Substring(url)
        while place.hasSuffix("/") { place.removeLast() }
        if let mark = place.range(of: "/~", options: .backwards), !place[mark.upperBound...].contains("/") {
            worldName = String(place[mark.upperBound...])
            place = place[..<mark.lowerBound]
        } else {
            worldName = nil
        }
        self.url = String(place)
        self.controlToken = controlToken
    }

    /// The daemon that an environment names, by default this process's: `UNDERSTUDY_URL`, and `UNDERSTUDY_CONTROL_TOKEN` or the file
    /// whose path `UNDERSTUDY_CONTROL_TOKEN_FILE` is. An empty variable counts as none.
    public init(environment: [String: String] = ProcessInfo.processInfo.environment) {
        func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        let file = value("UNDERSTUDY_CONTROL_TOKEN_FILE").flatMap { try? String(contentsOfFile: $0, encoding: .utf8) }
        self.init(
            url: value("UNDERSTUDY_URL") ?? Understudy.defaultURL,
            controlToken: value("UNDERSTUDY_CONTROL_TOKEN") ?? file?.trimmingCharacters(in: .whitespacesAndNewlines))
    }

    /// A world of the environment's daemon. It is made when something first asks for it.
    ///
    /// - Parameter name: 1 to 64 letters, digits, `-`, `_` and `.`; ``worldName(from:)`` makes one of any text. `nil` is the default world.
    public static func world(_ name: String? = nil) -> World { Understudy().world(name) }

    /// A world of this daemon. It is made when something first asks for it.
    ///
    /// - Parameter name: 1 to 64 letters, digits, `-`, `_` and `.`; ``worldName(from:)`` makes one of any text. `nil` is the world that
    ///   the daemon's address names, or its default world.
    public func world(_ name: String? = nil) -> World {
        World(daemon: Understudy(url: url, controlToken: controlToken), name: name ?? worldName)
    }

    /// Whether the daemon is ready, and its version.
    ///
    /// - Throws: ``UnderstudyError``, of status 503 while it can't be used.
    public func health() async throws -> Health { try await call("GET", "health") }

    /// The worlds that there are. Asking makes none.
    ///
    /// - Throws: ``UnderstudyError``.
    public func worlds() async throws -> [WorldStatus] {
        struct Answer: Decodable { let worlds: [WorldStatus] }
        return try await (call("GET", "worlds") as Answer).worlds
    }

    /// The exchanges of all worlds, each with its ``World/RecordedExchange/world``, in the order in which they were answered, refusals of
    /// worlds that are gone among them.
    ///
    /// - Parameters:
    ///   - pattern: which worlds; `*` stands for any characters.
    ///   - host: the provider's host; `*` stands for any characters.
    ///   - path: the path on it; `*` stands for any characters.
    ///   - isRefused: with `true` those with a diagnosis, with `false` the others.
    /// - Throws: ``UnderstudyError``.
    public func requests(
        ofWorlds pattern: String = "*", host: String? = nil, path: String? = nil, isRefused: Bool? = nil
    ) async throws -> [World.RecordedExchange] {
        let filter = RequestFilter(host: host, path: path, isRefused: isRefused)
        return try await RequestPages.all([("world", pattern)] + filter.query, of: self)
    }

    /// Empties the recordings of worlds, and forgets what worlds that are gone had refused.
    ///
    /// - Parameter pattern: which worlds; `*` stands for any characters.
    /// - Throws: ``UnderstudyError``.
    public func forgetRequests(ofWorlds pattern: String = "*") async throws {
        try await send("DELETE", "requests", query: [("world", pattern)])
    }
}

extension Understudy {
    /// What a daemon says of itself.
    public struct Health: Sendable, Hashable, Decodable {
        /// `ok`.
        public let status: String
        /// The daemon's version.
        public let version: String
        /// How many worlds there are; `nil` for callers without the control token.
        public let worlds: Int?
    }
}

extension Understudy {
    /// A world, as a daemon lists it.
    public struct WorldStatus: Sendable, Hashable, Decodable {
        /// The world's name.
        public let name: String
        /// The seconds since anybody last used it.
        public let idleSeconds: Int
        /// How many exchanges its recording holds.
        public let requests: Int
        /// The address of its own port, where it has one.
        public let url: String?
    }
}
