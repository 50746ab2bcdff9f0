import EmulatorCore
import HTTPServer
import JSON

// The page `/_understudy/orders`: outcomes and faults that are waiting.

extension Inspector {
    func waitingOrders(_ exchange: Exchange, status: Int = 200, refusal: CallRefusal? = nil) throws -> Response {
        // The queues are short: a world has at most a thousand of each.
        let (outcomes, faults) = exchange.world.read {
            ($0.value(OutcomeQueue.self).queued, $0.value(FaultQueue.self).queued)
        }
        let origins = origins(in: exchange.world)
        var waiting: [HTML] = []
        waiting.append(playedScenarios(exchange))
        if outcomes.isEmpty && faults.isEmpty {
            waiting.append(nothingWaits(exchange))
        } else {
            waiting.append(waitingTable(exchange, outcomes, faults, origins))
            waiting.append(
                form(
                    to: "orders/withdraw-all", exchange, [],
                    [.tag("p", [], OrderField.button("Withdraw all", "danger"))]))
        }
        let answer = page(
            exchange, .orders, title: "Orders", status: status, scripts: ["orders", "follow"],
            lead: [
                .tag(
                    "span", [("class", "badge"), ("id", "waiting-count"), ("data-follow", nil)],
                    "\(outcomes.count + faults.count) waiting")
            ],
            [
                orderTabs(exchange, "orders"), try notice(exchange), refusalNote(refusal),
                .element(
                    "div", attributes: [(name: "id", value: "waiting"), (name: "data-follow", value: nil)],
                    children: waiting),
            ])
        return refused(answer, refusal)
    }

    /// Lists the scenarios that are on, whether they wait for a request or have changed the clock or people.
    private func playedScenarios(_ exchange: Exchange) -> HTML {
        let played = control.scenarios.filter { exchange.world.scenarioOrders[$0.name] != nil }
        guard !played.isEmpty else { return .group([]) }
        let links = played.map { scenario in
            HTML.tag(
                "li", [], .link(scenario.title, to: exchange.inspector("orders/scenarios/\(scenario.name)")))
        }
        return .tag(
            "section", [("class", "card")], .tag("h2", [], "Scenarios that are on"),
            .element("ul", attributes: [], children: links))
    }

    private func nothingWaits(_ exchange: Exchange) -> HTML {
        .tag(
            "div", [("class", "empty")], .tag("p", [], "No outcome and no fault waits for a request."),
            .tag(
                "p", [], .link("Order how the next sign-in ends", to: exchange.inspector("orders/sign-in")),
                .text(", "), .link("that something goes wrong", to: exchange.inspector("orders/fault")), .text(", or "),
                .link("start a scenario", to: exchange.inspector("orders/scenarios")), .text(".")))
    }

    /// Returns the scenarios that made the orders, by the IDs of faults and outcomes.
    private func origins(in world: World) -> [String: Scenario] {
        let orders = world.scenarioOrders
        var origins: [String: Scenario] = [:]
        for scenario in control.scenarios {
            guard let ordered = orders[scenario.name] else { continue }
            for id in ordered.faults + ordered.outcomes { origins[id] = scenario }
        }
        return origins
    }

    /// The number of rows that are shown. All can be withdrawn at once.
    private static let shownOrders = 200

    private func waitingTable(
        _ exchange: Exchange, _ outcomes: [Outcome], _ faults: [Fault], _ origins: [String: Scenario]
    ) -> HTML {
        let rows =
            outcomes.prefix(Inspector.shownOrders).map { outcomeRow(exchange, $0, origins[$0.id]) }
            + faults.prefix(Inspector.shownOrders).map { faultRow(exchange, $0, origins[$0.id]) }
        let heads = ["What", "Where", "How often", "Ordered by", ""].map { name -> HTML in
            .tag("th", [("scope", "col")], name.isEmpty ? "Withdraw" : name)
        }
        let left = outcomes.count + faults.count - rows.count
        return .group([
            .tag(
                "table", [("class", "stack")], .tag("caption", [("class", "spoken")], "Orders that are waiting"),
                .tag("thead", [], .element("tr", attributes: [], children: heads)),
                .element("tbody", attributes: [], children: rows)),
            left > 0 ? .tag("p", [("class", "soft")], "And \(left) more.") : .group([]),
        ])
    }

