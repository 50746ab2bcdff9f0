import Dispatch
import HTTPClient
import HTTPServer
import JSON
import Recordings
import Synchronization
import Time
import Platform

/// A request that the daemon sends to a client's server, either to notify it of an event, or to fetch something from
/// it.
package struct OutgoingMessage: Sendable {
    package let method: String
    package let url: String
    package let contentType: String
    /// Header fields that are specific to this request. `Content-Type` isn't among them.
    private(set) var headers: [(name: String, value: String)] = []
    package let body: [UInt8]
    /// The longest time in seconds that one attempt to notify a client's server may take.
    private(set) var patience = 5
    /// The largest number of bytes that the daemon reads of the response, including the response's header.
    let limit: Int
    /// Whether the daemon verifies the TLS certificate of the client's server.
    let isVerified: Bool

    package init(
        to url: String, contentType: String, headers: [(name: String, value: String)] = [], body: [UInt8],
        patience: Int = 5
    ) {
        (method, limit, isVerified) = ("POST", OutgoingRequest.answerLimit, true)
        self.url = url
        self.contentType = contentType
        self.headers = headers
        self.body = body
        self.patience = patience
    }

    /// Makes a GET request for a document at `url`.
    package init(reading url: String, limit: Int, isVerified: Bool) {
        (method, contentType, body) = ("GET", "", [])
        self.url = url
        // The limit is for the body, and a header comes before it.
        self.limit = limit + 16 << 10
        self.isVerified = isVerified
    }

    package init(to url: String, form: [(String, String)]) {
        let fields = form.map { Form.Field(name: $0.0, value: $0.1) }
        self.init(
            to: url, contentType: "application/x-www-form-urlencoded",
            body: Array(Form(fields: fields).encoded.utf8))
    }

    /// The response of a client's server to a request by the daemon.
    package struct Answer: Sendable {
        package let status: Int
        package let headers: [(name: String, value: String)]
        package let body: [UInt8]

        package func header(_ name: String) -> String? {
            headers.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }

    /// The result of a request by the daemon to a client's server.
    package enum Reply: Sendable {
        case answered(Answer)
        case late
        case failed(String)
    }

    /// The result of notifying a client's server.
    package struct Delivery: Sendable {
        package let attempts: Int
        /// The HTTP status of the response to the last attempt; `nil` if the last attempt got no response.
        package let status: Int?
        package let failure: String?

        package var isDelivered: Bool { status.map { (200..<300).contains($0) } ?? false }

        /// Returns the schema of the JSON object that `json(of:)` returns, with the members `others` added.
        package static func schema(beside others: [Schema.Field]) -> Schema {
            .members(
                [
                    .required("delivered", .boolean, "Whether the receiving server accepted the message."),
                    .optional("url", .string, "The server's address."),
                    .optional("attempts", .count, "The number of attempts."),
                    .optional("status", .integer(0...999), "The last answer's status."),
                    .optional("failure", .string, "The reason why the message wasn't delivered."),
                ] + others)
        }

        /// Returns the result of the notification as JSON, for a response of the control API.
        package func json(of message: OutgoingMessage) -> JSONObject {
            var object = JSONObject([
                ("delivered", .bool(isDelivered)), ("url", .string(message.url)),
                ("attempts", .integer(Int64(attempts))),
            ])
            object["status"] = status.map { .integer(Int64($0)) }
            object["failure"] = failure.map { .string($0) }
            return object
        }
    }
}

extension OutgoingMessage.Reply {
    fileprivate var failure: String? {
        switch self {
        case .answered: nil
        case .late: "no answer in time"
        case .failed(let reason): reason
        }
    }
}

extension Exchange {
    /// Posts a notification to a client's server, and returns the result. If the server doesn't accept the
    /// notification, posts it again after each of `pauses`. Each attempt is added to the recording of requests. Nothing
    /// is posted if too many notifications already wait for clients' servers.
    package func post(_ message: OutgoingMessage, pauses: [DispatchTimeInterval] = []) async -> OutgoingMessage.Delivery
    {
        guard let lease = world.budget.messages.acquire() else {
            let reason = "\(world.budget.messages.limit) notifications already wait for clients' servers"
            return OutgoingMessage.Delivery(attempts: 0, status: nil, failure: reason)
        }
        return await withCheckedContinuation { continuation in
            world.caches[OutgoingQueues.self].questions.run { [sender] in
                sender.attempt(message, number: 1, pauses) { delivery in
                    _ = lease
                    continuation.resume(returning: delivery)
                }
            }
        }
    }

    /// Sends a request to a client's server, and waits at most `seconds` for the response, without blocking a thread of
    /// the daemon's own server. If the client that caused it disconnects while other requests delay this one, it isn't
    /// sent, unless `isForOthers` is true: then other clients wait for the response, too.
    package func ask(
        _ message: OutgoingMessage, seconds: Int, isForOthers: Bool = false
    ) async -> OutgoingMessage.Reply {
        let began = MachineClock.microseconds
        let asker = Asker()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard asker.begin(continuation) else { return continuation.resume(returning: Asker.gone) }
                world.caches[OutgoingQueues.self].questions.run { [sender] in
                    guard let continuation = asker.take() else { return }
                    // Other requests may have delayed this one.
                    let left = Int64(seconds) - (MachineClock.microseconds - began) / 1_000_000
                    continuation.resume(returning: sender.send(message, seconds: Int(max(0, left)), began))
                }
            }
        } onCancel: {
            if !isForOthers { asker.cancel()?.resume(returning: Asker.gone) }
        }
    }

    /// Posts a notification to a client's server without waiting for the result. The notification is dropped if too
    /// many notifications already wait for clients' servers.
    package func send(_ message: OutgoingMessage, pauses: [DispatchTimeInterval] = []) {
        guard let lease = world.budget.messages.acquire() else {
            return world.budget.notices.warnOncePerMinute(
                .messages,
                "\(world.budget.messages.limit) notifications already wait for clients' servers: further notifications are dropped"
            )
        }
        world.caches[OutgoingQueues.self].notifications.run { [sender] in
            sender.attempt(message, number: 1, pauses) { _ in _ = lease }
        }
    }

    private var sender: OutgoingSender { OutgoingSender(world: world, parent: id, network: network) }
}

