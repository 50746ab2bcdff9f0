import Control
import EmulatorCore
import HTTPServer
import Synchronization
import Time

// The call GET /_understudy/flows/events: server-sent events for open pages,
// <https://html.spec.whatwg.org/multipage/server-sent-events.html>
//
// Query: the list's filter, or flow, the one that a page shows; after is the number of exchanges that had been recorded
// when the page was made. An event "hello" names the daemon's run: a page of another run reloads itself. "rows" has the
// changed flows, rendered as in the page. "reload" says that more has changed than fits into an event.

extension Inspector {
    func flowEvents(_ exchange: Exchange) async throws -> Response {
        guard let lease = control.listenerLease() else { return control.tooManyListeners() }
        try await exchange.world.recording.refresh()
        let form = exchange.request.queryForm
        let stream = FlowStream(
            exchange, self, after: form["after"].flatMap { Int($0) } ?? 0, filter: FlowFilter(form), flow: form["flow"],
            lease: lease)
        return exchange.events(stream.begin())
    }
}

/// Tells an open page which flows have changed. It renders only when the page has received what was sent before, and at
/// most ten times a second, so nothing is stored for a page that doesn't read. It works on the store's queue.
private final class FlowStream: Sendable {
    private struct State {
        /// The position of the next exchange to examine.
        var next = 0
        var hasBegun = false
        /// The machine's time of the last event, in microseconds.
        var sent: Int64 = 0
        var isWaiting = false
        /// The position of the oldest exchange that the page may show.
        var oldest = 0
        /// The stream's lease, released when the page disconnects.
        var lease: Allowance.Lease?
    }

    private struct WeakStream {
        weak var stream: EventStream?
    }

    /// The microseconds between two events.
    private static let pause: Int64 = 100_000

    private let exchange: Exchange
    private let inspector: Inspector
    private let reader: FlowReader
    private let filter: FlowFilter
    private let flow: String?
    private let after: Int
    private let state: Mutex<State>
    private let link = Mutex<WeakStream>(WeakStream())

    private var recording: Recording { exchange.world.recording }
    private var budget: ProcessBudget { exchange.world.budget }

    init(
        _ exchange: Exchange, _ inspector: Inspector, after: Int, filter: FlowFilter, flow: String?,
        lease: Allowance.Lease
    ) {
        self.exchange = exchange
        self.inspector = inspector
        reader = inspector.reader(exchange)
        self.after = after
        self.filter = filter
        self.flow = flow
        state = Mutex(State(lease: lease))
    }

    func begin() -> EventStream {
        let queue = recording.store.queue
        let stream = EventStream(whenDrained: { [self] in queue.async { [self] in look() } })
        link.withLock { $0.stream = stream }
        budget.streams.add(stream)
        let number = recording.listen { [self] in look() }
        stream.whenClosed { [self] in
            recording.stopListening(number)
            state.withLock { $0.lease = nil }
        }
        send("hello", inspector.formToken.run, on: stream)
        queue.async { [self] in start() }
        stream.keepAlive(in: budget)
        return stream
    }

    private func start() {
        let known = recording.known()
        let earlier = known.exchanges.prefix { $0.exchange.order < after }.count
        state.withLock { state in
            state.next = known.first + earlier
            state.oldest = known.exchanges.first?.exchange.order ?? Int.max
            state.hasBegun = true
        }
        look()
    }

    /// Sends the changes since the last event, as soon as the page can take them.
    private func look() {
        guard let stream = link.withLock({ $0.stream }), stream.backlog == 0 else { return }
        let now = MachineClock.microseconds
        let (position, wait) = state.withLock { state -> (Int?, Int64?) in
            guard state.hasBegun, !state.isWaiting else { return (nil, nil) }
            let rest = FlowStream.pause - (now - state.sent)
            guard rest > 0 else { return (state.next, nil) }
            state.isWaiting = true
            return (nil, rest)
        }
        if let wait {
            Timer.after(.microseconds(wait)) { [self] in
                recording.store.queue.async { [self] in
                    state.withLock { $0.isWaiting = false }
                    look()
                }
            }
        } else if let position {
            sendChanges(since: position, on: stream)
        }
    }

    private func sendChanges(since position: Int, on stream: EventStream) {
        let known = recording.known()
        let end = known.first + known.exchanges.count
        let fresh = known.exchanges.dropFirst(max(0, position - known.first))
        let oldest = known.exchanges.first?.exchange.order ?? Int.max
        let isEmptied = known.exchanges.isEmpty && state.withLock { $0.oldest != Int.max }
        guard !fresh.isEmpty || isEmptied else { return }
        state.withLock { state in
            state.next = max(end, position)
            state.oldest = oldest
            state.sent = MachineClock.microseconds
        }
        let changed = Set(fresh.map(\.flow))
        if let flow {
            guard changed.contains(flow) || isEmptied else { return }
            return send("rows", page(of: flow, known.exchanges), on: stream)
        }
        guard changed.count <= FlowPage.size else { return send("reload", "", on: stream) }
        let all = FlowReader.grouped(known.exchanges.filter { changed.contains($0.flow) })
        // Requests that the daemon sends itself are recorded before the one for which they are made: until then, their
        // flow has their ID.
        var gone = fresh.filter { $0.flow != $0.exchange.id }.map(\.exchange.id)
        var rows: [HTML] = []
        for flow in all.map({ reader.flow($0) }) {
            if filter.takes(flow, reader) {
                rows.append(FlowRow(flow: flow, reader: reader, exchange: exchange).html)
            } else {
                gone.append(flow.id)
            }
        }
        let list = HTML.element(
            "ol",
            attributes: [
                (name: "data-gone", value: gone.joined(separator: " ")), (name: "data-oldest", value: String(oldest)),
                (name: "data-end", value: String((known.exchanges.last?.exchange.order ?? -1) + 1)),
            ], children: rows)
        send("rows", list.fragment, on: stream)
    }

    private func page(of flow: String, _ known: [KnownExchange]) -> String {
        inspector.flowContent(exchange, known.filter { $0.flow == flow }, reader, from: nil).fragment
    }

    /// Sends an event. `data` is one line: HTML is written without line breaks.
    private func send(_ event: String, _ data: String, on stream: EventStream) {
        stream.send(StreamChunk(Array("event: \(event)\ndata: \(data)\n\n".utf8), in: budget.streams))
        budget.enforceStreams()
    }
}
