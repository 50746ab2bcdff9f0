import Control
import EmulatorCore
import HTTPServer

// The page GET /_understudy/flows/ID: a sign-in, as a diagram and as a list. Query: from is the number of the first
// exchange that is shown, if there are more than fit a page.

extension Inspector {
    /// The greatest number of requests that one page about a sign-in shows.
    private static let shownSteps = 40

    func flow(_ exchange: Exchange) async throws -> Response {
        let id = exchange.parameters["id"] ?? ""
        let from = exchange.request.queryForm["from"].flatMap { Int($0) }
        let reader = FlowReader(control, exchange.world)
        return try await exchange.world.recording.search {
            guard let flow = reader.flow(id) else { return noFlow(exchange) }
            // The ID is that of an exchange within the flow: the browser may have the address from before the flow was known.
            guard flow.id == id else { return .redirect(to: exchange.inspector("flows/\(flow.id)")) }
            return page(
                exchange, .signIns, title: ShownText.plain("\(flow.name), \(flow.ending.title.lowercased())"),
                scripts: from == nil ? ["follow"] : [], lead: from == nil ? [liveButton] : [],
                [.of("div#flow", ["data-follow": from == nil], .group(content(exchange, flow, reader, from: from)))])
        }
    }

    /// The button that shows whether the page updates itself, and that pauses the updates.
    var liveButton: HTML {
        .button("Live", "quiet.small.needs-script.live#live", ["type": "button", "aria-pressed": "true"])
    }

    /// Returns the part of a sign-in's page that a script updates while the page is open.
    private func content(_ exchange: Exchange, _ flow: Flow, _ reader: FlowReader, from: Int?) -> [HTML] {
        let count = flow.steps.count
        // Without a number, the page shows the latest steps.
        let first = min(max(0, from ?? (count - 1) / Inspector.shownSteps * Inspector.shownSteps), count - 1)
        let shown = flow.steps[first..<min(count, first + Inspector.shownSteps)]
        let conversation = Conversation(flow, shown) { isOwn($0, exchange) }
        // The style sheet shows the diagram in one of the sizes for kinds of screens.
        let diagrams = [DiagramSize.wide(parties: conversation.parties.count), .narrow].map { size in
            HTML.of(
                "div.flow-scroll.card.\(size.name)",
                ["role": "region", "tabindex": "0", "aria-label": "Sequence diagram"],
                SequenceDiagram(conversation: conversation, reader: reader, exchange: exchange, size: size).html)
        }
        return [
            outcome(exchange, flow, reader) ?? "",
            // Remarks on single exchanges, beside the refusal above.
            .group(
                reader.advice(on: shown.map(\.known)).map { advice in
                    .of(
                        "p.note\(advice.weight == .problem ? ".warn" : "")",
                        ShownText.isolated(advice.text, limit: 2_000), " ",
                        exchange.link("requests/\(advice.exchange)", "See the exchange"))
                }), summary(exchange, flow, reader), .of("h2", "What happened"),
            pages(exchange, flow, first, shown.endIndex) ?? "", .group(diagrams), .of("h2", "Step by step"),
            StepList(conversation: conversation, flow: flow, reader: reader, exchange: exchange).html,
        ]
    }

    /// Returns a line of facts about a sign-in, such as its ending, the person and the duration.
    private func summary(_ exchange: Exchange, _ flow: Flow, _ reader: FlowReader) -> HTML {
        let waiting = flow.waiting >= 100_000 ? ", \(ShownText.duration(flow.waiting)) of it waiting" : ""
        let facts: [HTML?] = [
            .of("span", ["class": flow.ending.style], .text(flow.ending.title)),
            reader.person(of: flow).map { FlowRow.name($0, exchange) },
            flow.client.map { .of("code", ShownText.isolated($0)) },
            (flow.steps.first?.exchange.time).map { ShownText.time($0) },
            .text(ShownText.duration(flow.duration) + waiting),
            .group([
                .text("\(Inspector.count(flow.steps.count, "exchange", "exchanges")), "), .of("code", .text(flow.id)),
            ]),
            .of(
                "a", ["href": exchange.inspector("flows/har?flow=\(flow.id)"), "download": "\(flow.id).har"],
                "Save as HAR"),
        ]
        return .of(
            "ul.flow-facts#flow-facts", ["data-spoken": FlowRow.spoken(flow, reader)],
            .group(facts.compactMap { $0 }.map { .of("li", $0) }))
    }

