import EmulatorCore
import HTTPServer
import JSON

// The page `/_understudy/orders`: outcomes and faults that are waiting.

extension Inspector {
    /// The inspector's pages on which a user presets the results of future sign-ins, injects faults and makes tokens:
    /// `/_understudy/orders` and below.
    var orderEndpoints: [Endpoint] {
        [
            page("GET", "orders") { try waitingOrders($0) },
            form("orders/withdraw") { exchange, form in
                let kind = form["kind"] == "outcome" ? "outcomes" : "faults"
                let id = form["id"] ?? ""
                return try await withdraw(
                    exchange, ["\(kind)/\(Inspector.segment(id))"], saying: "\(id) was withdrawn.")
            },
            form("orders/withdraw-all") { exchange, _ in
                try await withdraw(exchange, ["outcomes", "faults"], saying: "Everything was withdrawn.")
            },
            page("GET", "orders/people") { foundPeople($0) },
            page("GET", "orders/scenarios") { scenarioList($0) },
            page("GET", "orders/scenarios/:name") { try scenarioPage($0) },
            form("orders/scenarios/:name") { try await playScenario($0, $1) },
            form("orders/scenarios/:name/end") { exchange, _ in try await endScenario(exchange) },
        ]
            + Order.allCases.flatMap { order in
                [
                    page("GET", order.path) { orderPage(order, $0, $0.request.queryForm) },
                    form(order.path) { try await make(order, $0, $1) },
                ]
            }
    }

    private func withdraw(_ exchange: Exchange, _ calls: [String], saying text: String) async throws -> Response {
        try await trying {
            for path in calls { _ = try await call("DELETE", path, in: exchange) }
            return try changed(exchange, show: "orders", saying: text)
        } refused: {
            try waitingOrders(exchange, refusal: $0)
        }
    }

    /// The page lists at most this many requested sign-in results, and at most this many requested faults.
    private static let shownOrders = 200

    private func waitingOrders(_ exchange: Exchange, refusal: CallRefusal? = nil) throws -> Response {
        // The queues are short: a world has at most a thousand of each.
        let (outcomes, faults) = exchange.world.read {
            ($0.value(OutcomeQueue.self).queued, $0.value(FaultQueue.self).queued)
        }
        let played = control.scenarios.filter { exchange.world.scenarioOrders[$0.name] != nil }
        let rows =
            outcomes.prefix(Inspector.shownOrders).map { outcomeRow(exchange, $0, played) }
            + faults.prefix(Inspector.shownOrders).map { faultRow(exchange, $0, played) }
        let nothing = HTML.of(
            "div.empty", .of("p", "No outcome or fault is waiting for a request."),
            .of(
                "p", exchange.link(Order.signIn.path, "Choose how the next sign-in ends"), ", ",
                exchange.link(Order.fault.path, "make a request fail"), ", or ",
                exchange.link("orders/scenarios", "start a scenario"), "."))
        let waiting = HTML.group([
            .table(
                "stack", ["What", "Where", "How often", "Ordered by", ""],
                caption: .spoken("Orders that are waiting"), rows),
            .more(outcomes.count + faults.count - rows.count, "more.") ?? "",
            .of("p", action(exchange, "orders/withdraw-all", "Withdraw all", "danger")),
        ])
        return try page(
            exchange, .orders, title: "Orders", refusal: refusal, scripts: ["orders", "follow"],
            lead: [
                .of("span.badge#waiting-count", ["data-follow": true], "\(outcomes.count + faults.count) waiting")
            ],
            [
                .of(
                    "div#waiting", ["data-follow": true],
                    // A scenario whose orders are all used may still have moved the clock or changed people.
                    played.isEmpty
                        ? nil : .card("Scenarios that are on", .list("ul", played.map { link($0, exchange) })),
                    rows.isEmpty ? nothing : waiting)
            ])
    }

    private func link(_ scenario: Scenario, _ exchange: Exchange) -> HTML {
        exchange.link("orders/scenarios/\(scenario.name)", .text(scenario.title))
    }

