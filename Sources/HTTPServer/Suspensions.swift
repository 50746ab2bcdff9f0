import CMicrohttpd
import Synchronization

/// A server's connections that wait for their answers. libmicrohttpd ends the process when it is stopped while one is suspended, so
/// this counts those that it hasn't been told to resume, and takes no more once the server is about to stop.
final class Suspensions: Sendable {
    private struct State {
        /// Those whose requests aren't done, whether they are still suspended or not.
        var transactions: [ObjectIdentifier: HTTPTransaction] = [:]
        var suspended = 0
        var isClosed = false
    }

    private let state = Mutex(State())

    var transactions: [HTTPTransaction] { state.withLock { Array($0.transactions.values) } }

    /// Whether libmicrohttpd was told to resume all of them.
    var areResumed: Bool { state.withLock { $0.suspended == 0 } }

    /// The connection is about to be suspended. `false` when it mustn't be.
    func begin(_ transaction: HTTPTransaction) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.transactions[ObjectIdentifier(transaction)] = transaction
            state.suspended += 1
            return true
        }
    }

    /// Tells libmicrohttpd that the connection's answer is there.
    func resume(_ connection: OpaquePointer?) {
        MHD_resume_connection(connection)
        state.withLock { $0.suspended -= 1 }
    }

    /// The request is done.
    func end(_ transaction: HTTPTransaction) {
        state.withLock { $0.transactions[ObjectIdentifier(transaction)] = nil }
    }

    /// From now on, none is suspended.
    func close() { state.withLock { $0.isClosed = true } }
}
