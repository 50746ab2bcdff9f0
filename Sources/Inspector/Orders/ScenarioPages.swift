import Control
import EmulatorCore
import HTTPServer
import JSON
import Time

// The page `/_understudy/orders/scenarios`: ready-made situations, to be begun and ended.

extension Inspector {
    /// The state of a scenario (a ready-made test situation) in a test world.
    private enum State {
        case off
        /// The scenario is active: some of the faults or sign-in results that it requested are still waiting, or it has
        /// moved the clock.
        case on
        /// The scenario is over: all of the faults and sign-in results that it requested have been used or withdrawn,
        /// and it hasn't moved the clock.
        case over

        var badge: HTML? {
            switch self {
            case .off: nil
            case .on: .badge("on", "good")
            case .over: .badge("all steps have happened")
            }
        }
    }

    func scenarioList(_ exchange: Exchange) -> Response {
        let states = states(in: exchange.world)
        func cards(_ scenarios: [Scenario]) -> HTML {
            .of("div.cards", .group(scenarios.map { card($0, states[$0.name] ?? .off, exchange) }))
        }
        let running = control.scenarios.filter { states[$0.name] != nil }
        return page(
            exchange, .orders, title: "Scenarios", scripts: ["orders"],
            about:
                "Ready-made situations. Start a scenario, and sign in: the scenario's page says what you will see, and what to do about it.",
            [
                running.isEmpty
                    ? nil : .group([.of("h2", "Started"), cards(running), .of("h2", "All others")]),
                cards(control.scenarios.filter { states[$0.name] == nil }),
            ])
    }

    func scenarioPage(
        _ exchange: Exchange, _ form: Form = Form(fields: []), refusal: CallRefusal? = nil
    ) throws -> Response {
        guard let scenario = scenario(exchange) else { return noScenario(exchange) }
        let state = states(in: exchange.world)[scenario.name] ?? .off
        let calls = scenario.calls.enumerated().map { number, call in
            HTML.group([
                .of("code", "\(call.method) \(call.target)"),
                call.body.map { .source($0.indented(), label: "Body of call \(number + 1)") } ?? "",
            ])
        }
        let values = JSONObject(scenario.parameters.map { ($0.name, .string($0.fallback)) })
        return try page(
            exchange, .orders, title: scenario.title, refusal: refusal, scripts: ["orders"], lead: [state.badge],
            [
                .card(
                    "What happens", .of("p", .prose(scenario.happens)), .of("h2", "What a correct client does"),
                    .of("p", .prose(scenario.advice))),
                .card("Start it", controls(scenario, state, exchange, form, isOpen: true)),
                sentCall(exchange, "POST", "scenarios/\(scenario.name)", values.isEmpty ? nil : .object(values)),
                .of("h2", "Its orders"), .list("ol.orders-calls", calls),
                .of("p", exchange.link("orders/scenarios", "All scenarios")),
            ])
    }

    /// Returns the scenario that the path of the requested page names; `nil` if there is none.
    private func scenario(_ exchange: Exchange) -> Scenario? {
        control.scenarios.first { $0.name == exchange.parameters["name"] }
    }

    private func noScenario(_ exchange: Exchange) -> Response {
        let name = exchange.parameters["name"] ?? ""
        return missing(
            exchange, .orders, "No such scenario",
            "There is no scenario \(Diagnosis.quote(name))\(Spelling.hint(name, among: control.scenarios.map(\.name))).",
            to: "orders/scenarios", "All scenarios")
    }

    // MARK: - Changes

    func playScenario(_ exchange: Exchange, _ form: Form) async throws -> Response {
        guard let scenario = scenario(exchange) else { return noScenario(exchange) }
        let values = scenario.parameters.compactMap { parameter in
            form["parameter.\(parameter.name)"].map { (parameter.name, JSONValue.string($0)) }
        }
        return try await trying {
            _ = try await call("POST", "scenarios/\(scenario.name)", .object(JSONObject(values)), in: exchange)
            return try changed(
                exchange, show: "orders/scenarios/\(scenario.name)",
                saying: "The scenario has begun. Sign in, and see what happens.")
        } refused: {
            try scenarioPage(exchange, form, refusal: $0)
        }
    }

    func endScenario(_ exchange: Exchange) async throws -> Response {
        guard let scenario = scenario(exchange) else { return noScenario(exchange) }
        return try await trying {
            _ = try await call("DELETE", "scenarios/\(scenario.name)", in: exchange)
            return try changed(
                exchange, show: "orders/scenarios/\(scenario.name)",
                saying: "The scenario has ended: its faults, outcomes and change of the clock are undone.")
        } refused: {
            try scenarioPage(exchange, refusal: $0)
        }
    }

    // MARK: - Parts

    /// Returns the states of the scenarios that were started in a test world and not stopped, by the scenarios' names.
    private func states(in world: World) -> [String: State] {
        let orders = world.scenarioOrders
        guard !orders.isEmpty else { return [:] }
        let waiting = world.read { tables in
            Set(tables.value(OutcomeQueue.self).queued.map(\.id) + tables.value(FaultQueue.self).queued.map(\.id))
        }
        return orders.mapValues { ordered in
            let isWaiting = (ordered.faults + ordered.outcomes).contains { waiting.contains($0) }
            return isWaiting || ordered.advance != .zero ? .on : .over
        }
    }

    private func card(_ scenario: Scenario, _ state: State, _ exchange: Exchange) -> HTML {
        .of(
            "section.card.orders-scenario",
            .of("h3", exchange.link("orders/scenarios/\(scenario.name)", .text(scenario.title)), " ", state.badge),
            .of("p.small", .prose(scenario.happens)),
            controls(scenario, state, exchange, Form(fields: []), isOpen: false))
    }

    /// Returns the buttons that start and stop a scenario, with fields for its parameters.
    private func controls(
        _ scenario: Scenario, _ state: State, _ exchange: Exchange, _ form: Form, isOpen: Bool
    ) -> HTML {
        let path = "orders/scenarios/\(scenario.name)"
        let fields = scenario.parameters.map { parameter in
            let name = "parameter.\(parameter.name)"
            return HTML.field(parameter.about, .input(name, form[name] ?? parameter.fallback))
        }
        let start = self.form(
            to: path, exchange, [:],
            fields.isEmpty
                ? nil
                : .of(
                    "details", ["open": isOpen], .of("summary", "Parameters"), .of("div.fields", .group(fields))),
            .of(
                "p",
                .button(
                    state == .off ? "Start" : "Start again", spoken: scenario.title,
                    state == .off && isOpen ? "" : "quiet")))
        guard state != .off else { return start }
        let end = self.form(to: "\(path)/end", exchange, [:], .of("p", .button("Stop", spoken: scenario.title)))
        return .of("div.orders-controls", end, start)
    }
}