    private func row(
        _ exchange: Exchange, kind: String, id: String, what: [HTML], place: [HTML], often: String, _ origin: Scenario?
    ) -> HTML {
        let by: HTML =
            origin.map { .link($0.title, to: exchange.inspector("orders/scenarios/\($0.name)")) }
            ?? .tag("span", [("class", "soft")], id.hasPrefix("seed-") ? "the seed" : "a call or this page")
        return .tag(
            "tr", [("id", id)],
            .tag("td", [("data-label", "What")], .group(what), .text(" "), .tag("code", [("class", "soft")], id)),
            .tag("td", [("data-label", "Where")], .group(place)), .tag("td", [("data-label", "How often")], often),
            .tag("td", [("data-label", "Ordered by")], by),
            .tag(
                "td", [],
                form(
                    to: "orders/withdraw", exchange, [("class", "inline")],
                    [
                        .hidden("kind", kind), .hidden("id", id),
                        OrderField.button("Withdraw", spoken: id, "quiet small"),
                    ])))
    }

    private func outcomeRow(_ exchange: Exchange, _ outcome: Outcome, _ origin: Scenario?) -> HTML {
        let who = outcome.account ?? "the person"
        let what: HTML =
            switch outcome.kind {
            case .approve: .group([badge("sign-in", "good"), .text(" "), text(who), .text(" signs in")])
            case .cancel: .group([badge("cancel", "warn"), .text(" "), text(who), .text(" cancels")])
            case .error:
                .group([badge("error", "bad"), .text(" "), .tag("code", [], Inspector.shortened(outcome.error ?? ""))])
            }
        var details: [String] = []
        if let shares = outcome.shareEmail { details.append(shares ? "shares the address" : "hides the address") }
        if let name = outcome.name { details.append("as \(name.given) \(name.family)") }
        if let scopes = outcome.scopes { details.append("grants \(scopes.joined(separator: " "))") }
        let more: HTML =
            details.isEmpty
            ? .group([]) : .tag("div", [("class", "soft text")], Inspector.shortened(details.joined(separator: "; ")))
        let owner = provider(outcome.provider).map { title($0) } ?? outcome.provider
        return row(
            exchange, kind: "outcome", id: outcome.id, what: [what, more],
            place: [.text("the next sign-in with \(owner)"), client(outcome.client)],
            often: OrderWords.times(outcome.times), origin)
    }

    private func faultRow(_ exchange: Exchange, _ fault: Fault, _ origin: Scenario?) -> HTML {
        let match = fault.match
        let entry = control.catalog.entries.first { entry in
            entry.path == match.path && entry.host == match.host && entry.method == match.method
        }
        let envelope = [match.from.map { "from \($0)" }, match.to.map { "to \($0)" }].compactMap { $0 }
        let name =
            match.smtp == nil
            ? [match.method, (match.host ?? "") + (match.path ?? "")].compactMap { $0 }.joined(separator: " ")
            : envelope.joined(separator: ", ")
        let owner = entry.flatMap { provider($0.provider) }.map { title($0) }
        let place =
            match.smtp.map { "mail at \($0.rawValue) of SMTP" }
            ?? entry?.title.map { "\(owner ?? ""): \($0)" } ?? (name.isEmpty ? "every request" : "")
        var often = OrderWords.times(fault.times.map { $0 - fault.done })
        if fault.after > fault.seen { often += ", after \(fault.after - fault.seen) more" }
        if fault.probability < 1 { often += ", with probability \(fault.probability)" }
        if fault.seen > 0 { often += " (seen \(fault.seen) so far)" }
        let fields = match.fields.map { "\($0.name)=\($0.value)" }.joined(separator: ", ")
        return row(
            exchange, kind: "fault", id: fault.id,
            what: [badge("fault", "warn"), .text(" "), text(OrderWords.effect(fault.effect))],
            place: [
                .text(place), name.isEmpty ? .group([]) : .tag("div", [], .tag("code", [], Inspector.shortened(name))),
                client(match.client),
                fields.isEmpty
                    ? .group([]) : .tag("div", [("class", "soft")], .tag("code", [], Inspector.shortened(fields))),
                match.tokensOf.map { .tag("div", [("class", "soft text")], "tokens of \(Inspector.shortened($0))") }
                    ?? .group([]),
            ], often: often, origin)
    }

