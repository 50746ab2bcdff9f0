import Glibc
import Synchronization

/// Tells clients that their connections are closed, and the log how many were.
package final class RefusedConnections: Sendable {
    private struct State {
        /// Told, and closed a little later: closing a socket that has unread bytes discards what was sent to it.
        var leaving: [(descriptor: Int32, since: Int64)] = []
        var told = ServerCounters()
        var lineAt: Int64?
    }

    private static let leavingLimit = 8
    /// Seconds between two lines in the log.
    private static let pause: Int64 = 10

    private let isPlain: Bool
    private let header: String
    private let state = Mutex(State())

    /// `isPlain` is false behind TLS, where nothing can be said without a handshake.
    package init(isPlain: Bool, header: String) {
        self.isPlain = isPlain
        self.header = header
    }

    /// A whole response; empty for status 0 and behind TLS.
    func answer(_ status: Int, _ reason: String) -> [UInt8] {
        guard isPlain, status > 0 else { return [] }
        let headers = [(name: header, value: reason)]
        return OwnRefusal.bytes(
            of: Response(status: status, contentType: "text/plain", headers: headers, body: reason + "\n"))
    }

    /// Sends the answer.
    func tell(_ descriptor: Int32, _ reason: String) {
        let bytes = answer(503, reason)
        _ = bytes.withUnsafeBytes {
            send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        }
        shutdown(descriptor, Int32(SHUT_WR))
        RefusedConnections.drain(descriptor)
    }

    /// Sends the answer, and closes the connection.
    package func refuse(_ descriptor: Int32, _ reason: String) {
        tell(descriptor, reason)
        let first = state.withLock { state -> Int32? in
            state.leaving.append((descriptor, ConnectionGate.seconds))
            return state.leaving.count > RefusedConnections.leavingLimit ? state.leaving.removeFirst().descriptor : nil
        }
        if let first { RefusedConnections.end(first) }
    }

    package func tick() {
        let now = ConnectionGate.seconds
        while let old = state.withLock({ state -> Int32? in
            guard let first = state.leaving.first, now - first.since >= 2 else { return nil }
            return state.leaving.removeFirst().descriptor
        }) {
            RefusedConnections.end(old)
        }
    }

    package func closeAll() {
        let leaving = state.withLock { state in
            defer { state.leaving = [] }
            return state.leaving
        }
        for connection in leaving { RefusedConnections.end(connection.descriptor) }
    }

    /// How many were refused and evicted since this was last asked for, when there are any and that isn't recent.
    package func news(in counters: ServerCounters) -> (refused: UInt64, evicted: UInt64)? {
        state.withLock { state in
            let refused = counters.refused - state.told.refused
            let evicted = counters.evicted - state.told.evicted
            let now = ConnectionGate.seconds
            guard refused + evicted > 0, state.lineAt.map({ now - $0 >= RefusedConnections.pause }) ?? true else {
                return nil
            }
            state.told = counters
            state.lineAt = now
            return (refused, evicted)
        }
    }

    private static func drain(_ descriptor: Int32) {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        for _ in 0..<8 where recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT)) <= 0 { return }
    }

    private static func end(_ descriptor: Int32) {
        drain(descriptor)
        close(descriptor)
    }
}
