import Control
import EmulatorCore
import HTTPServer

// The page GET /_understudy/flows/ID: a sign-in, as a diagram and as a list. Query: from is the number of the first
// exchange that is shown, if there are more than fit a page.

extension Inspector {
    /// The number of exchanges on a page.
    private static let shownSteps = 40

    func flow(_ exchange: Exchange) async throws -> Response {
        let id = exchange.parameters["id"] ?? ""
        let from = exchange.request.queryForm["from"].flatMap { Int($0) }
        let reader = FlowReader(control, exchange.world)
        return try await exchange.world.recording.search {
            guard let flow = reader.flow(id) else { return noFlow(exchange) }
            // This is an exchange within a flow: its requests may have been shown before their flow was known.
            guard flow.id == id else { return .redirect(to: exchange.inspector("flows/\(flow.id)")) }
            let content = HTML.tag(
                "div", [("id", "flow")] + (from == nil ? [("data-follow", nil)] : []),
                flowContent(exchange, flow, reader, from: from))
            return page(
                exchange, .signIns, title: Inspector.title(flow), scripts: from == nil ? ["follow"] : [],
                lead: from == nil ? [liveButton] : [], [content])
        }
    }

    /// The button that shows whether the page is updated, and pauses that.
    var liveButton: HTML {
        .tag(
            "button",
            [("type", "button"), ("class", "quiet small needs-script live"), ("id", "live"), ("aria-pressed", "true")],
            "Live")
    }

    /// Returns a title such as "Apple web sign-in, refused".
    private static func title(_ flow: Flow) -> String {
        ShownText.plain("\(flow.name), \(flow.ending.title.lowercased())")
    }

    /// Returns the part of the page that is updated until the sign-in ends.
    private func flowContent(_ exchange: Exchange, _ flow: Flow, _ reader: FlowReader, from: Int?) -> HTML {
        let count = flow.steps.count
        // Without a number, the page shows the latest steps.
        let first = min(max(0, from ?? (count - 1) / Inspector.shownSteps * Inspector.shownSteps), count - 1)
        let shown = flow.steps[first..<min(count, first + Inspector.shownSteps)]
        let advice = reader.advice(on: shown.map(\.known))
        let conversation = Conversation(flow, shown) { isOwn($0, exchange) }
        return .group([
            outcome(exchange, flow, reader), self.advice(exchange, advice), summary(exchange, flow, reader),
            .tag("h2", [], "What happened"), pages(exchange, flow, first, shown.endIndex),
            diagram(exchange, conversation, reader, .wide(parties: conversation.parties.count)),
            diagram(exchange, conversation, reader, .narrow),
            .tag("h2", [], "Step by step"),
            StepList(conversation: conversation, flow: flow, reader: reader, exchange: exchange).html,
        ])
    }

    /// Returns the diagram in one of the sizes for kinds of screens: the style sheet shows one of them.
    private func diagram(
        _ exchange: Exchange, _ conversation: Conversation, _ reader: FlowReader, _ size: DiagramSize
    ) -> HTML {
        let diagram = SequenceDiagram(conversation: conversation, reader: reader, exchange: exchange, size: size)
        return .tag(
            "div",
            [
                ("class", "flow-scroll card \(size.name)"), ("role", "region"), ("tabindex", "0"),
                ("aria-label", "Sequence diagram"),
            ], diagram.html)
    }

    /// Returns the facts in one line.
    private func summary(_ exchange: Exchange, _ flow: Flow, _ reader: FlowReader) -> HTML {
        var took = ShownText.duration(flow.duration)
        if flow.waiting >= 100_000 { took += ", \(ShownText.duration(flow.waiting)) of it waiting" }
        var facts = [HTML.tag("span", [("class", flow.ending.style)], flow.ending.title)]
        if let person = reader.person(of: flow) { facts.append(FlowRow.name(person, exchange)) }
        if let client = flow.client { facts.append(.tag("code", [], ShownText.isolated(client))) }
        if let time = flow.steps.first?.exchange.time { facts.append(ShownText.time(time)) }
        facts.append(.text(took))
        let count = flow.steps.count
        facts.append(.group([.text(count == 1 ? "1 exchange, " : "\(count) exchanges, "), .tag("code", [], flow.id)]))
        let archive = exchange.inspector("flows/har?flow=\(flow.id)")
        facts.append(.tag("a", [("href", archive), ("download", "\(flow.id).har")], "Save as HAR"))
        return .element(
            "ul",
            attributes: [
                (name: "class", value: "flow-facts"), (name: "id", value: "flow-facts"),
                (name: "data-spoken", value: FlowRow.spoken(flow, reader)),
            ], children: facts.map { .tag("li", [], $0) })
    }

    private func outcome(_ exchange: Exchange, _ flow: Flow, _ reader: FlowReader) -> HTML {
        guard let failure = flow.failure else {
            // The advice says more about a code that waits.
            guard let hint = flow.hint, !flow.awaitsRedemption else { return .group([]) }
            return .tag("p", [("class", "note")], hint)
        }
        let style = flow.ending == .refused ? "note bad" : "note warn"
        let who = "\(failure.receiver.title), \(failure.step.label)"
        let help = help(for: failure.exchange).map { help -> HTML in
            .tag("a", [("href", exchange.inspector(help.path))], "How to mend it")
        }
        return .tag(
            "div", [("class", style)],
            .tag("p", [], .tag("strong", [], ShownText.isolated(who))),
            reasonParts(reader.reason(failure), exchange),
            .tag(
                "p", [("class", "row")], help ?? .group([]),
                .link("See the request", to: exchange.inspector("requests/\(failure.exchange.id)"))))
    }