/// A task that waits until its request to a client's server can be sent.
private final class Asker: Sendable {
    static let gone = OutgoingMessage.Reply.failed("the client that caused this request has disconnected")

    private struct State {
        var continuation: CheckedContinuation<OutgoingMessage.Reply, Never>?
        var isCancelled = false
    }

    private let state = Mutex(State())

    /// Keeps the continuation of the waiting task. Returns `false` if the task is cancelled already.
    func begin(_ continuation: CheckedContinuation<OutgoingMessage.Reply, Never>) -> Bool {
        state.withLock { state in
            if !state.isCancelled { state.continuation = continuation }
            return !state.isCancelled
        }
    }

    /// Returns the continuation of the waiting task to whoever asks first, and `nil` to all others.
    func take() -> CheckedContinuation<OutgoingMessage.Reply, Never>? {
        state.withLock { state in
            defer { state.continuation = nil }
            return state.continuation
        }
    }

    /// Cancels the request, and returns the continuation of the waiting task; `nil` if the request was sent already.
    func cancel() -> CheckedContinuation<OutgoingMessage.Reply, Never>? {
        state.withLock { state in
            defer { state.continuation = nil }
            state.isCancelled = true
            return state.continuation
        }
    }
}

/// Sends requests to clients' servers because of an incoming request. Only the incoming request's ID and test world are
/// kept, so that its body takes no memory while notifications wait.
private struct OutgoingSender: Sendable {
    let world: World
    /// The ID of the incoming request that makes the daemon send requests to clients' servers.
    let parent: String
    let network: any Network

    /// Sends a request, and records it with the response. Blocks the thread. The recorded duration is counted from
    /// `began`, a time of the machine's clock in microseconds.
    func send(_ message: OutgoingMessage, seconds: Int, _ began: Int64) -> OutgoingMessage.Reply {
        let reply: OutgoingMessage.Reply
        var response = Response(status: 0)
        do throws(OutgoingRequest.Failure) {
            let answer = try OutgoingRequest.send(
                message.method, to: message.url, contentType: message.contentType.isEmpty ? nil : message.contentType,
                headers: message.headers, body: message.body, seconds: seconds, limit: message.limit,
                isVerified: message.isVerified, mayCallThisMachine: !world.seed.isFromElsewhere)
            response = Response(status: answer.status, body: answer.body)
            reply = .answered(
                OutgoingMessage.Answer(status: answer.status, headers: answer.headers, body: answer.body))
        } catch {
            reply = error.isLate ? .late : .failed(error.description)
        }
        record(message, response, failure: reply.failure, began)
        return reply
    }

