import EmulatorCore
import HTTPServer
import Synchronization

// The call GET /_understudy/v1/mail with Accept: text/event-stream
// Its server-sent events: <https://html.spec.whatwg.org/multipage/server-sent-events.html>

extension ControlAPI {
    func mailStream(_ exchange: Exchange, _ query: MailQuery, _ lease: Allowance.Lease) -> Response {
        let reader = MailReader(exchange.world, query: query, budget: worlds.budget, lease: lease) { [self] row in
            "id: \(row.id)\nevent: message\ndata: \(document(row, exchange, isListed: true).json.text)\n\n"
        }
        return exchange.events(reader.begin())
    }
}

/// Sends the messages of an inbox on an event stream, and an event `deleted` when messages are deleted. It goes only as
/// fast as the client reads, so that nothing is stored for a slow client. It runs on the inbox's dispatch queue.
private final class MailReader: Sendable {
    private struct State {
        /// The inbox number of the latest message that this reader examined; `nil` before it has begun.
        var seen: Int?
        var deletions = 0
        /// Counts this event stream against the limit on streams that are open at once. It is released when the
        /// stream's connection is closed.
        var lease: Allowance.Lease?
    }

    /// The number of bytes of an event stream that may wait for the client. A single event may be longer.
    private static let ahead = 64 << 10
    /// The number of messages that are read from the inbox at a time, for an event stream.
    private static let step = 64

    private struct WeakStream {
        weak var stream: EventStream?
    }

    private let world: World
    private let query: MailQuery
    private let budget: ProcessBudget
    private let event: @Sendable (InboxMessage) -> String
    private let state: Mutex<State>
    private let link = Mutex<WeakStream>(WeakStream())

    init(
        _ world: World, query: MailQuery, budget: ProcessBudget, lease: Allowance.Lease,
        event: @escaping @Sendable (InboxMessage) -> String
    ) {
        self.world = world
        self.query = query
        self.budget = budget
        self.event = event
        state = Mutex(State(lease: lease))
    }

    func begin() -> EventStream {
        let queue = world.inboxQueue
        let stream = EventStream(whenDrained: { [self] in queue.async { [self] in advance() } })
        link.withLock { $0.stream = stream }
        budget.streams.add(stream)
        let number = world.inboxListeners.listen { [self] in advance() }
        stream.whenClosed { [self] in
            world.inboxListeners.stopListening(number)
            state.withLock { $0.lease = nil }
        }
        queue.async { [self] in start() }
        stream.keepAlive(in: budget)
        return stream
    }

    private func start() {
        let inbox = world.read { $0.inbox }
        // With a limit and no start, it starts with the latest messages.
        let latest = query.limit != nil && query.after == nil ? query.find(in: world).first : nil
        // Numbers beyond the last one are from before a reset.
        let begin = min(query.after ?? latest.map { $0.number - 1 } ?? 0, inbox.last)
        state.withLock { ($0.seen, $0.deletions) = (begin, inbox.deletions) }
        advance()
    }

    /// Sends the messages that match the query on the event stream. Stops when all have been sent, or when the client
    /// has many unread bytes.
    private func advance() {
        guard let stream = link.withLock({ $0.stream }), reportDeletions(to: stream) else { return }
        while stream.backlog < MailReader.ahead {
            let seen = state.withLock { $0.seen }
            guard let seen else { return }
            let rows = world.read { $0.messages(after: seen, limit: MailReader.step) }
            guard !rows.isEmpty else { return }
            for row in rows {
                guard stream.backlog < MailReader.ahead else { break }
                state.withLock { $0.seen = row.number }
                guard query.matches(row, in: world) else { continue }
                guard stream.send(StreamChunk(Array(event(row).utf8), in: budget.streams)) else { return }
            }
            budget.enforceStreams()
        }
    }

    /// Sends an event if messages of the inbox were deleted. Returns `false` if the client has disconnected, or if the
    /// event stream hasn't started.
    private func reportDeletions(to stream: EventStream) -> Bool {
        let inbox = world.read { $0.inbox }
        let isNews: Bool? = state.withLock { state in
            guard let seen = state.seen else { return nil }
            // A reset starts the numbers again.
            let isReset = inbox.last < seen
            defer { (state.seen, state.deletions) = (isReset ? 0 : seen, inbox.deletions) }
            return isReset || state.deletions != inbox.deletions
        }
        guard let isNews else { return false }
        return !isNews || stream.send(StreamChunk(Array("event: deleted\ndata: {}\n\n".utf8), in: budget.streams))
    }
}
