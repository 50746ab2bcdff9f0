import CMicrohttpd
import Synchronization

/// A request and its answer in the HTTP library libmicrohttpd, from the request's first line to the answer's last byte.
final class HTTPTransaction: @unchecked Sendable {
    private enum State {
        case reading
        case waiting(Completion)
        case ready(Response)
    }

    let target: String
    let pointer: OpaquePointer?
    let connection: Connection
    private let watch: Watch
    private let gate: ConnectionGate
    private let suspensions: Suspensions
    // Only the connection's own worker uses these.
    var body: [UInt8] = []
    /// The header fields of a request without a body, kept until the answer; `nil` for a request with a body.
    var headers: [(name: String, value: String)]?
    var discarded = 0
    /// Whether the request's body was discarded because the bodies of all requests together had reached their memory
    /// limit.
    var hadNoRoom = false
    /// Whether the request was refused before its body arrived.
    var isRefused = false
    var isStarted = false
    /// Whether the request is HTTP/1.1, which requires `Host`.
    var needsHost = false
    var bodyLimit = 0
    /// The stream that is being sent as the response's body; `nil` for other responses.
    var stream: EventStream?
    private let state = Mutex(State.reading)
    private let hasGone = Atomic<Bool>(false)
    /// Whether the periodic search for connections that wait for an answer has found this connection. If the next
    /// search finds it again, the server begins to watch whether the client disconnects.
    let wasSeenWaiting = Atomic<Bool>(false)
    /// Whether the server watches the client, to notice when it disconnects; accessed under the lock of `state` only.
    private var isWatched = false

    init(
        target: String, pointer: OpaquePointer?, connection: Connection, watch: Watch, gate: ConnectionGate,
        suspensions: Suspensions
    ) {
        self.target = target
        self.pointer = pointer
        self.connection = connection
        self.watch = watch
        self.gate = gate
        self.suspensions = suspensions
    }

    /// The answer to the request, or `nil` until the answer is ready.
    var response: Response? {
        state.withLock { state in
            guard case .ready(let response) = state else { return nil }
            return response
        }
    }

    var isWaiting: Bool { completion != nil }

    /// Whether the client disconnected before its answer was ready.
    var wasAbandoned: Bool { hasGone.load(ordering: .relaxed) }

    private var completion: Completion? {
        state.withLock { state in
            guard case .waiting(let completion) = state else { return nil }
            return completion
        }
    }

    /// Suspends the connection, so that it occupies no thread until the returned completion gets an answer or the
    /// client disconnects.
    func suspend() -> Completion {
        let completion = Completion { [weak self] in self?.resume(with: $0) }
        state.withLock { $0 = .waiting(completion) }
        MHD_suspend_connection(pointer)
        return completion
    }

    /// Makes the server notice when the client disconnects while it waits for its answer.
    func watchClient() {
        state.withLock { state in
            guard case .waiting = state, !isWatched else { return }
            isWatched = true
            watch.watch(connection.descriptor) { [weak self] in self?.abandon() }
        }
    }

    /// Sets the answer to the request and resumes the connection. Only the first call has an effect.
    func resume(with response: Response) {
        let wasWatched = state.withLock { state -> Bool? in
            guard case .waiting = state else { return nil }
            state = .ready(response)
            return isWatched
        }
        guard let wasWatched else { return }
        if wasWatched { watch.forget(connection.descriptor) }
        suspensions.resume(pointer)
    }

    /// Cancels the work on the answer to a client that has disconnected, and lets libmicrohttpd, which waits for the
    /// answer, close the connection. The request's body is counted until the work has ended.
    private func abandon() {
        guard let completion else { return }
        completion.keep(gate.leaveBody(of: connection))
        hasGone.store(true, ordering: .relaxed)
        var nothing = Response(status: 204)
        nothing.delivery = .dropped
        resume(with: nothing)
        completion.abandon()
    }
}

