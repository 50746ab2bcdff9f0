import Dispatch
import Platform
import Synchronization

/// Makes sockets in the network namespace in which the process began, even after the process has entered a different
/// one. A thread that stays in the first namespace makes the sockets, because a socket belongs to its thread's
/// namespace.
package final class NetworkSockets: Sendable {
    private struct State {
        /// The address families of the sockets that callers have requested and not got yet.
        var wanted: [Int32] = []
        var made: [Int32] = []
    }

    private let state = Mutex(State())
    private let asked = DispatchSemaphore(value: 0)
    private let done = DispatchSemaphore(value: 0)
    /// A lock that lets one caller at a time request a socket, so that each gets its own.
    private let turn = Mutex(())

    /// Starts the thread that makes the sockets; `nil` if the system can't provide a thread.
    package init?() {
        let isStarted = WorkThread.start { [self] in
            while true {
                asked.wait()
                guard let family = state.withLock({ $0.wanted.popLast() }) else { continue }
                let descriptor = understudy_socket(family, understudy_stream, 0)
                state.withLock { $0.made.append(descriptor) }
                done.signal()
            }
        }
        guard isStarted else { return nil }
    }

    /// Returns a new TCP socket of an address family, or -1 if the system can't make one.
    private func make(_ family: Int32) -> Int32 {
        turn.withLock { _ in
            state.withLock { $0.wanted.append(family) }
            asked.signal()
            done.wait()
            return state.withLock { $0.made.popLast() } ?? -1
        }
    }

    /// Connects to a port on the loopback of the network in which the process was at the beginning: `127.0.0.1`, or
    /// else `::1`.
    func connect(toLoopback port: UInt16) throws(Refusal) -> Int32 {
        try Connector.connect(loopbackOr: "127.0.0.1", port) { family, _, _ in make(family) }
    }
}