    private func outcome(_ exchange: Exchange, _ flow: Flow, _ reader: FlowReader) -> HTML? {
        guard let failure = flow.failure else {
            // The advice says more about a code that waits.
            return flow.awaitsRedemption ? nil : flow.hint.map { .note("", .text($0)) }
        }
        return .of(
            "div.note.\(flow.ending == .refused ? "bad" : "warn")",
            .of("p", .of("strong", ShownText.isolated("\(failure.receiver.title), \(failure.step.label)"))),
            reasonParts(reader.reason(failure), exchange),
            .of(
                "p.row", help(for: failure.exchange).map { exchange.link($0.path, "How to mend it") },
                exchange.link("requests/\(failure.exchange.id)", "See the request")))
    }

    private func pages(_ exchange: Exchange, _ flow: Flow, _ first: Int, _ end: Int) -> HTML? {
        let count = flow.steps.count
        guard count > Inspector.shownSteps else { return nil }
        func link(_ from: Int, _ label: HTML) -> HTML { exchange.link("flows/\(flow.id)?from=\(from)", label) }
        return .of(
            "p", "Exchanges \(first + 1) to \(end) of \(count). ",
            first > 0 ? link(max(0, first - Inspector.shownSteps), "Show earlier ones") : nil, " ",
            end < count ? link(end, "Show more") : nil)
    }

    private func noFlow(_ exchange: Exchange) -> Response {
        missing(
            exchange, .signIns, "No such sign-in",
            "No sign-in with this ID is in this world's recording: the recording was emptied, or newer requests replaced it.",
            "All sign-ins")
    }

    /// Whether a URL leads to this daemon, or to a provider's host that the daemon impersonates.
    private func isOwn(_ url: String, _ exchange: Exchange) -> Bool {
        guard let start = url.firstRange(of: "://")?.upperBound else { return true }
        let authority = url[start...].prefix { !"/?#".contains($0) }
        if authority.lowercased() == (exchange.request.header("Host") ?? "").lowercased() { return true }
        return control.finder.value.plays(Address.hostName(of: String(authority)))
    }
}

/// The steps of a sign-in as a list. It says the same as the sequence diagram, for people who prefer to read.
struct StepList {
    let conversation: Conversation
    let flow: Flow
    let reader: FlowReader
    let exchange: Exchange

    var html: HTML {
        let items = conversation.lines.compactMap { line -> HTML? in
            switch line {
            case .pause(let length): .of("li.soft", "\(ShownText.duration(length)) pass")
            case .request(let step): item(step)
            case .answer: nil
            case .onward(_, let party, let label, let place):
                .of(
                    "li", .of("p", parties(.browser, party), " ", ShownText.isolated(label)),
                    .of("p.soft.small", ShownText.isolated(place)))
            }
        }
        return .of("ol.steps.card", .group(items))
    }

    private func item(_ step: FlowStep) -> HTML {
        let recorded = step.exchange
        let time = max(0, recorded.began - conversation.began)
        let path = "\(recorded.request.method) \(recorded.host ?? "")\(reader.control.shownPath(of: step.known))"
        // The reason for the failure of the sign-in is shown above.
        let isShown = step.isFailed && recorded.id != flow.failure?.exchange.id
        let reason = isShown ? reader.control.shownDiagnosis(of: step.known) : nil
        let fault = recorded.fault == recorded.diagnosis ? nil : reader.control.shownFault(of: step.known)
        return .of(
            "li.step\(step.isInner ? ".inner" : "")#step-\(recorded.id)",
            .of(
                "p.step-line", .of("span.step-at.soft", .text(time == 0 ? "0" : "+\(ShownText.duration(time))")),
                parties(step.sender, step.receiver),
                exchange.link("requests/\(recorded.id)", ShownText.isolated(step.step.label)),
                .badge(
                    ShownText.plain(step.answer),
                    step.isPending ? "info" : step.isFailed || step.isCancelled ? "bad" : "good"),
                .of("span.soft.small", "in \(ShownText.duration(recorded.duration))")),
            .of("p.step-path", .of("code", ShownText.isolated(path))),
            reason.map { .of("p.flow-why\(step.isPending ? "" : ".bad")", ShownText.isolated($0, limit: 2_000)) },
            fault.map { .of("p.flow-why.warn", ShownText.isolated($0, limit: 1_200)) })
    }

    private func parties(_ from: Party, _ to: Party) -> HTML {
        .of(
            "span", .of("span.party.\(from.style)", .text(from.title)),
            .of("span", ["aria-hidden": "true"], " → "), .spoken(" to "), .of("span.party.\(to.style)", .text(to.title))
        )
    }
}