    /// Posts a notification, and again after each of `pauses` until the client's server accepts it. Blocks the thread
    /// during the first attempt.
    func attempt(
        _ message: OutgoingMessage, number: Int, _ pauses: [DispatchTimeInterval],
        done: @escaping @Sendable (OutgoingMessage.Delivery) -> Void
    ) {
        let reply = send(message, seconds: message.patience, MachineClock.microseconds)
        var delivery = OutgoingMessage.Delivery(attempts: number, status: nil, failure: reply.failure)
        if case .answered(let answer) = reply {
            delivery = OutgoingMessage.Delivery(attempts: number, status: answer.status, failure: nil)
        }
        guard !delivery.isDelivered, number <= pauses.count else { return done(delivery) }
        DispatchQueue.global().asyncAfter(deadline: .now() + pauses[number - 1]) { [self] in
            world.caches[OutgoingQueues.self].notifications.run { [self] in
                attempt(message, number: number + 1, pauses, done: done)
            }
        }
    }

    private func record(
        _ message: OutgoingMessage, _ response: Response, failure: String?, _ began: Int64
    ) {
        let rest = message.url.firstRange(of: "://").map { message.url[$0.upperBound...] } ?? message.url[...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let request = Request(
            method: message.method, target: message.url,
            headers: [(name: "Host", value: String(authority))]
                + (message.contentType.isEmpty ? [] : [(name: "Content-Type", value: message.contentType)])
                + message.headers,
            body: message.body)
        var response = response
        if failure != nil || !(200..<300).contains(response.status) {
            let reason = failure ?? "the client's server answered \(response.status)"
            let what = message.method == "GET" ? "the document wasn't fetched" : "the message wasn't delivered"
            response = response.diagnosed(Diagnosis("\(what): \(reason)"))
        }
        world.recording.add(
            RecordedExchange(
                id: network.makeID(), parent: parent, world: world.name, host: Address.hostName(of: String(authority)),
                path: request.path,
                client: nil, request: request, response: response, time: world.now, began: began,
                duration: MachineClock.microseconds - began, fault: nil))
    }
}

/// One test world's queues of requests that the daemon sends to clients' servers. Worlds have separate queues, so that
/// a slow server delays only requests of its own test world.
final class OutgoingQueues: WorldCache {
    /// Requests to clients' servers that must end before the daemon can respond to an incoming request. Second and
    /// later attempts to deliver a notification aren't among them.
    let questions = OutgoingQueue(width: 64)
    /// The notifications that are sent in the background, and all second and later attempts to deliver a notification.
    let notifications = OutgoingQueue(width: 16)
    let followsSeed = false
}

/// Requests to clients' servers, of which at most `width` are sent at a time. Each is sent on a thread of its own, which
/// ends when nothing waits, so that slow servers delay no other request. All test worlds together have 1,024 threads.
final class OutgoingQueue: Sendable {
    private static let all = OutgoingQueue(width: 1_024) { work in
        // If the system can't provide a thread, Dispatch may have one.
        if !WorkThread.start(work) { DispatchQueue.global().async(execute: work) }
    }

    private struct State {
        var running = 0
        var waiting = Queue<@Sendable () -> Void>()
    }

    private let width: Int
    private let start: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let state = Mutex(State())

    private init(width: Int, start: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        (self.width, self.start) = (width, start)
    }

    /// Makes a queue that takes its threads from those of all test worlds.
    convenience init(width: Int) { self.init(width: width) { OutgoingQueue.all.run($0) } }

    func run(_ work: @escaping @Sendable () -> Void) {
        let starts = state.withLock { state in
            guard state.running < width else {
                state.waiting.append(work)
                return false
            }
            state.running += 1
            return true
        }
        if starts { start { [self] in runAll(work) } }
    }

    private func runAll(_ first: @Sendable () -> Void) {
        first()
        while let work = next() { work() }
    }

    private func next() -> (@Sendable () -> Void)? {
        state.withLock { state in
            let work = state.waiting.popFirst()
            if work == nil { state.running -= 1 }
            return work
        }
    }
}
