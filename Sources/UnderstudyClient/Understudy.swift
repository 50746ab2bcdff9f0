import Foundation

/// A running daemon of Understudy, the stand-in for identity providers. A test usually needs only one of the daemon's
/// worlds, which are isolated test environments:
///
///     let world = Understudy.world("checkout")
///
/// The daemon is the one at `UNDERSTUDY_URL`, or at `http://localhost:9099` if that isn't set. The control token, if
/// the daemon has one, is read from `UNDERSTUDY_CONTROL_TOKEN` or from the file at `UNDERSTUDY_CONTROL_TOKEN_FILE`. For
/// a daemon at another address, make a value of this type:
///
///     let daemon = Understudy(url: "http://ci.internal:9099")
public struct Understudy: Sendable, Hashable {
    /// The URL at which a client looks for Understudy's daemon if neither the test nor `UNDERSTUDY_URL` gives one.
    public static let defaultURL = "http://localhost:9099"

    /// The URL of Understudy's daemon, without a world's name and without a slash at the end.
    public let url: String
    /// The token that the daemon's control API expects in requests; `nil` if the daemon has none.
    public let controlToken: String?
    /// The test world that the daemon's address names, such as `checkout` in `http://localhost:9099/~checkout`; `nil`
    /// means the daemon's default world.
    public let worldName: String?

    /// Describes Understudy's daemon at an address. Nothing is sent yet.
    ///
    /// - Parameters:
    ///   - url: `http://HOST:PORT` or `https://HOST:PORT`. If it ends with `/~NAME`, ``world(_:)`` without a name
    ///     returns the test world NAME.
    ///   - controlToken: the daemon's control token, if it has one.
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

    /// Describes the daemon whose address and control token are in environment variables, by default those of this
    /// process: `UNDERSTUDY_URL`, and `UNDERSTUDY_CONTROL_TOKEN` or `UNDERSTUDY_CONTROL_TOKEN_FILE`, the path of a file
    /// with the token. An empty variable counts as missing.
    public init(environment: [String: String] = ProcessInfo.processInfo.environment) {
        func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        let file = value("UNDERSTUDY_CONTROL_TOKEN_FILE").flatMap { try? String(contentsOfFile: $0, encoding: .utf8) }
        self.init(
            url: value("UNDERSTUDY_URL") ?? Understudy.defaultURL,
            controlToken: value("UNDERSTUDY_CONTROL_TOKEN") ?? file?.trimmingCharacters(in: .whitespacesAndNewlines))
    }

    /// Returns a test world of the daemon at `UNDERSTUDY_URL`, or at `http://localhost:9099` if that isn't set. The
    /// daemon creates the world at its first use.
    ///
    ///     let world = Understudy.world("checkout")
    ///
    /// - Parameter name: 1 to 64 letters, digits, `-`, `_` and `.`; ``worldName(from:)`` makes one from any text.
    ///   `nil` is the default world.
    public static func world(_ name: String? = nil) -> World { Understudy().world(name) }

    /// Returns a test world of this daemon. The daemon creates the world at its first use.
    ///
    /// - Parameter name: 1 to 64 letters, digits, `-`, `_` and `.`; ``worldName(from:)`` makes one from any text.
    ///   `nil` is the world that the daemon's address names, or the default world if the address names none.
    public func world(_ name: String? = nil) -> World {
        World(daemon: Understudy(url: url, controlToken: controlToken), name: name ?? worldName)
    }

    /// Asks Understudy's daemon whether it is ready, and for its version.
    ///
    /// - Throws: ``UnderstudyError``, with the status 503 while the daemon can't be used.
    public func health() async throws -> Health { try await call("GET", "health") }

    /// Lists the test worlds of the daemon. This call creates no world.
    ///
    /// - Throws: ``UnderstudyError``.
    public func worlds() async throws -> [WorldStatus] {
        struct DaemonAnswer: Decodable { let worlds: [WorldStatus] }
        return try await (call("GET", "worlds") as DaemonAnswer).worlds
    }

    /// Returns the recorded requests and answers of the test worlds whose names match `pattern`, sorted by the time of
    /// the answer. Each has the name of its world: ``World/RecordedExchange/world``. A daemon that was started by the
    /// command `understudy` also includes refused requests of worlds that have been removed or reset.
    ///
    /// - Parameters:
    ///   - pattern: the worlds' names; `*` stands for any characters.
    ///   - host: the provider's host; `*` stands for any characters.
    ///   - path: the path on that host; `*` stands for any characters.
    ///   - isRefused: `true` returns only requests that were refused, `false` only requests that weren't refused.
    /// - Throws: ``UnderstudyError``.
    public func requests(
        ofWorlds pattern: String = "*", host: String? = nil, path: String? = nil, isRefused: Bool? = nil
    ) async throws -> [World.RecordedExchange] {
        let filter = RequestFilter(host: host, path: path, isRefused: isRefused)
        return try await RequestPages.all([("world", pattern)] + filter.query, of: self)
    }

    /// Deletes the recorded requests of test worlds. With the pattern `*`, refused requests of worlds that have been
    /// removed or reset are deleted, too.
    ///
    /// - Parameter pattern: the worlds' names; `*` stands for any characters.
    /// - Throws: ``UnderstudyError``.
    public func forgetRequests(ofWorlds pattern: String = "*") async throws {
        try await send("DELETE", "requests", query: [("world", pattern)])
    }
}

extension Understudy {
    /// The health of Understudy's daemon: whether it is ready, and its version.
    public struct Health: Sendable, Hashable, Decodable {
        /// The status of the daemon, which is `ok` when it is ready.
        public let status: String
        /// The version of Understudy's daemon.
        public let version: String
        /// The number of test worlds that the daemon has; `nil` for callers without the control token.
        public let worlds: Int?
    }
}

extension Understudy {
    /// A test world in the list of all test worlds of a daemon.
    public struct WorldStatus: Sendable, Hashable, Decodable {
        /// The name of a test world in the daemon.
        public let name: String
        /// The seconds since this test world was last used.
        public let idleSeconds: Int
        /// The number of requests, with their answers, that are recorded in this test world.
        public let requests: Int
        /// The URL of the port that belongs to this test world only; `nil` if it has no port of its own.
        public let url: String?
    }
}
