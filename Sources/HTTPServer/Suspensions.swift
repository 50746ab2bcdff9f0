import CMicrohttpd
import Synchronization

/// The suspended connections of a server, which wait for their answers. libmicrohttpd ends the process if it is stopped
/// while a connection is suspended, so this class counts them, and refuses further ones once the server is about to
/// stop.
final class Suspensions: Sendable {
    private struct State {
        /// The transactions that have been suspended and aren't done, whether they are still suspended or not.
        var transactions: [ObjectIdentifier: HTTPTransaction] = [:]
        var suspended = 0
        var isClosed = false
    }

    private let state = Mutex(State())

    var transactions: [HTTPTransaction] { state.withLock { Array($0.transactions.values) } }

    /// Whether libmicrohttpd was told to resume all connections.
    var areResumed: Bool { state.withLock { $0.suspended == 0 } }

    /// Counts a connection that is about to be suspended. Returns `false` if it must not be.
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

    /// Forgets a transaction that is done.
    func end(_ transaction: HTTPTransaction) {
        state.withLock { $0.transactions[ObjectIdentifier(transaction)] = nil }
    }

    /// Refuses all further suspensions.
    func close() { state.withLock { $0.isClosed = true } }
}
