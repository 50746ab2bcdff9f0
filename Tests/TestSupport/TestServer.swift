import Foundation
import Synchronization
import Testing
import Understudy

/// A daemon of the tests: a server in this process or, with `make test STORE=postgresql: REPLICAS=2`, two that share their
/// worlds, behind a balancer that asks them by turns.
///
/// What isn't asked over the network (`worlds`) is the first replica's, as are ports of worlds and of the proxy, which
/// replicas don't share.
@dynamicMemberLookup
package final class TestServer: Sendable {
    private let first: RunningServer
    private let second: RunningServer?
    private let addresses: [Balancer.Kind: Balancer.Address]
    private let hasStopped = Mutex(false)

    private init(_ first: RunningServer, _ second: RunningServer?, _ addresses: [Balancer.Kind: Balancer.Address]) {
        self.first = first
        self.second = second
        self.addresses = addresses
    }

    /// As `RunningServer.start`. A server whose store the test chooses, or whose test looks into one process
    /// (``OneProcess``), has no replicas.
    package static func start(
        seeds: [SeedInput] = [.builtIn], options: RunningServer.Options = RunningServer.Options()
    ) throws -> TestServer {
        guard let balancer = Balancer.shared, !OneProcess.isRequired, options.store == nil else {
            return TestServer(try RunningServer.start(seeds: seeds, options: options), nil, [:])
        }
        var options = options
        options.store = try SharedStore.next()
        let first = try RunningServer.start(seeds: seeds, options: options)
        // Fixed ports are the first's.
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

    package var port: Int { addresses[.http]?.port ?? first.port }

    package var url: String { addresses[.http].map { "http://127.0.0.1:\($0.port)" } ?? first.url }

    package var tlsPort: Int? { addresses[.https]?.port ?? first.tlsPort }

    package var tlsURL: String? { addresses[.https].map { "https://127.0.0.1:\($0.port)" } ?? first.tlsURL }

    package var smtpPort: Int? { addresses[.smtp]?.port ?? first.smtpPort }

    package var smtpAddress: String? { addresses[.smtp].map { "127.0.0.1:\($0.port)" } ?? first.smtpAddress }

    package func lastRefusals(_ count: Int) -> [String] { first.lastRefusals(count) }

    package func export(to directory: String) throws { try first.export(to: directory) }

    package func stop() {
        guard !hasStopped.withLock({ stopped in (stopped, stopped = true).0 }) else { return }
        for address in addresses.values { Balancer.shared?.free(address) }
        first.stop()
        second?.stop()
    }
}

/// A schema for each daemon of the tests that has replicas.
private enum SharedStore {
    private static let count = Atomic<Int>(0)

    /// The store that the environment names, with a schema of its own in the place of a temporary one, which no other daemon
    /// could find.
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
