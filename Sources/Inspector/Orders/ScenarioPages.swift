import Control
import EmulatorCore
import HTTPServer
import JSON
import Time

// The page `/_understudy/orders/scenarios`: ready-made situations, to be begun and ended.

extension Inspector {
    /// The state of a scenario in a world.
    private enum State {
        case off
        /// Some of the scenario's orders are still waiting, or the clock is moved.
        case on
        /// All of the scenario's orders have been used.
        case over
    }

    func scenarioList(_ exchange: Exchange) -> Response {
        let states = states(in: exchange.world)
        let running = control.scenarios.filter { states[$0.name] != nil }
        let idle = control.scenarios.filter { states[$0.name] == nil }
        func cards(_ scenarios: [Scenario]) -> HTML {
            .element(
                "div", attributes: [(name: "class", value: "cards")],
                children: scenarios.map { card($0, states[$0.name] ?? .off, exchange) })
        }
        var content = [
            orderTabs(exchange, "orders/scenarios"),
            .tag(
                "p", [],
                "Ready-made situations. Start one, and sign in: its page says what you will see, and what to do about it."
            ),
        ]
        if !running.isEmpty { content += [.tag("h2", [], "Started"), cards(running), .tag("h2", [], "All others")] }
        content.append(cards(idle))
        return page(exchange, .orders, title: "Scenarios", scripts: ["orders"], content)
    }

    func scenarioPage(
        _ exchange: Exchange, _ form: Form = Form(fields: []), status: Int = 200, refusal: CallRefusal? = nil
    ) throws -> Response {
        guard let scenario = control.scenarios.first(where: { $0.name == exchange.parameters["name"] }) else {
            return noScenario(exchange)
        }
        let state = states(in: exchange.world)[scenario.name] ?? .off
        let calls = scenario.calls.enumerated().map { number, call -> HTML in
            .tag(
                "li", [], .tag("code", [], "\(call.method) \(call.target)"),
                call.body.map {
                    .tag(
                        "pre", [("tabindex", "0"), ("aria-label", "Body of call \(number + 1)")],
                        ShownText.source($0.indented())
                    )
                } ?? .group([]))
        }
        let answer = page(
            exchange, .orders, title: scenario.title, status: status, scripts: ["orders"], lead: [badge(state)],
            [
                orderTabs(exchange, "orders/scenarios"), try notice(exchange), refusalNote(refusal),
                .tag(
                    "section", [("class", "card")], .tag("h2", [], "What happens"), prose(scenario.happens),
                    .tag("h2", [], "What a correct client does"), prose(scenario.advice)),
                .tag(
                    "section", [("class", "card")], .tag("h2", [], "Start it"),
                    controls(scenario, state, exchange, form, isOpen: true)),
                sentCall(exchange, "POST", "scenarios/\(scenario.name)", defaults(of: scenario)),
                .tag("h2", [], "Its orders"),
                .element("ol", attributes: [(name: "class", value: "orders-calls")], children: calls),
                .tag("p", [], .link("All scenarios", to: exchange.inspector("orders/scenarios"))),
            ])
        return refused(answer, refusal)
    }

    private func noScenario(_ exchange: Exchange) -> Response {
        let name = exchange.parameters["name"] ?? ""
        return page(
            exchange, .orders, title: "No such scenario", status: 404,
            [
                .tag(
                    "p", [("class", "error")],
                    "There is no scenario \(ShownText.source(Diagnosis.quote(name)))\(Spelling.hint(name, among: control.scenarios.map(\.name)))."
                ), .tag("p", [], .link("All scenarios", to: exchange.inspector("orders/scenarios"))),
            ]
        ).diagnosed(Diagnosis("there is no scenario of that name"))
    }

    // MARK: - Changes

    func playScenario(_ exchange: Exchange, _ form: Form) async throws -> Response {
        let name = exchange.parameters["name"] ?? ""
        guard let scenario = control.scenarios.first(where: { $0.name == name }) else { return noScenario(exchange) }
        var values = JSONObject()
        for parameter in scenario.parameters {
            if let value = form["parameter.\(parameter.name)"] { values[parameter.name] = .string(value) }
        }
        do {
            _ = try await call("POST", "scenarios/\(name)", .object(values), in: exchange)
            return try changed(
                exchange, show: "orders/scenarios/\(name)", saying: "It has begun. Sign in, and see what happens.")
        } catch let error as CallRefusal {
            return try scenarioPage(exchange, form, status: error.status, refusal: error)
        }
    }

