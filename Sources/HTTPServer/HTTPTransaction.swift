import CMicrohttpd
import Synchronization

/// One request on its way through libmicrohttpd, from its first line to the last byte of its answer.
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
    // Touched by the connection's own worker only.
    var body: [UInt8] = []
    /// The header's fields, where they are kept until the answer: only when no body has to be waited for.
    var headers: [(name: String, value: String)]?
    var discarded = 0
    /// Whether the body was discarded because the bodies of all requests together had reached their limit.
    var hadNoRoom = false
    /// Whether it was refused before its body came.
    var isRefused = false
    var isStarted = false
    /// Whether it is HTTP/1.1.
    var needsHost = false
    /// How many bytes its body may have.
    var bodyLimit = 0
    /// The response body that is being sent, when it is a stream.
    var stream: EventStream?
    private let state = Mutex(State.reading)
    private let hasGone = Atomic<Bool>(false)
    /// Whether it was suspended already when its server last looked for clients to watch.
    let wasSeenWaiting = Atomic<Bool>(false)
    /// Whether the client is watched. Only reached while the state's lock is held.
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

    /// The answer, once it is there.
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

    /// Suspends the connection until the completion that this returns gets an answer, or the client goes while it is watched.
    func suspend() -> Completion {
        let completion = Completion { [weak self] in self?.resume(with: $0) }
        state.withLock { $0 = .waiting(completion) }
        MHD_suspend_connection(pointer)
        return completion
    }

    /// From now on it is noticed when the client goes, if the answer isn't there yet.
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

    /// The client has gone: resumes the connection, so that it is closed, and cancels the work on the answer.
    private func abandon() {
        guard let completion else { return }
        hasGone.store(true, ordering: .relaxed)
        var nothing = Response(status: 204)
        nothing.delivery = .dropped
        resume(with: nothing)
        completion.abandon()
    }
}
