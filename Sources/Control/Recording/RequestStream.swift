import HTTPServer
import JOSE
import EmulatorCore
import Recordings
import Synchronization

// The call GET /_understudy/v1/requests with Accept: text/event-stream
// Its server-sent events: <https://html.spec.whatwg.org/multipage/server-sent-events.html>

extension ControlAPI {
    func stream(_ exchange: Exchange, _ query: Query, _ lease: Allowance.Lease) -> Response {
        let reader = RecordingReader(
            exchange.world.recording, query: query, masksSecrets: masksSecrets, budget: worlds.budget, lease: lease)
        return exchange.events(reader.begin())
    }
}

/// Sends recorded requests and their responses on an event stream, only as fast as the client reads, so that nothing is
/// stored for a slow client. Requests that the recording drops before they are sent are skipped. The sending runs on
/// the recording's dispatch queue.
private final class RecordingReader: Sendable {
    private struct State {
        /// The position, within the recording, of the request to examine next.
        var next = 0
        var hasBegun = false
        /// Counts this event stream against the limit on streams that are open at once. It is released when the
        /// stream's connection is closed.
        var lease: Allowance.Lease?
    }

    /// The number of bytes of an event stream that may wait for the client. A single event may be longer.
    private static let ahead = 64 << 10
    /// The number of requests that are read from the recording at a time.
    private static let step = 64

    private let recording: Recording
    private let query: ControlAPI.Query
    private let masksSecrets: Bool
    private let budget: ProcessBudget
    private let state: Mutex<State>
    private let link = Mutex<WeakStream>(WeakStream())

    private struct WeakStream {
        weak var stream: EventStream?
    }

    init(
        _ recording: Recording, query: ControlAPI.Query, masksSecrets: Bool, budget: ProcessBudget,
        lease: Allowance.Lease
    ) {
        self.recording = recording
        self.query = query
        self.masksSecrets = masksSecrets
        self.budget = budget
        state = Mutex(State(lease: lease))
    }

    func begin() -> EventStream {
        let stream = EventStream(whenDrained: { [self] in recording.queue.async { [self] in advance() } })
        link.withLock { $0.stream = stream }
        budget.streams.add(stream)
        let number = recording.listen { [self] in advance() }
        stream.whenClosed { [self] in
            recording.stopListening(number)
            state.withLock { $0.lease = nil }
        }
        recording.queue.async { [self] in start() }
        stream.keepAlive(in: budget)
        return stream
    }

    private func start() {
        let known = recording.known()
        var skipped = place(after: query.after, in: known.exchanges)
        if let limit = query.limit {
            let matching = known.exchanges.indices.dropFirst(skipped).filter { query.matches(known.exchanges[$0]) }
            skipped = matching.suffix(limit).first ?? known.exchanges.count
        }
        state.withLock { state in
            state.next = known.first + skipped
            state.hasBegun = true
        }
        advance()
    }

    /// Sends the recorded requests that match the query, with their responses, on the event stream. Stops when all have
    /// been sent, or when the client has many unread bytes.
    private func advance() {
        guard let stream = link.withLock({ $0.stream }) else { return }
        while stream.backlog < RecordingReader.ahead {
            let position = state.withLock { $0.hasBegun ? $0.next : nil }
            guard let position else { return }
            let known = recording.known(from: position, limit: RecordingReader.step)
            guard !known.exchanges.isEmpty else { return }
            var next = known.first
            for exchange in known.exchanges {
                guard stream.backlog < RecordingReader.ahead else { break }
                next += 1
                guard query.matches(exchange) else { continue }
                guard stream.send(recording.shared(exchange) { event(exchange) }) else { return }
            }
            let reached = next
            state.withLock { $0.next = reached }
            budget.enforceStreams()
        }
    }

    private func event(_ known: KnownExchange) -> StreamChunk {
        let document = ExchangeDocument(known, masksSecrets: masksSecrets).json
        let text = "id: \(known.exchange.id)\nevent: exchange\ndata: \(document.text)\n\n"
        return StreamChunk(Array(text.utf8), in: budget.streams)
    }
}
