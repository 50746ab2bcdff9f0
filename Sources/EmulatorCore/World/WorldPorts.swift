import HTTPServer
import Synchronization

/// A listening port whose requests all belong to one test world. The port is closed when the last reference to this
/// object is gone.
package protocol WorldPort: AnyObject, Sendable {
    var port: UInt16 { get }
    /// Closes the test world's port. When this returns, no connection is accepted any more.
    func close()
}

extension LabelledPort: WorldPort {}

/// Opens ports that each lead to a single test world. `begin`, called when the server is there, tells how to open a port
/// of the server.
package final class WorldPorts: Sendable {
    /// The largest number of test worlds' own ports that can be open at the same time, for each protocol. Permanent
    /// ports, which stay open until the daemon ends, don't count.
    package static let limit = 128

    package typealias Listen = @Sendable (_ port: UInt16, _ world: String) throws(ListenError) -> any WorldPort

    /// The protocol that a test world's port serves.
    package enum Kind: Sendable {
        case http
        case smtp
    }

    /// A port that was opened for a test world after the daemon's start, and that stays open until the world is
    /// removed.
    final class Opened: Sendable {
        let port: any WorldPort
        private let lease: Allowance.Lease

        fileprivate init(_ port: any WorldPort, _ lease: Allowance.Lease) {
            self.port = port
            self.lease = lease
        }
    }

    package enum Refusal: Error {
        /// The test world already has a port with a different number than the requested one.
        case other(UInt16)
        case tooMany
        /// The port's protocol isn't served: the daemon serves HTTPS only, or accepts no mail.
        case notServed
        case cannotListen(String)
    }

    private struct State {
        var listen: Listen?
        var main: UInt16?
        var fixed: [String: any WorldPort] = [:]
    }

    private let state = Mutex(State())
    private let allowance = Allowance(limit: WorldPorts.limit)

    package let kind: Kind

    package init(_ kind: Kind = .http) { self.kind = kind }

    /// The number of the server's main port; `nil` if the server has none.
    package var main: UInt16? { state.withLock { $0.main } }

    /// Allows ports for test worlds to be opened. `listen` is the server's function that opens a port, and `main` is
    /// the server's main port.
    package func begin(main: UInt16, _ listen: @escaping Listen) {
        state.withLock { state in
            state.main = main
            state.listen = listen
        }
    }

    /// Opens a port for the test world `world` that stays open as long as the daemon runs, even when the world is
    /// removed.
    package func open(_ port: UInt16, forEver world: String) throws(ListenError) -> UInt16 {
        guard let listen = state.withLock({ $0.listen }) else {
            throw ListenError(
                description: kind == .http
                    ? "a test world can't have its own port: such ports serve HTTP, but this daemon serves only HTTPS"
                    : "the daemon accepts no mail: start it with --smtp-port")
        }
        let opened = try listen(port, world)
        state.withLock { $0.fixed[world] = opened }
        return opened.port
    }

    /// Closes the permanent ports of test worlds when the daemon ends. After this, no port can be opened.
    package func end() {
        let fixed = state.withLock { state in
            defer { state.fixed = [:] }
            state.listen = nil
            return state.fixed
        }
        _ = consume fixed
    }

    /// Returns the port that leads to this test world as long as the daemon runs; `nil` if the world has none.
    package func fixed(_ world: String) -> UInt16? { state.withLock { $0.fixed[world]?.port } }

    fileprivate func open(_ port: UInt16, for world: String) throws(Refusal) -> Opened {
        guard let listen = state.withLock({ $0.listen }) else { throw .notServed }
        guard let lease = allowance.acquire() else { throw .tooMany }
        do throws(ListenError) { return Opened(try listen(port, world), lease) } catch {
            // The error names an option, but a control call has none.
            throw .cannotListen(error.description.replacing(#/ with --[a-z-]*port|--[a-z-]*port /#, with: ""))
        }
    }
}

extension World {
    /// Returns the number of the port that `open` has opened for this test world; `nil` if there is none.
    package func port(_ kind: WorldPorts.Kind) -> UInt16? { state.openedPorts.withLock { $0[kind]?.port.port } }

    /// Opens a port for this test world that stays open until the world is removed. `wanted` is the port's number, or 0
    /// for any free port. A world that has a port already keeps it.
    package func open(_ wanted: UInt16, by ports: WorldPorts) throws(WorldPorts.Refusal) -> UInt16 {
        try state.openedPorts.withLock { (opened) throws(WorldPorts.Refusal) -> UInt16 in
            if let port = ports.fixed(name) ?? opened[ports.kind]?.port.port {
                guard wanted == 0 || wanted == port else { throw .other(port) }
                return port
            }
            let fresh = try ports.open(wanted, for: name)
            opened[ports.kind] = fresh
            return fresh.port.port
        }
    }

    /// Closes the port that `open` has opened for this test world.
    package func closePort(_ kind: WorldPorts.Kind) {
        state.openedPorts.withLock { $0.removeValue(forKey: kind) }?.port.close()
    }

    /// Closes all ports that `open` has opened for this test world.
    func closePorts() {
        let opened = state.openedPorts.withLock { opened in
            defer { opened = [:] }
            return opened
        }
        for port in opened.values { port.port.close() }
    }
}
