import HTTPServer
import JSON
import EmulatorCore

// The calls GET /_understudy/v1/scenarios; GET, POST and DELETE /_understudy/v1/scenarios/NAME

extension ControlAPI {
    var scenarioCalls: [Endpoint] {
        let gone = CallAnswer.refusal(404, "noSuchScenario", "No scenario has this name.")
        let path = ["The scenario's name."]
        return [
            .control(
                "GET", "scenarios", "Lists the ready-made situations.",
                answers: [
                    .json(
                        "The scenarios.",
                        .members([
                            .required(
                                "scenarios",
                                .sequence(
                                    of: .members([
                                        .required("name", .string, "The scenario's name."),
                                        .required("title", .string, "The scenario's title."),
                                        .required("happens", .string, "The client app's situation."),
                                        .required("played", .boolean, "Whether the scenario is active."),
                                    ])), "The list.")
                        ]))
                ]
            ) { listScenarios($0) },
            .control(
                "GET", "scenarios/:name", "Shows a scenario and what it sets up; as a page if HTML is accepted.",
                path: path,
                answers: [
                    .json("The scenario.", Scenario.schema), .other("The scenario's page.", "text/html; charset=utf-8"),
                    gone,
                ]
            ) { scenario($0) },
            .control(
                "POST", "scenarios/:name",
                "Starts a scenario. The body may set its parameters, which are strings.", path: path,
                reads: .unread(.map(of: .string)),
                answers: [
                    .json(
                        "The scenario has begun.",
                        .members([
                            .required("scenario", .string, "The scenario's name."),
                            .required("title", .string, "The scenario's title."),
                            .required("happens", .string, "The client app's situation."),
                            .required("advice", .string, "What a correct client does."),
                        ])), gone, .refusal(409, "orderRefused", "This world refuses a step of the scenario."),
                ]
            ) { try await playScenario($0) },
            .control(
                "DELETE", "scenarios/:name",
                "Ends a scenario: undoes its faults, outcomes and clock change. Its other changes stay.",
                path: path,
                answers: [
                    .json(
                        "The scenario has ended.",
                        .members([
                            .required("scenario", .string, "The scenario's name."),
                            .required("withdrawn", .boolean, "Whether anything was undone."),
                        ])), gone,
                ]
            ) { try await withdrawScenario($0) },
        ]
    }

    private func listScenarios(_ exchange: Exchange) -> Response {
        let orders = exchange.world.scenarioOrders
        let all = scenarios.map { scenario -> JSONValue in
            [
                "name": .string(scenario.name), "title": .string(scenario.title), "happens": .string(scenario.happens),
                "played": .bool(orders[scenario.name] != nil),
            ]
        }
        return ControlAnswer.ok(["scenarios": .array(all)])
    }

    /// Answers a request for a scenario with its JSON, or with a page if a browser asks.
    private func scenario(_ exchange: Exchange) -> Response {
        guard let scenario = find(exchange) else { return noSuchScenario(exchange) }
        guard exchange.request.header("Accept")?.contains("text/html") ?? false else {
            var document = JSONObject([("name", .string(scenario.name))])
            for (key, value) in scenario.document.object?.members ?? [] { document[key] = value }
            return ControlAnswer.ok(.object(document))
        }
        return page(scenario, exchange)
    }

    /// Starts a scenario (a ready-made test situation). The request's body may set the scenario's parameters.
    private func playScenario(_ exchange: Exchange) async throws -> Response {
        guard let scenario = find(exchange) else { return noSuchScenario(exchange) }
        let values: JSONObject
        do {
            let body = exchange.request.body
            let value: JSONValue = body.isEmpty ? [:] : try JSONValue(parsing: body, limits: .control)
            guard let object = value.object else {
                return ControlAnswer.error(400, "invalidBody", "expected a JSON object of parameters", path: "$")
            }
            values = object
        } catch {
            return ControlAnswer.error(400, "notJSON", "the body can't be read as JSON: \(error)", path: "$")
        }
        do {
            try await exchange.play(scenario, with: values)
        } catch let error as Scenario.Failure {
            return ControlAnswer.error(
                error.response == nil ? 400 : 409, error.response == nil ? "invalidBody" : "orderRefused",
                error.description)
        }
        return ControlAnswer.ok([
            "scenario": .string(scenario.name), "title": .string(scenario.title), "happens": .string(scenario.happens),
            "advice": .string(scenario.advice),
        ])
    }

    /// Ends a scenario: withdraws the faults and sign-in results that the scenario has requested, and moves the clock
    /// back. Its other changes stay.
    private func withdrawScenario(_ exchange: Exchange) async throws -> Response {
        guard let scenario = find(exchange) else { return noSuchScenario(exchange) }
        return ControlAnswer.ok([
            "scenario": .string(scenario.name), "withdrawn": .bool(try await scenario.end(in: exchange.world)),
        ])
    }

    private func find(_ exchange: Exchange) -> Scenario? {
        scenarios.first { $0.name == exchange.parameters["name"] }
    }

    private func noSuchScenario(_ exchange: Exchange) -> Response {
        let name = exchange.parameters["name"] ?? ""
        let hint = Spelling.hint(name, among: scenarios.map(\.name))
        return ControlAnswer.error(404, "noSuchScenario", "no scenario \(Diagnosis.quote(name))\(hint)")
    }

    private func page(_ scenario: Scenario, _ exchange: Exchange) -> Response {
        var content: [HTML] = [
            .tag("h1", [("class", "wide")], scenario.title), .tag("h2", [], "What happens"),
            .tag("p", [], scenario.happens), .tag("h2", [], "What a correct client does"),
            .tag("p", [], scenario.advice), .tag("h2", [], "Start it"),
            .tag(
                "pre", [],
                "curl -X POST \(exchange.address.ownBase)\(ControlAPI.root)/scenarios/\(scenario.name)"),
        ]
        if !scenario.parameters.isEmpty {
            content.append(.tag("p", [], "The body may be a JSON object with these members:"))
            content.append(
                .element(
                    "table", attributes: [],
                    children: scenario.parameters.map { parameter in
                        .tag(
                            "tr", [], .tag("td", [], .tag("code", [], parameter.name)),
                            .tag("td", [], parameter.about), .tag("td", [], .tag("code", [], parameter.fallback)))
                    }))
        }
        content.append(.tag("h2", [], "Its orders"))
        for call in scenario.calls {
            content.append(.tag("p", [], .tag("code", [], "\(call.method) \(call.target)")))
            if let body = call.body { content.append(.tag("pre", [], body.indented())) }
        }
        return Page.response(
            title: scenario.title, banner: "Understudy: a stand-in identity provider, for tests only", content)
    }
}
