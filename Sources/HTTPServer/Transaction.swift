import CMicrohttpd
import Synchronization

/// One request on its way through libmicrohttpd, from its first line to the last byte of its answer.
final class Transaction: @unchecked Sendable {
    private enum State {
        case reading
        case waiting
        case ready(Response)
    }

    let target: String
    let connection: OpaquePointer?
    // Touched by the connection's own worker only.
    var body: [UInt8] = []
    var discarded = 0
    var isStarted = false
    /// The body that is being sent, when it has no end in sight.
    var stream: EventStream?
    private let state = Mutex(State.reading)

    init(target: String, connection: OpaquePointer?) {
        self.target = target
        self.connection = connection
    }

    /// The answer, once it is there.
    var response: Response? {
        state.withLock { state in
            guard case .ready(let response) = state else { return nil }
            return response
        }
    }

    var isWaiting: Bool {
        state.withLock { state in
            guard case .waiting = state else { return false }
            return true
        }
    }

    /// Takes the connection out of its worker's loop until `resume(with:)`.
    func suspend() {
        state.withLock { $0 = .waiting }
        MHD_suspend_connection(connection)
    }

    /// Sets the answer and wakes the connection; only the first call counts.
    func resume(with response: Response) {
        let isFirst = state.withLock { state in
            guard case .waiting = state else { return false }
            state = .ready(response)
            return true
        }
        if isFirst { MHD_resume_connection(connection) }
    }
}
