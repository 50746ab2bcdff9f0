import CMicrohttpd
import Synchronization

/// A request and its answer in libmicrohttpd, from the first line of one to the last byte of the other.
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
    private let suspensions: Suspensions
    // Only the connection's own worker uses these.
    var body: [UInt8] = []
    /// The header's fields, if they are kept until the answer: only for a request without a body.
    var headers: [(name: String, value: String)]?
    var discarded = 0
    /// Whether the body was discarded because all request bodies together had reached their limit.
    var hadNoRoom = false
    /// Whether the request was refused before its body came.
    var isRefused = false
    var isStarted = false
    /// Whether the request is HTTP/1.1, which requires `Host`.
    var needsHost = false
    /// The most bytes of the body.
    var bodyLimit = 0
    /// The stream that is being sent as the response's body, if it is one.
    var stream: EventStream?
    private let state = Mutex(State.reading)
    private let hasGone = Atomic<Bool>(false)
    /// Whether the connection was already suspended when its server last looked for clients to watch.
    let wasSeenWaiting = Atomic<Bool>(false)
    /// Whether the client is watched; accessed under the state's lock only.
    private var isWatched = false

    init(
        target: String, pointer: OpaquePointer?, connection: Connection, watch: Watch, suspensions: Suspensions
    ) {
        self.target = target
        self.pointer = pointer
        self.connection = connection
        self.watch = watch
        self.suspensions = suspensions
    }

    /// The answer, or `nil` until there is one.
    var response: Response? {
        state.withLock { state in
            guard case .ready(let response) = state else { return nil }
            return response
        }
    }

    var isWaiting: Bool { completion != nil }

    /// Whether the client went before its answer was there.
    var wasAbandoned: Bool { hasGone.load(ordering: .relaxed) }

    private var completion: Completion? {
        state.withLock { state in
            guard case .waiting(let completion) = state else { return nil }
            return completion
        }
    }

    /// Suspends the connection until the returned completion gets an answer, or the watched client goes.
    func suspend() -> Completion {
        let completion = Completion { [weak self] in self?.resume(with: $0) }
        state.withLock { $0 = .waiting(completion) }
        MHD_suspend_connection(pointer)
        return completion
    }

    /// Starts watching the client of a suspended connection, to notice when it goes.
    func watchClient() {
        state.withLock { state in
            guard case .waiting = state, !isWatched else { return }
            isWatched = true
            watch.watch(connection.descriptor) { [weak self] in self?.abandon() }
        }
    }

    /// Sets the answer and resumes the connection. Only the first call has an effect.
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

    /// Resumes the connection of a client that has gone, so that it is closed, and cancels the work on the answer.
    private func abandon() {
        guard let completion else { return }
        hasGone.store(true, ordering: .relaxed)
        var nothing = Response(status: 204)
        nothing.delivery = .dropped
        resume(with: nothing)
        completion.abandon()
    }
}
