import Dispatch
import Platform
import Synchronization

/// Makes sockets that belong to the network in which this was made, whichever network the process enters later. A thread stays
/// behind in it: a socket belongs to the network of the thread that made it, whoever uses it.
package final class NetworkSockets: Sendable {
    private struct State {
        /// The families of the sockets that are asked for.
        var wanted: [Int32] = []
        var made: [Int32] = []
    }

    private let state = Mutex(State())
    private let asked = DispatchSemaphore(value: 0)
    private let done = DispatchSemaphore(value: 0)
    /// One asks at a time, so that everyone gets the socket that it has asked for.
    private let turn = Mutex(())

    /// `nil` when the system gives no thread.
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

    /// A TCP socket of a family; -1 when there can be none.
    private func make(_ family: Int32) -> Int32 {
        turn.withLock { _ in
            state.withLock { $0.wanted.append(family) }
            asked.signal()
            done.wait()
            return state.withLock { $0.made.popLast() } ?? -1
        }
    }

    /// Connects to a port of that network's loopback: `127.0.0.1`, else `::1`.
    func connect(toLoopback port: UInt16) throws(Refusal) -> Int32 {
        try Connector.connect(loopbackOr: "127.0.0.1", port) { family, _, _ in make(family) }
    }
}
