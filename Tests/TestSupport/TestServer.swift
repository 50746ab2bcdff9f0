import EmulatorCore
import Foundation
import Synchronization
import Testing
import Understudy

/// A daemon for a test: a world of the daemon that all tests share (``world(seeds:)``), or a daemon of the test's own
/// (``start(seeds:options:)``).
///
/// With `make test STORE=postgresql: REPLICAS=2`, each is two replicas that share their worlds, behind a load balancer
/// that alternates between them. The properties of `RunningServer` are then the first replica's.
@dynamicMemberLookup
package final class TestServer: Sendable {
    private let first: RunningServer
    private let second: RunningServer?
    private let addresses: [Balancer.Kind: Balancer.Address]
    private let world: SharedDaemon.World?
    private let hasStopped = Mutex(false)

    private init(
        _ first: RunningServer, _ second: RunningServer? = nil, _ addresses: [Balancer.Kind: Balancer.Address] = [:],
        world: SharedDaemon.World? = nil
    ) {
        self.first = first
        self.second = second
        self.addresses = addresses
        self.world = world
    }

    /// Makes a world at the daemon that all tests share. The world has a port of its own, so that a test sends requests
    /// as to a daemon of its own. ``stop()`` deletes the world.
    ///
    /// Worlds of one daemon share its options, its list of worlds and its count of requests. A test of these starts a
    /// daemon. Replicas don't share the ports of worlds, so with a balancer this starts a daemon too.
    package static func world(seeds: [SeedInput] = [.builtIn]) throws -> TestServer {
        guard Balancer.shared == nil else { return try start(seeds: seeds) }
        let daemon = try SharedDaemon.running.get()
        let world = try SharedDaemon.World(at: daemon)
        let server = TestServer(daemon, world: world)
        if seeds.count != 1 || !seeds.contains(where: { if case .builtIn = $0 { true } else { false } }) {
            try world.begin(from: SeedInput.load(seeds).document.serialized())
        }
        return server
    }

    /// Starts a daemon as `RunningServer.start` does. It has no replicas if the test chooses its store or looks into
    /// the process (``OneProcess``).
    package static func start(
        seeds: [SeedInput] = [.builtIn], options: RunningServer.Options = RunningServer.Options()
    ) throws -> TestServer {
        var options = options
        options.keyGenerator = .ofTests
        guard let balancer = Balancer.shared, !OneProcess.isRequired, options.store == nil else {
            return TestServer(try RunningServer.start(seeds: seeds, options: options))
        }
        options.store = try SharedStore.next()
        let first = try RunningServer.start(seeds: seeds, options: options)
        // Fixed ports belong to the first replica.
        options.port = 0
        options.listeningSockets = []
        options.worldPorts = []
        options.worldMailPorts = []
        let second = try RunningServer.start(seeds: seeds, options: options)
        var addresses: [Balancer.Kind: Balancer.Address] = [:]
        for kind in Balancer.Kind.allCases {
            guard let one = kind.port(of: first), let other = kind.port(of: second) else { continue }
            addresses[kind] = try balancer.lead(kind, to: [one, other])
        }
        return TestServer(first, second, addresses)
    }

    deinit { stop() }

    package subscript<Value>(dynamicMember path: KeyPath<RunningServer, Value>) -> Value { first[keyPath: path] }

    package var port: Int { world?.port ?? addresses[.http]?.port ?? first.port }

    package var url: String { world == nil && addresses[.http] == nil ? first.url : "http://127.0.0.1:\(port)" }

    /// The name of the world at the shared daemon; `nil` if the test has its own daemon.
    package var worldName: String? { world?.name }

    package var tlsPort: Int? { addresses[.https]?.port ?? first.tlsPort }

    package var tlsURL: String? { addresses[.https].map { "https://127.0.0.1:\($0.port)" } ?? first.tlsURL }

    package var smtpPort: Int? { addresses[.smtp]?.port ?? first.smtpPort }

    package var smtpAddress: String? { addresses[.smtp].map { "127.0.0.1:\($0.port)" } ?? first.smtpAddress }

    package func lastRefusals(_ count: Int) -> [String] { first.lastRefusals(count) }

    package func export(to directory: String) throws { try first.export(to: directory) }

    package func stop() {
        guard !hasStopped.withLock({ stopped in (stopped, stopped = true).0 }) else { return }
        if let world {
            // A test may have made its store fail: then the world stays.
            _ = try? first.worlds.drop(world.name)
            return
        }
        for address in addresses.values { Balancer.shared?.free(address) }
        first.stop()
        second?.stop()
    }
}

extension KeyGenerator {
    /// The generator of all daemons in this process, because an RSA key costs a tenth of a second of processor time.
    package static let ofTests = KeyGenerator()
}

/// The daemon that all tests share. It ends with the process.
private enum SharedDaemon {
    static let running = Result {
        var options = RunningServer.Options()
        options.keyGenerator = .ofTests
        return try RunningServer.start(options: options)
    }
    private static let count = Atomic<Int>(0)

    /// A world with a port of its own.
    struct World {
        let name: String
        let port: Int

        init(at daemon: RunningServer) throws {
            name = "test-\(SharedDaemon.count.add(1, ordering: .relaxed).newValue)"
            let answer = try TestClient(port: daemon.port).post(
                "/_understudy/v1/worlds", json: ["name": name, "listen": 0] as [String: Any])
            guard let port = answer["url"].flatMap(URL.init(string:))?.port else {
                throw TransportError(reason: "a world got no port: \(answer)")
            }
            self.port = port
        }

        func begin(from seed: [UInt8]) throws {
            let answer = try TestClient(port: port).request(
                "PUT", "/_understudy/v1/seed", headers: ["Content-Type": "application/json"], body: seed)
            guard answer.status == 200 else { throw TransportError(reason: "a world got no seed: \(answer)") }
        }
    }
}

/// Makes a schema for each daemon of the tests that has replicas.
private enum SharedStore {
    private static let count = Atomic<Int>(0)

    /// Returns the store that the environment names, with a new schema instead of a temporary one, which no other
    /// daemon could find.
    static func next() throws -> String {
        let said = ProcessInfo.processInfo.environment["UNDERSTUDY_STORE"] ?? ""
        guard said.hasPrefix("postgresql:"), said.hasSuffix("#temporary") else {
            throw TransportError(reason: "replicas need a store that they share, and UNDERSTUDY_STORE isn't one")
        }
        let url = said.dropLast("#temporary".count)
        let name = "test_\(getpid())_\(count.add(1, ordering: .relaxed).newValue)"
        return "\(url)\(url.contains("?") ? "&" : "?")options=-csearch_path%3D\(name)"
    }
}
