import Control
import EmulatorCore
import HTTPServer
import Recordings
import Time

/// The requests that one kind of client has sent.
struct Arrivals: Sendable {
    let count: Int
    let refused: Int
    let last: RecordedExchange?
    let lastRefused: RecordedExchange?
    /// The last request of any client.
    let other: RecordedExchange?

    /// Searches the recording, so don't call it on a worker. The daemon's own requests aren't counted.
    init(in exchanges: [RecordedExchange], _ isArrival: (RecordedExchange) -> Bool) {
        var (count, refused) = (0, 0)
        var last, lastRefused, other: RecordedExchange?
        for exchange in exchanges where exchange.parent == nil {
            other = exchange
            guard isArrival(exchange) else { continue }
            count += 1
            last = exchange
            guard exchange.diagnosis != nil else { continue }
            refused += 1
            lastRefused = exchange
        }
        self.count = count
        self.refused = refused
        self.last = last
        self.lastRefused = lastRefused
        self.other = other
    }
}

extension Inspector {
    func arrivals(_ exchange: Exchange, _ isArrival: @escaping @Sendable (RecordedExchange) -> Bool) async throws
        -> Arrivals
    {
        let recording = exchange.world.recording
        return try await recording.search { Arrivals(in: recording.exchanges, isArrival) }
    }

    /// Says whether the first request has arrived, and with what outcome. `again` is the page's path, which a script
    /// requests again. `kind` names the kind of client; `nil` is any.
    func arrivalCheck(_ exchange: Exchange, _ arrivals: Arrivals, again: String, of kind: String?) -> HTML {
        var content: [HTML] = []
        if let last = arrivals.last {
            let isFine = last.diagnosis == nil
            content = [
                .tag(
                    "p", [],
                    .tag("span", [("class", isFine ? "badge good" : "badge bad")], isFine ? "arrived" : "refused"),
                    .text(
                        arrivals.count == 1
                            ? " The first request has come."
                            : " \(arrivals.count) requests have come, \(arrivals.refused) were refused.")),
                shown(exchange, last, arrivals.count == 1 ? "It was" : "The last one"),
            ]
            if isFine, let refused = arrivals.lastRefused {
                content.append(shown(exchange, refused, "The last that was refused"))
            }
        } else {
            content.append(
                .tag(
                    "p", [], .tag("span", [("class", "badge")], "waiting"),
                    .text(
                        kind == nil
                            ? " No request has come to this world yet."
                            : " No request of such a client has come to this world yet.")))
            if let other = arrivals.other { content.append(shown(exchange, other, "The last request of all")) }
        }
        let key = [arrivals.last?.id, arrivals.other?.id].map { $0 ?? "" }.joined(separator: " ")
        return .element(
            "div",
            attributes: [
                (name: "id", value: "arrival"), (name: "data-key", value: key), (name: "role", value: "status"),
                (name: "data-poll", value: "\(exchange.inspector(again))?part=arrival"),
            ], children: content)
    }

    /// Returns a request in a line or two, with the reason if it was refused.
    private func shown(_ exchange: Exchange, _ recorded: RecordedExchange, _ words: String) -> HTML {
        let mask = control.masksSecrets ? Mask(recorded) : nil
        func masked(_ text: String) -> String { ShownText.source(mask?.apply(to: text) ?? text) }
        let place = "\(recorded.request.method) \(recorded.host ?? "")\(recorded.path)"
        let ago = max(0, MachineClock.microseconds - recorded.began) / 1_000_000
        return .tag(
            "div", [("class", "setup-arrival")],
            .tag(
                "p", [], .text("\(words): "), .tag("code", [], masked(place)),
                .text(" was answered \(recorded.response.status), "),
                .text(ago < 2 ? "just now" : "\(Inspector.words(ago)) ago"), .text(". "),
                .link("Look at \(recorded.id)", to: exchange.inspector("requests/\(recorded.id)"))),
            recorded.diagnosis.map { .tag("div", [("class", "note bad")], reasonParts(masked($0), exchange)) }
                ?? .group([]),
            help(for: recorded).map {
                .tag("p", [("class", "small")], .link($0.title, to: exchange.inspector($0.path)))
            } ?? .group([]))
    }
}
