import HTTPServer
import Synchronization

/// A port that leads to one world. It is closed when the last reference to it is gone.
package protocol WorldPort: AnyObject, Sendable {
    /// The number of the port.
    var port: UInt16 { get }
    /// Stops listening. When it returns, no connection is accepted any more.
    func close()
}

extension LabelledPort: WorldPort {}

/// Opens ports for single worlds. The server that listens is made later than this, and given to `begin`.
package final class WorldPorts: Sendable {
    /// The number of ports that can be opened while the daemon runs.
    package static let limit = 128

    package typealias Listen = @Sendable (_ port: UInt16, _ world: String) throws(ListenError) -> any WorldPort

    /// The protocol of a port.
    package enum Kind: Sendable {
        case http
        case smtp
    }

    /// A port that a world has until the world goes.
    final class Opened: Sendable {
        let port: any WorldPort
        private let lease: Allowance.Lease

        fileprivate init(_ port: any WorldPort, _ lease: Allowance.Lease) {
            self.port = port
            self.lease = lease
        }
    }

    /// The reason why a world gets no port.
    package enum Refusal: Error {
        /// The world already has a port, and it isn't the requested one.
        case other(UInt16)
        case tooMany
        /// The daemon serves HTTPS only, or takes no mail.
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

    /// The server's main port; `nil` without one.
    package var main: UInt16? { state.withLock { $0.main } }

    /// Starts opening ports with the server's `listen`. `main` is the server's main port.
    package func begin(main: UInt16, _ listen: @escaping Listen) {
        state.withLock { state in
            state.main = main
            state.listen = listen
        }
    }

    /// Opens a port that stays open as long as the daemon runs, even when the world is removed.
    package func open(_ port: UInt16, forEver world: String) throws(ListenError) -> UInt16 {
        guard let listen = state.withLock({ $0.listen }) else {
            throw ListenError(
                description: kind == .http
                    ? "a world's own port is HTTP's, and only HTTPS is served" : "no mail is taken: give --smtp-port")
        }
        let opened = try listen(port, world)
        state.withLock { $0.fixed[world] = opened }
        return opened.port
    }

    /// Closes the ports that stay open as long as the daemon runs.
    package func end() {
        let fixed = state.withLock { state in
            defer { state.fixed = [:] }
            state.listen = nil
            return state.fixed
        }
        _ = consume fixed
    }

    /// Returns the world's port that stays open as long as the daemon runs.
    package func fixed(_ world: String) -> UInt16? { state.withLock { $0.fixed[world]?.port } }

    fileprivate func open(_ port: UInt16, for world: String) throws(Refusal) -> Opened {
        guard let listen = state.withLock({ $0.listen }) else { throw .notServed }
        guard let lease = allowance.take() else { throw .tooMany }
        do throws(ListenError) { return Opened(try listen(port, world), lease) } catch {
            // The error names an option, but a control call has none.
            throw .cannotListen(error.description.replacing(#/ with --[a-z-]*port|--[a-z-]*port /#, with: ""))
        }
    }
}

extension World {
    /// Returns the port that the world was given while the daemon runs.
    package func port(_ kind: WorldPorts.Kind) -> UInt16? { state.openedPorts.withLock { $0[kind]?.port.port } }

    /// Opens a port for the world, 0 for any free one, until the world is removed. A world that has a port keeps it.
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

    /// Closes the port that the world was given while the daemon runs.
    package func closePort(_ kind: WorldPorts.Kind) {
        state.openedPorts.withLock { $0.removeValue(forKey: kind) }?.port.close()
    }

    /// Closes all ports that the world was given while the daemon runs.
    func closePorts() {
        let opened = state.openedPorts.withLock { opened in
            defer { opened = [:] }
            return opened
        }
        for port in opened.values { port.port.close() }
    }
}
