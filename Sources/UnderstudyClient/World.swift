import Foundation

/// A world: a sandbox of its own in a daemon, with its people, codes, tokens, clock, orders and recording.
///
/// A value is no more than a name and an address: the daemon makes the world when something first asks for it.
///
///     let world = Understudy.world("checkout")
///     try await world.order(.cancel)
///     // point the code under test at world.hostURL("appleid.apple.com")
public struct World: Sendable, Hashable {
    /// The daemon in which it is.
    public let daemon: Understudy
    /// Its name; `nil` is the daemon's default world.
    public let name: String?

    init(daemon: Understudy, name: String?) {
        self.daemon = daemon
        self.name = name
    }

    /// The world's address, such as `http://localhost:9099/~checkout`, without a slash at the end.
    public var url: String { daemon.url + (name.map { "/~\($0)" } ?? "") }

    /// Where its control API is, without a slash at the end.
    public var controlURL: String { "\(url)/_understudy/v1" }

    /// The address that stands for `https://HOST`, without a slash at the end: `hostURL("github.com") + "/login/oauth/authorize"`.
    public func hostURL(_ host: String) -> String { "\(url)/\(host)" }

    /// The variables that lead another process to this world, as `understudy exec` sets them: for an app's `launchEnvironment`, or
    /// for `Process`. `UNDERSTUDY_URL` is among them, and with it ``SignInWithApple`` asks this world.
    public var environment: [String: String] {
        var variables = [
            "UNDERSTUDY_URL": url, "UNDERSTUDY_CONTROL_URL": controlURL,
            "APPLE_BASE_URL": hostURL("appleid.apple.com"),
            "GITHUB_BASE_URL": hostURL("github.com"), "GITHUB_API_URL": hostURL("api.github.com"),
            "GOOGLE_BASE_URL": hostURL("accounts.google.com"),
            "GOOGLE_TOKEN_URL": hostURL("oauth2.googleapis.com/token"),
            "FACEBOOK_BASE_URL": hostURL("www.facebook.com"), "FACEBOOK_GRAPH_URL": hostURL("graph.facebook.com"),
            "FIREBASE_AUTH_EMULATOR_HOST": url.range(of: "://").map { String(url[$0.upperBound...]) } ?? url,
        ]
        variables["UNDERSTUDY_CONTROL_TOKEN"] = daemon.controlToken
        return variables
    }

    /// Makes the world afresh from its seed: people, orders, clock, recording and all that was given out.
    ///
    /// - Throws: ``UnderstudyError``.
    public func reset() async throws { try await send("POST", "reset") }

    /// Drops the world, if it is there; its next use makes it anew. The default world stays, and is reset.
    ///
    /// - Throws: ``UnderstudyError``.
    public func delete() async throws {
        guard let name, name != World.defaultName else { return try await reset() }
        let path = "worlds/\(Address.segment(name))"
        try checkName(for: "DELETE \(path)")
        do { try await daemon.send("DELETE", path) } catch let error as UnderstudyError
            where error.code == "noSuchWorld"
        {}
    }

    /// The same world at a port of its own, for clients that take a host and a port and no path. The port stays until the world goes.
    ///
    /// - Parameter port: the port; 0 takes a free one, and the same when you ask again.
    /// - Throws: ``UnderstudyError``.
    public func opened(atPort port: Int = 0) async throws -> World {
        struct Order: Encodable {
            let name: String
            let listen: Int
        }
        struct Answer: Decodable { let url: String }
        let order = Order(name: try await knownName(), listen: port)
        let answer: Answer = try await daemon.call("POST", "worlds", order)
        return World(daemon: Understudy(url: answer.url, controlToken: daemon.controlToken), name: nil)
    }

    /// Host and port for Firebase's SDKs: `Auth.auth().useEmulator(withHost: emulator.host, port: emulator.port)`. A world with a name
    /// gets a port of its own for that.
    ///
    /// - Throws: ``UnderstudyError``.
    public func firebaseEmulator() async throws -> FirebaseEmulator {
        let address = name == nil ? url : try await opened().url
        guard let parts = URLComponents(string: address), let host = parts.host else {
            throw UnderstudyError(call: "POST worlds", code: "invalidURL", message: "\"\(address)\" has no host")
        }
        let isIPv6 = host.contains(":") && !host.hasPrefix("[")
        return FirebaseEmulator(
            host: isIPv6 ? "[\(host)]" : host, port: parts.port ?? (parts.scheme == "https" ? 443 : 80))
    }

    /// The daemon's name for the world that nobody named.
    private static let defaultName = "default"

    /// Throws where the daemon takes no such name, whose characters might lead the call elsewhere.
    func checkName(for call: String) throws {
        guard let name, !Understudy.isWorldName(name) else { return }
        throw UnderstudyError(
            call: call, code: "invalidWorldName",
            message: "found \"\(name)\" as a world's name, expected 1 to 64 letters, digits, \"-\", \"_\" and \".\"; "
                + "Understudy.worldName(from:) makes one of any text")
    }

    /// The world's name, which the daemon says where nobody named it.
    func knownName() async throws -> String {
        struct Answer: Decodable { let world: String }
        if let name { return name }
        return try await (call("GET", "") as Answer).world
    }
}

extension World {
    /// Where Firebase's SDKs find a world.
    public struct FirebaseEmulator: Sendable, Hashable {
        /// The host's name or IP address.
        public let host: String
        /// The port.
        public let port: Int
    }
}