    /// Shows the remarks beside the refusal.
    private func advice(_ exchange: Exchange, _ advice: [FlowAdvice]) -> HTML {
        .group(
            advice.map { advice in
                .tag(
                    "p", [("class", advice.weight == .problem ? "note warn" : "note")],
                    ShownText.isolated(advice.text, limit: 2_000), .text(" "),
                    .link("See the exchange", to: exchange.inspector("requests/\(advice.exchange)")))
            })
    }

    private func pages(_ exchange: Exchange, _ flow: Flow, _ first: Int, _ end: Int) -> HTML {
        guard flow.steps.count > Inspector.shownSteps else { return .group([]) }
        func link(_ from: Int, _ label: String) -> HTML {
            .link(label, to: exchange.inspector("flows/\(flow.id)?from=\(from)"))
        }
        var parts: [HTML] = [.text("Exchanges \(first + 1) to \(end) of \(flow.steps.count). ")]
        if first > 0 { parts += [link(max(0, first - Inspector.shownSteps), "Show earlier ones"), .text(" ")] }
        if end < flow.steps.count { parts.append(link(end, "Show more")) }
        return .tag("p", [], .group(parts))
    }

    private func noFlow(_ exchange: Exchange) -> Response {
        page(
            exchange, .signIns, title: "No such sign-in", status: 404,
            [
                .tag(
                    "p", [("class", "note bad")],
                    "This world's recording holds no sign-in of this ID: it was emptied, or newer exchanges took its place."
                ),
                .tag("p", [], .link("All sign-ins", to: exchange.inspector())),
            ]
        ).diagnosed(Diagnosis("the recording holds no such sign-in"))
    }

    /// Whether a URL leads to this daemon, or to a host that is played.
    private func isOwn(_ url: String, _ exchange: Exchange) -> Bool {
        guard let start = url.firstRange(of: "://")?.upperBound else { return true }
        let authority = url[start...].prefix { !"/?#".contains($0) }
        if authority.lowercased() == (exchange.request.header("Host") ?? "").lowercased() { return true }
        return finder.value.plays(Address.hostName(of: String(authority)))
    }
}

/// A conversation as a list: the same as the diagram, for people who read rather than look.
struct StepList {
    let conversation: Conversation
    let flow: Flow
    let reader: FlowReader
    let exchange: Exchange

    var html: HTML {
        let items = conversation.lines.compactMap { line -> HTML? in
            switch line {
            case .pause(let length): .tag("li", [("class", "step-pause soft")], "\(ShownText.duration(length)) pass")
            case .request(let step): item(step)
            case .answer: nil
            case .onward(_, let party, let label, let place):
                .tag(
                    "li", [("class", "step-onward")],
                    .tag("p", [], parties(.browser, party), .text(" "), ShownText.isolated(label)),
                    .tag("p", [("class", "soft small")], ShownText.isolated(place)))
            }
        }
        return .element("ol", attributes: [(name: "class", value: "steps card")], children: items)
    }

    private func item(_ step: FlowStep) -> HTML {
        let time = max(0, step.exchange.began - conversation.began)
        let offset = time == 0 ? "0" : "+\(ShownText.duration(time))"
        let style = step.isPending ? "badge info" : step.isFailed || step.isCancelled ? "badge bad" : "badge good"
        return .tag(
            "li", [("class", step.isInner ? "step inner" : "step"), ("id", "step-\(step.exchange.id)")],
            .tag(
                "p", [("class", "step-line")], .tag("span", [("class", "step-at soft")], offset),
                parties(step.sender, step.receiver),
                .tag(
                    "a", [("href", exchange.inspector("requests/\(step.exchange.id)"))],
                    ShownText.isolated(step.step.label)),
                .tag("span", [("class", style)], ShownText.plain(step.answer)),
                .tag("span", [("class", "soft small")], "in \(ShownText.duration(step.exchange.duration))")),
            .tag(
                "p", [("class", "step-path")],
                .tag(
                    "code", [],
                    ShownText.isolated(
                        "\(step.exchange.request.method) \(step.exchange.host ?? "")"
                            + reader.control.shownPath(of: step.known)))),
            diagnosis(step), fault(step))
    }

    private func parties(_ from: Party, _ to: Party) -> HTML {
        .tag(
            "span", [("class", "step-parties")],
            .tag("span", [("class", "party \(from.style)")], from.title),
            .tag("span", [("aria-hidden", "true")], " → "), .tag("span", [("class", "spoken")], " to "),
            .tag("span", [("class", "party \(to.style)")], to.title))
    }

    private func diagnosis(_ step: FlowStep) -> HTML {
        // The reason for the failure of the sign-in is shown above.
        guard step.isFailed, step.exchange.id != flow.failure?.exchange.id,
            let text = reader.control.shownDiagnosis(of: step.known)
        else { return .group([]) }
        return .tag(
            "p", [("class", step.isPending ? "flow-why" : "flow-why bad")], ShownText.isolated(text, limit: 2_000))
    }

    private func fault(_ step: FlowStep) -> HTML {
        guard let fault = step.exchange.fault, fault != step.exchange.diagnosis else { return .group([]) }
        return .tag("p", [("class", "flow-why warn")], ShownText.isolated(fault, limit: 1_200))
    }
}