    func endScenario(_ exchange: Exchange) async throws -> Response {
        let name = exchange.parameters["name"] ?? ""
        guard control.scenarios.contains(where: { $0.name == name }) else { return noScenario(exchange) }
        do {
            _ = try await call("DELETE", "scenarios/\(name)", in: exchange)
            return try changed(
                exchange, show: "orders/scenarios/\(name)",
                saying: "It has ended: its faults and outcomes are withdrawn, and the clock is back.")
        } catch let error as CallRefusal {
            return try scenarioPage(exchange, status: error.status, refusal: error)
        }
    }

    // MARK: - Parts

    /// Returns the body with which it is started; `nil` for a scenario without parameters.
    private func defaults(of scenario: Scenario) -> JSONValue? {
        guard !scenario.parameters.isEmpty else { return nil }
        return .object(JSONObject(scenario.parameters.map { ($0.name, .string($0.fallback)) }))
    }

    /// Returns a scenario's text, in which names are between backticks.
    private func prose(_ text: String, _ kind: String = "") -> HTML {
        let parts = text.split(separator: "`", omittingEmptySubsequences: false).enumerated().map {
            number, part -> HTML in
            number.isMultiple(of: 2)
                ? .text(ShownText.source(String(part))) : .tag("code", [], ShownText.source(String(part)))
        }
        return .element("p", attributes: [(name: "class", value: kind)], children: parts)
    }

    /// Returns the states of the scenarios that were started and not ended.
    private func states(in world: World) -> [String: State] {
        let orders = world.scenarioOrders
        guard !orders.isEmpty else { return [:] }
        let waiting = world.read { tables in
            Set(
                tables.value(OutcomeQueue.self).queued.map(\.id) + tables.value(FaultQueue.self).queued.map(\.id))
        }
        return orders.mapValues { ordered in
            let isWaiting = (ordered.faults + ordered.outcomes).contains { waiting.contains($0) }
            return isWaiting || ordered.advance != .zero ? .on : .over
        }
    }

    private func badge(_ state: State) -> HTML {
        switch state {
        case .off: .group([])
        case .on: .tag("span", [("class", "badge good")], "on")
        case .over: .tag("span", [("class", "badge")], "all of it has happened")
        }
    }

    private func card(_ scenario: Scenario, _ state: State, _ exchange: Exchange) -> HTML {
        let page = exchange.inspector("orders/scenarios/\(scenario.name)")
        return .tag(
            "section", [("class", "card orders-scenario")],
            .tag("h3", [], .link(scenario.title, to: page), .text(" "), badge(state)),
            prose(scenario.happens, "small"), controls(scenario, state, exchange, Form(fields: []), isOpen: false))
    }

    /// Returns the buttons: Start, with the parameters, and Stop.
    private func controls(_ scenario: Scenario, _ state: State, _ exchange: Exchange, _ form: Form, isOpen: Bool)
        -> HTML
    {
        let fields = scenario.parameters.map { parameter in
            OrderField.line(
                parameter.about, "parameter.\(parameter.name)", form, fallback: parameter.fallback)
        }
        let path = "orders/scenarios/\(scenario.name)"
        let start = self.form(
            to: path, exchange, [],
            [
                fields.isEmpty
                    ? .group([])
                    : .tag(
                        "details", isOpen ? [("open", nil)] : [], .tag("summary", [], "Parameters"),
                        .element("div", attributes: [(name: "class", value: "fields")], children: fields)),
                .tag(
                    "p", [],
                    OrderField.button(
                        state == .off ? "Start" : "Start again", spoken: scenario.title,
                        state == .off && isOpen ? nil : "quiet")),
            ])
        guard state != .off else { return start }
        let end = self.form(
            to: "\(path)/end", exchange, [], [.tag("p", [], OrderField.button("Stop", spoken: scenario.title))])
        return .tag("div", [("class", "orders-controls")], end, start)
    }
}
