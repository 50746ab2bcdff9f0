import HTTPServer
import Synchronization

/// A port that leads to one world. It is closed when the last reference to it is gone.
package protocol WorldPort: AnyObject, Sendable {
    /// The port that is listened on.
    var port: UInt16 { get }
    /// Returns when nothing is accepted any more.
    func close()
}

extension LabelledPort: WorldPort {}

/// Opens ports of their own for worlds. The server that listens is made after whoever asks for ports, and given later.
package final class WorldPorts: Sendable {
    /// How many ports there may be that were opened while the daemon runs.
    package static let limit = 128

    package typealias Listen = @Sendable (_ port: UInt16, _ world: String) throws(ListenError) -> any WorldPort

    /// What is spoken at the ports.
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

    /// Why a world gets no port.
    package enum Refusal: Error {
        /// It has another one.
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

    /// The port of the daemon's own; `nil` without one.
    package var main: UInt16? { state.withLock { $0.main } }

    /// Gives it the server. `main` is the server's own port.
    package func begin(main: UInt16, _ listen: @escaping Listen) {
        state.withLock { state in
            state.main = main
            state.listen = listen
        }
    }

    /// Opens a port that stays as long as the daemon runs, whatever becomes of the world.
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

    /// Closes the ports that would stay.
    package func end() {
        let fixed = state.withLock { state in
            defer { state.fixed = [:] }
            state.listen = nil
            return state.fixed
        }
        _ = consume fixed
    }

    /// The port that stays.
    package func fixed(_ world: String) -> UInt16? { state.withLock { $0.fixed[world]?.port } }

    fileprivate func open(_ port: UInt16, for world: String) throws(Refusal) -> Opened {
        guard let listen = state.withLock({ $0.listen }) else { throw .notServed }
        guard let lease = allowance.take() else { throw .tooMany }
        do throws(ListenError) { return Opened(try listen(port, world), lease) } catch {
            // A call has no options.
            throw .cannotListen(error.description.replacing(#/ with --[a-z-]*port|--[a-z-]*port /#, with: ""))
        }
    }
}

extension World {
    /// The port that it was given while the daemon runs.
    package func port(_ kind: WorldPorts.Kind) -> UInt16? { state.openedPorts.withLock { $0[kind]?.port.port } }

    /// Gives it a port of its own, 0 for a free one, until it goes. It keeps the one that it has.
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

    /// Closes the port that it was given while the daemon runs.
    package func closePort(_ kind: WorldPorts.Kind) {
        state.openedPorts.withLock { $0.removeValue(forKey: kind) }?.port.close()
    }

    /// Closes the ports that it was given while the daemon runs.
    func closePorts() {
        let opened = state.openedPorts.withLock { opened in
            defer { opened = [:] }
            return opened
        }
        for port in opened.values { port.port.close() }
    }
}
