import Foundation

/// A test world: an isolated environment in Understudy's daemon. It has its own users, codes, tokens and clock, its own
/// faults and sign-in results that tests set in advance, and its own recorded requests.
///
/// This value is only a name and an address. The daemon creates the world at its first use.
///
///     let world = Understudy.world("checkout")
///     try await world.order(.cancel)
///     // point the code under test at world.hostURL("appleid.apple.com")
public struct World: Sendable, Hashable {
    /// The daemon of Understudy in which this test world exists.
    public let daemon: Understudy
    /// The name of the test world; `nil` is the daemon's default world, or the world of the port if ``daemon`` is the
    /// address of a world's own port.
    public let name: String?

    init(daemon: Understudy, name: String?) {
        self.daemon = daemon
        self.name = name
    }

    /// The URL of the test world, such as `http://localhost:9099/~checkout`, without a slash at the end.
    public var url: String { daemon.url + (name.map { "/~\($0)" } ?? "") }

    /// The URL of the test world's control API, without a slash at the end.
    public var controlURL: String { "\(url)/_understudy/v1" }

    /// Returns the URL at which this test world stands in for a provider's host, without a slash at the end.
    ///
    ///     let page = world.hostURL("github.com") + "/login/oauth/authorize"
    public func hostURL(_ host: String) -> String { "\(url)/\(host)" }

    /// The environment variables that make another process use this test world. `understudy exec` sets them, too. Pass
    /// them in an app's `launchEnvironment`, or to `Process`. `UNDERSTUDY_URL` is among them, so ``SignInWithApple``
    /// asks this world.
    public var environment: [String: String] {
        var variables = [
            "UNDERSTUDY_URL": url, "UNDERSTUDY_CONTROL_URL": controlURL,
            "APPLE_BASE_URL": hostURL("appleid.apple.com"),
            "GITHUB_BASE_URL": hostURL("github.com"), "GITHUB_API_URL": hostURL("api.github.com"),
            "GOOGLE_BASE_URL": hostURL("accounts.google.com"),
            "GOOGLE_TOKEN_URL": hostURL("oauth2.googleapis.com/token"),
            "FACEBOOK_BASE_URL": hostURL("www.facebook.com"), "FACEBOOK_GRAPH_URL": hostURL("graph.facebook.com"),
            "MICROSOFT_BASE_URL": hostURL("login.microsoftonline.com"),
            "MICROSOFT_GRAPH_URL": hostURL("graph.microsoft.com"),
            "FIREBASE_AUTH_EMULATOR_HOST": url.range(of: "://").map { String(url[$0.upperBound...]) } ?? url,
        ]
        variables["UNDERSTUDY_CONTROL_TOKEN"] = daemon.controlToken
        return variables
    }

    /// Resets the test world to its seed (the test data at its start). Users, clock, injected faults and preset sign-in
    /// results are reset, recorded requests and the inbox are deleted, and all codes and tokens stop working.
    ///
    /// - Throws: ``UnderstudyError``.
    public func reset() async throws { try await send("POST", "reset") }

    /// Deletes the test world, if it exists. The next use of its name creates a new world. The daemon's default world,
    /// and any world whose ``name`` is `nil`, isn't deleted, but reset.
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

    /// Opens a port that serves only this test world, for clients that accept a host and a port but no path, and
    /// returns the world at that port. The port stays open until the world is deleted.
    ///
    /// - Parameter port: the port; 0 chooses a free port. A later call with 0 returns the same port.
    /// - Throws: ``UnderstudyError``.
    public func opened(atPort port: Int = 0) async throws -> World {
        struct Order: Encodable {
            let name: String
            let listen: Int
        }
        struct DaemonAnswer: Decodable { let url: String }
        let order = Order(name: try await knownName(), listen: port)
        let answer: DaemonAnswer = try await daemon.call("POST", "worlds", order)
        return World(daemon: Understudy(url: answer.url, controlToken: daemon.controlToken), name: nil)
    }

    /// Returns the host and port at which this test world serves Firebase's SDKs as an emulator. If the world has a
    /// name, a port of its own is opened.
    ///
    ///     let emulator = try await world.firebaseEmulator()
    ///     Auth.auth().useEmulator(withHost: emulator.host, port: emulator.port)
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

    /// The name of the default test world, which gets the requests that name no world.
    private static let defaultName = "default"

    /// Throws an error if the test world's name is invalid. An invalid name could change the path of the call.
    func checkName(for call: String) throws {
        guard let name, !Understudy.isWorldName(name) else { return }
        throw UnderstudyError(
            call: call, code: "invalidWorldName",
            message: "found \"\(name)\" as a world's name, expected 1 to 64 letters, digits, \"-\", \"_\" and \".\"; "
                + "Understudy.worldName(from:) makes one of any text")
    }

    /// Returns the name of the test world. If the client doesn't know the name, it asks the daemon.
    func knownName() async throws -> String {
        struct DaemonAnswer: Decodable { let world: String }
        if let name { return name }
        return try await (call("GET", "") as DaemonAnswer).world
    }
}

extension World {
    /// The host and the port of the daemon, for the emulator setting of Firebase's SDKs.
    public struct FirebaseEmulator: Sendable, Hashable {
        /// The name or IP address of the host that Firebase's SDKs should use as their emulator.
        public let host: String
        /// The port that Firebase's SDKs should use as their emulator's port.
        public let port: Int
    }
}

extension World {
    /// Returns the test world's seed (the test data at its start) as one JSON document, with the PEM texts of keys in
    /// place of file names.
    ///
    /// - Throws: ``UnderstudyError``.
    public func seed() async throws -> JSONValue { try await call("GET", "seed") }

    /// Merges a seed (test data) into the test world's seed: lists are merged by the elements' IDs, and everything else
    /// is replaced. The world keeps its sessions, codes and tokens.
    ///
    ///     try await world.seed(["accounts": [["id": "max", "email": "max@example.org"]]])
    ///
    /// - Throws: ``UnderstudyError``, with the path of the part of the seed that is wrong.
    public func seed(_ addition: JSONValue) async throws { try await send("POST", "seed", addition) }

    /// Replaces the test world's seed (the test data at its start), and resets the world to it.
    ///
    /// - Throws: ``UnderstudyError``, with the path of the part of the seed that is wrong.
    public func replaceSeed(_ seed: JSONValue) async throws { try await send("PUT", "seed", seed) }

    /// Returns the whole test world as JSON: the seed (test data), users, grants, codes, tokens, injected faults,
    /// preset sign-in results, clock, keys and inbox. The JSON contains every secret of the world.
    ///
    /// - Throws: ``UnderstudyError``, with the code `tooLarge` if the world is larger than 32 MB.
    public func snapshot() async throws -> Data { try await send("GET", "snapshot") }

    /// Replaces everything in this test world by a snapshot (the JSON of a whole world), or changes nothing if the
    /// snapshot can't be used.
    ///
    /// - Throws: ``UnderstudyError``, with the path of the part of the snapshot that is wrong.
    public func restore(_ snapshot: Data) async throws {
        try await send(Call(method: "PUT", path: "snapshot", body: snapshot))
    }

    /// Returns a Firebase project's users and settings as `firebase emulators:export` writes them, in a tar archive.
    ///
    /// - Parameter project: the project's ID; `nil` is the default project.
    /// - Throws: ``UnderstudyError``.
    public func firebaseExport(project: String? = nil) async throws -> Data {
        try await send("GET", "firebase/export", query: project.map { [("project", $0)] } ?? [])
    }
}