/// Accepts a delayed answer to a request, once, from any thread; further calls do nothing. It also reports if the
/// client disconnects before the answer.
package final class Completion: Sendable {
    private struct State {
        var isAbandoned = false
        var actions: [@Sendable () -> Void] = []
        var deliver: (@Sendable (Response) -> Void)?
        /// The request's body, if the client has disconnected.
        var kept: LeftBody?
    }

    private let state: Mutex<State>

    /// Makes a completion, which accepts a delayed answer once and passes it to `deliver`.
    package init(_ deliver: @escaping @Sendable (Response) -> Void) { state = Mutex(State(deliver: deliver)) }

    package func callAsFunction(_ response: Response) {
        let (deliver, kept) = state.withLock { state in
            defer {
                state.deliver = nil
                state.actions = []
                state.kept = nil
            }
            return (state.deliver, state.kept)
        }
        deliver?(response)
        _ = kept
    }

    /// Calls `action` once if the client disconnects before the answer is there, or at once if it has already
    /// disconnected. The action should end the wait and complete with some answer, which is recorded but not sent.
    package func whenAbandoned(_ action: @escaping @Sendable () -> Void) {
        let isAbandoned = state.withLock { state in
            if !state.isAbandoned, state.deliver != nil { state.actions.append(action) }
            return state.isAbandoned
        }
        if isAbandoned { action() }
    }

    /// Counts the body of a request whose client has disconnected until the work on the answer has ended.
    fileprivate func keep(_ body: LeftBody) {
        state.withLock { state in if state.deliver != nil { state.kept = body } }
    }

    /// Returns a new completion, which applies `change` to the answer that it gets, and passes the changed answer to
    /// this completion. If the client disconnects, the `whenAbandoned` actions of this completion and of the new one
    /// are called.
    package func through(_ change: @escaping @Sendable (Response) -> Response) -> Completion {
        then { [self] in self(change($0)) }
    }

    /// Returns a new completion, which passes the answer that it gets to `deliver`. If the client disconnects, the
    /// `whenAbandoned` actions of this completion and of the new one are called.
    package func then(_ deliver: @escaping @Sendable (Response) -> Void) -> Completion {
        let inner = Completion(deliver)
        whenAbandoned { [weak inner] in inner?.abandon() }
        return inner
    }

    /// Records that the client has disconnected, and calls the actions of `whenAbandoned`.
    package func abandon() {
        let actions = state.withLock { state in
            defer { state.actions = [] }
            state.isAbandoned = true
            return state.actions
        }
        for action in actions { action() }
    }
}

/// The suspended connections of an HTTP server, whose requests wait for their answers. libmicrohttpd ends the process
/// if it is stopped while a connection is suspended. So this class counts these connections, and refuses further ones
/// once the server is about to stop.
final class Suspensions: Sendable {
    private struct State {
        /// The requests whose connections libmicrohttpd has suspended to wait for the answer. A request stays here
        /// after its connection is resumed, until the request is finished.
        var transactions: [ObjectIdentifier: HTTPTransaction] = [:]
        var suspended = 0
        var isClosed = false
    }

    private let state = Mutex(State())

    var transactions: [HTTPTransaction] { state.withLock { Array($0.transactions.values) } }

    /// Whether libmicrohttpd was told to resume all suspended connections.
    var areResumed: Bool { state.withLock { $0.suspended == 0 } }

    /// Counts a connection that is about to be suspended until its answer is ready. Returns `false` if it must not be
    /// suspended.
    func begin(_ transaction: HTTPTransaction) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.transactions[ObjectIdentifier(transaction)] = transaction
            state.suspended += 1
            return true
        }
    }

    /// Tells libmicrohttpd to resume a suspended connection, because its answer is ready.
    func resume(_ connection: OpaquePointer?) {
        MHD_resume_connection(connection)
        state.withLock { $0.suspended -= 1 }
    }

    /// Removes a finished request from the list of requests whose connections have been suspended.
    func end(_ transaction: HTTPTransaction) {
        state.withLock { $0.transactions[ObjectIdentifier(transaction)] = nil }
    }

    /// Makes `begin` return `false` from now on, so that no connection is suspended while its answer is prepared. The
    /// server is about to stop.
    func close() { state.withLock { $0.isClosed = true } }
}
