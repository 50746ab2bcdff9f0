import EmulatorCore
import HTTPServer

// Streams of server-sent events: <https://html.spec.whatwg.org/multipage/server-sent-events.html>

extension Exchange {
    /// Answers with a stream of events. It ends when the world is removed.
    package func events(_ stream: EventStream) -> Response {
        world.streams.add(stream)
        var response = Response(
            status: 200, contentType: "text/event-stream", headers: [(name: "Cache-Control", value: "no-store")],
            body: "")
        response.delivery = .stream(stream)
        return response
    }
}

extension EventStream {
    /// Sends an empty comment at intervals, because proxies close connections on which nothing is sent.
    package func keepAlive(in budget: ProcessBudget) { keepAlive(StreamChunk(Array(":\n\n".utf8), in: budget.streams)) }

    private func keepAlive(_ chunk: StreamChunk) {
        guard send(chunk) else { return }
        Timer.after(.seconds(15)) { [weak self] in self?.keepAlive(chunk) }
    }
}

extension ProcessBudget {
    /// Closes the slowest streams if clients are too far behind.
    package func enforceStreams() {
        guard streams.enforce() > 0 else { return }
        notices.tell(
            .streams, "event streams are behind by more than \(streams.limit) bytes: the slowest are let go")
    }
}
