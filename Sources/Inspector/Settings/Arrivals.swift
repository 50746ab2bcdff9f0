import Control
import EmulatorCore
import HTTPServer
import Recordings
import Time

/// The recorded requests of one kind of client, by which a set-up page shows whether the client reaches the daemon.
struct Arrivals: Sendable {
    let count: Int
    let refused: Int
    let last: RecordedExchange?
    let lastRefused: RecordedExchange?
    /// The most recent recorded request of any client.
    let other: RecordedExchange?

    /// Counts the recorded requests for which `isArrival` returns `true`. Requests from the daemon itself don't count.
    /// This searches the recording, so don't call it on a server's worker thread.
    init(in exchanges: [RecordedExchange], _ isArrival: (RecordedExchange) -> Bool) {
        let clients = exchanges.filter { $0.parent == nil }
        let arrived = clients.filter(isArrival)
        let bad = arrived.filter { $0.diagnosis != nil }
        (count, refused, last, lastRefused) = (arrived.count, bad.count, arrived.last, bad.last)
        other = clients.last
    }
}

extension Inspector {
    func arrivals(_ exchange: Exchange, _ isArrival: @escaping @Sendable (RecordedExchange) -> Bool) async throws
        -> Arrivals
    {
        let recording = exchange.world.recording
        return try await recording.search { Arrivals(in: recording.exchanges, isArrival) }
    }

    /// Returns HTML that says whether a client's first request has arrived, and whether it was refused. A script
    /// reloads it from the path `again`. `kind` names the kind of client; `nil` means any client.
    func arrivalCheck(_ exchange: Exchange, _ arrivals: Arrivals, again: String, of kind: String?) -> HTML {
        var content: [HTML?] = []
        if let last = arrivals.last {
            let isFine = last.diagnosis == nil
            let many = " \(arrivals.count) requests have arrived, and \(arrivals.refused) were refused."
            content = [
                .of(
                    "p", isFine ? .badge("arrived", "good") : .badge("refused", "bad"),
                    .text(arrivals.count == 1 ? " The first request has arrived." : many)),
                shown(exchange, last, arrivals.count == 1 ? "It was" : "The last one"),
                isFine ? arrivals.lastRefused.map { shown(exchange, $0, "The last refused request") } : nil,
            ]
        } else {
            let whose = kind == nil ? "" : " of this kind of client"
            content = [
                .of("p", .badge("waiting"), " No request\(whose) has arrived in this test world yet."),
                arrivals.other.map { shown(exchange, $0, "The last request, whichever client sent it") },
            ]
        }
        let key = [arrivals.last?.id, arrivals.other?.id].map { $0 ?? "" }.joined(separator: " ")
        return .of(
            "div#arrival",
            ["data-key": key, "role": "status", "data-poll": "\(exchange.inspector(again))?part=arrival"],
            .group(content.compactMap { $0 }))
    }

    /// Returns a short description of a recorded request as HTML, with the reason if the request was refused.
    private func shown(_ exchange: Exchange, _ recorded: RecordedExchange, _ words: String) -> HTML {
        let mask = control.masksSecrets ? Mask(recorded) : nil
        func masked(_ text: String) -> String { ShownText.source(mask?.apply(to: text) ?? text) }
        let place = "\(recorded.request.method) \(recorded.host ?? "")\(recorded.path)"
        let ago = max(0, MachineClock.microseconds - recorded.began) / 1_000_000
        return .of(
            "div",
            .of(
                "p", "\(words): ", .of("code", .text(masked(place))), " was answered \(recorded.response.status), ",
                ago < 2 ? "just now" : "\(Inspector.words(ago)) ago", ". ",
                exchange.link("requests/\(recorded.id)", "Look at \(recorded.id)")),
            recorded.diagnosis.map { .of("div.note.bad", reasonParts(masked($0), exchange)) },
            help(for: recorded).map { .of("p.small", exchange.link($0.path, .text($0.title))) })
    }
}
