import HTTPServer
import JSON
import EmulatorCore

// The calls GET, POST and DELETE /_understudy/v1/outcomes; DELETE /_understudy/v1/outcomes/ID

extension ControlAPI {
    var outcomeCalls: [Endpoint] {
        let order = format.outcome
        let ordered = Schema.members(
            "OrderedOutcome",
            [.required("id", .string, "The outcome's ID, to withdraw it.")]
                + order.schema.fields.map { field in
                    field.isRequired || field.name == "times"
                        ? .required(field.name, field.schema, field.about)
                        : .optional(field.name, field.schema, field.about)
                })
        return [
            .control(
                "GET", "outcomes", "Lists the queued outcomes of future sign-ins.",
                answers: [
                    .json(
                        "The outcomes.",
                        .members([
                            .required(
                                "outcomes", .sequence(of: ordered), "The queued outcomes, in order of application.")
                        ]))
                ]
            ) { try outcomes($0) },
            .control(
                "POST", "outcomes", "Sets how a provider's next sign-ins end; no page is shown.",
                reads: .body(order),
                answers: [
                    .json(201, "The outcome is queued.", ordered),
                    .refusal(400, "noSuchAccount", "No account has this ID."),
                    .refusal(409, "tooMany", "Too many or too large outcomes are queued."),
                ]
            ) { try addOutcome($0, $1) },
            .control(
                "DELETE", "outcomes", "Withdraws all outcomes.", reads: .noQuery, answers: [.empty("All are gone.")]
            ) { try removeOutcomes($0) },
            .control(
                "DELETE", "outcomes/:id", "Withdraws an outcome.", path: ["The outcome's ID."],
                answers: [
                    .empty("The outcome is withdrawn."),
                    .refusal(404, "noSuchOutcome", "No queued outcome has this ID."),
                ]
            ) { try removeOutcome($0) },
        ]
    }

    private func outcomes(_ exchange: Exchange) throws -> Response {
        let queued = try exchange.world.update { $0.outcomes.queued }
        return ControlAnswer.ok(["outcomes": .array(queued.map(\.json))])
    }

    private func addOutcome(_ exchange: Exchange, _ order: Outcome) throws -> Response {
        if order.kind == .error, order.error == nil {
            return ControlAnswer.error(
                400, "invalidBody",
                "the outcome \"error\" needs the error's name, such as \"access_denied\", in the member \"error\"",
                path: "$.error")
        }
        if let account = order.account, exchange.world.read({ $0.account(account) }) == nil {
            return ControlAnswer.error(400, "noSuchAccount", exchange.noAccount(account), path: "$.account")
        }
        let issues = catalog.issues(inOutcome: LocatedJSON(order.json, file: ""), exchange.world.seed)
        guard issues.isEmpty else { return ControlAnswer.error(issues) }
        let added = try exchange.world.update { tables -> Outcome in
            let outcome = order.named(tables.outcomes.nextID())
            guard tables.outcomes.add(outcome) else {
                let message =
                    "a test world can have at most \(OutcomeQueue.limit) queued outcomes, with \(OutcomeQueue.sizeLimit) bytes of text altogether: remove some with DELETE outcomes first"
                throw ControlRefusal(ControlAnswer.error(409, "tooMany", message))
            }
            return outcome
        }
        return ControlAnswer.ok(added.json, status: 201)
    }

    private func removeOutcomes(_ exchange: Exchange) throws -> Response {
        try exchange.world.update { $0.outcomes.removeAll() }
        return Response(status: 204)
    }

    private func removeOutcome(_ exchange: Exchange) throws -> Response {
        let id = exchange.parameters["id"] ?? ""
        guard try exchange.world.update({ $0.outcomes.remove(id) }) else {
            return ControlAnswer.error(
                404, "noSuchOutcome",
                "no outcome \(Diagnosis.quote(id)) is queued: it was used up, withdrawn, or never added")
        }
        return Response(status: 204)
    }
}