    private func row(
        _ exchange: Exchange, kind: String, id: String, what: [HTML], place: [HTML?], often: String,
        _ played: [Scenario]
    ) -> HTML.Row {
        let orders = exchange.world.scenarioOrders
        let origin = played.first { orders[$0.name].map { ($0.faults + $0.outcomes).contains(id) } ?? false }
        return HTML.Row(
            ["id": id], .group(what + [" ", .of("code.soft", .text(id))]), .group(place.compactMap { $0 }),
            .text(often),
            origin.map { link($0, exchange) }
                ?? .soft(id.hasPrefix("seed-") ? "the seed" : "a control API call or this page"),
            action(exchange, "orders/withdraw", "Withdraw", "quiet.small", spoken: id, ["kind": kind, "id": id]))
    }

    private func outcomeRow(_ exchange: Exchange, _ outcome: Outcome, _ played: [Scenario]) -> HTML.Row {
        let who = outcome.account ?? "the user"
        let what: [HTML] =
            switch outcome.kind {
            case .approve: [.badge("sign-in", "good"), " ", text("\(who) signs in")]
            case .cancel: [.badge("cancel", "warn"), " ", text("\(who) cancels")]
            case .error: [.badge("error", "bad"), " ", ShownText.code(outcome.error ?? "", limit: 400)]
            }
        let details = [
            outcome.shareEmail.map { $0 ? "shares the address" : "hides the address" },
            outcome.name.map { "as \($0.given) \($0.family)" },
            outcome.scopes.map { "grants \($0.joined(separator: " "))" },
        ].compactMap { $0 }
        let owner = providers.first { $0.name == outcome.provider }?.facts.title ?? outcome.provider
        return row(
            exchange, kind: "outcome", id: outcome.id,
            what: what + (details.isEmpty ? [] : [.of("div.soft", text(details.joined(separator: "; ")))]),
            place: [.text("the next sign-in with \(owner)"), client(outcome.client)], often: times(outcome.times),
            played)
    }

    private func faultRow(_ exchange: Exchange, _ fault: Fault, _ played: [Scenario]) -> HTML.Row {
        let match = fault.match
        let entry = control.catalog.entries.first { entry in
            entry.path == match.path?.text && entry.host == match.host?.text && entry.method == match.method
        }
        let envelope = [match.from.map { "from \($0.text)" }, match.to.map { "to \($0.text)" }].compactMap { $0 }
        let address = [match.method, (match.host?.text ?? "") + (match.path?.text ?? "")].compactMap { $0 }
        let name = match.smtp == nil ? address.joined(separator: " ") : envelope.joined(separator: ", ")
        let owner = providers.first { $0.name == entry?.provider }?.facts.title
        let place =
            match.smtp.map { "mail at \($0.rawValue) of SMTP" } ?? entry?.title.map { "\(owner ?? ""): \($0)" }
            ?? (name.isEmpty ? "every request" : "")
        var often = times(fault.times.map { $0 - fault.done })
        if fault.after > fault.seen { often += ", after \(fault.after - fault.seen) more" }
        if fault.probability < 1 { often += ", with probability \(fault.probability)" }
        if fault.seen > 0 { often += " (seen \(fault.seen) so far)" }
        let fields = match.fields.map { "\($0.name)=\($0.value)" }.joined(separator: ", ")
        return row(
            exchange, kind: "fault", id: fault.id,
            what: [.badge("fault", "warn"), " ", text(Inspector.words(fault.effect.document))],
            place: [
                .text(place), name.isEmpty ? nil : .of("div", ShownText.code(name, limit: 400)), client(match.client),
                fields.isEmpty ? nil : .of("div.soft", ShownText.code(fields, limit: 400)),
                match.tokensOf.map { .of("div.soft", text("tokens of \($0)")) },
            ], often: often, played)
    }

    /// Describes a fault's effect in the words of the form for requesting faults: "error invalid_grant, delay 2s".
    private static func words(_ effect: JSONValue) -> String {
        (effect.object?.members ?? []).compactMap { name, value in
            let label = SchemaForm.words(name).lowercased()
            // The default isn't worth saying.
            if name == "signature", value.string == "valid" { return nil }
            guard value.bool != true else { return label }
            return "\(label) \(value.object == nil ? value.string ?? value.text : "with \(words(value))")"
        }.joined(separator: ", ")
    }

    private func times(_ times: Int?) -> String { times.map { $0 == 1 ? "once" : "\($0) times" } ?? "for ever" }

    private func client(_ name: String?) -> HTML? {
        name.map { .of("div.soft", "client ", ShownText.code($0, limit: 400)) }
    }

    private func text(_ text: String) -> HTML { .of("bdi.text", .text(ShownText.plain(text, limit: 400))) }
}
