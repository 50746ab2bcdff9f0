import HTTPServer
import JOSE
import EmulatorCore
import Synchronization

// GET /_understudy/v1/requests with Accept: text/event-stream
// Server-sent events: <https://html.spec.whatwg.org/multipage/server-sent-events.html>

extension ControlAPI {
    func stream(_ exchange: Exchange, _ query: Query, _ lease: Allowance.Lease) -> Response {
        let reader = RecordingReader(
            exchange.world.recording, query: query, masksSecrets: masksSecrets, budget: worlds.budget, lease: lease)
        var response = Response(
            status: 200, contentType: "text/event-stream", headers: [(name: "Cache-Control", value: "no-store")],
            body: "")
        response.delivery = .stream(reader.begin())
        return response
    }
}

/// A reader of a recording. It takes exchanges from the recording only as fast as they are read, so that nothing is kept for
/// one that doesn't read; what the recording lets go meanwhile, it doesn't get. Works on the store's queue.
private final class RecordingReader: Sendable {
    private struct State {
        /// The position of the next exchange to look at.
        var next = 0
        var hasBegun = false
        /// Given back when the reader has gone.
        var lease: Allowance.Lease?
    }

    /// Bytes that are sent ahead of the reader, or one event.
    private static let ahead = 64 << 10
    /// Exchanges that are looked at in one go.
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
        let stream = EventStream(whenDrained: { [self] in recording.store.queue.async { [self] in advance() } })
        link.withLock { $0.stream = stream }
        budget.streams.add(stream)
        let number = recording.listen { [self] in advance() }
        stream.whenClosed { [self] in
            recording.stopListening(number)
            state.withLock { $0.lease = nil }
        }
        recording.store.queue.async { [self] in start() }
        RecordingReader.keepAlive(stream, StreamChunk(Array(":\n\n".utf8), in: budget.streams))
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

    /// Sends what there is, until the reader has enough to read.
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
            let gone = budget.streams.enforce()
            if gone > 0 {
                budget.notices.tell(
                    .streams,
                    "event streams are behind by more than \(budget.streams.limit) bytes: the slowest are let go")
            }
        }
    }

    private func event(_ known: KnownExchange) -> StreamChunk {
        let document = ExchangeDocument(known, masksSecrets: masksSecrets).json
        let text = "id: \(known.exchange.id)\nevent: exchange\ndata: \(document.text)\n\n"
        return StreamChunk(Array(text.utf8), in: budget.streams)
    }

    /// Says now and then that the stream is alive, for proxies that close silent connections.
    private static func keepAlive(_ stream: EventStream, _ chunk: StreamChunk) {
        guard stream.send(chunk) else { return }
        Timer.after(.seconds(15)) { [weak stream] in
            if let stream { keepAlive(stream, chunk) }
        }
    }
}