    private func client(_ name: String?) -> HTML {
        guard let name else { return .group([]) }
        return .tag("div", [("class", "soft")], .text("client "), .tag("code", [], Inspector.shortened(name)))
    }

    /// Shortens fields and patterns, which may be long.
    private static func shortened(_ text: String) -> String { ShownText.plain(text, limit: 400) }

    private func badge(_ text: String, _ kind: String) -> HTML { .tag("span", [("class", "badge \(kind)")], text) }

    private func text(_ text: String) -> HTML { .tag("bdi", [("class", "text")], Inspector.shortened(text)) }

    // MARK: - Changes

    func withdraw(_ exchange: Exchange, _ form: Form) async throws -> Response {
        let kind = form["kind"] == "outcome" ? "outcomes" : "faults"
        do {
            let id = PercentCoding.encode(Array((form["id"] ?? "").utf8))
            _ = try await call("DELETE", "\(kind)/\(id)", in: exchange)
            return try changed(exchange, show: "orders", saying: "\(form["id"] ?? "") was withdrawn.")
        } catch let error as CallRefusal {
            return try waitingOrders(exchange, status: error.status, refusal: error)
        }
    }

    func withdrawAll(_ exchange: Exchange) async throws -> Response {
        do {
            _ = try await call("DELETE", "outcomes", in: exchange)
            _ = try await call("DELETE", "faults", in: exchange)
            return try changed(exchange, show: "orders", saying: "Everything was withdrawn.")
        } catch let error as CallRefusal {
            return try waitingOrders(exchange, status: error.status, refusal: error)
        }
    }
}

extension Inspector {
    /// The pages of orders: `/_understudy/orders` and below.
    var orderEndpoints: [Endpoint] {
        [
            page("GET", "orders") { try waitingOrders($0) },
            form("orders/withdraw") { try await withdraw($0, $1) },
            form("orders/withdraw-all") { exchange, _ in try await withdrawAll(exchange) },
            page("GET", "orders/people") { foundPeople($0) },
            page("GET", "orders/fault") { faultPage($0, $0.request.queryForm) },
            form("orders/fault") { try await orderFault($0, $1) },
            page("GET", "orders/sign-in") { signInPage($0, $0.request.queryForm) },
            form("orders/sign-in") { try await orderSignIn($0, $1) },
            page("GET", "orders/tokens") { tokenPage($0, $0.request.queryForm) },
            form("orders/tokens") { await makeToken($0, $1) },
            page("GET", "orders/scenarios") { scenarioList($0) },
            page("GET", "orders/scenarios/:name") { try scenarioPage($0) },
            form("orders/scenarios/:name") { try await playScenario($0, $1) },
            form("orders/scenarios/:name/end") { exchange, _ in try await endScenario(exchange) },
        ]
    }

    func orderTabs(_ exchange: Exchange, _ current: String) -> HTML {
        tabs(
            exchange, "Orders",
            [
                ("orders", "Waiting"), ("orders/sign-in", "Next sign-in"), ("orders/fault", "Something goes wrong"),
                ("orders/scenarios", "Scenarios"), ("orders/tokens", "Mint a token"),
            ], current: current)
    }
}
