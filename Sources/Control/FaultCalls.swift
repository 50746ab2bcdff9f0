import HTTPServer
import JSON
import EmulatorCore

// The calls GET and POST /_understudy/v1/faults; DELETE /_understudy/v1/faults and faults/ID;
// GET /_understudy/v1/endpoints, which lists the faults that can be ordered at each endpoint

extension ControlAPI {
    var faultCalls: [Endpoint] {
        let gone = CallAnswer.refusal(404, "noSuchFault", "No active fault has this ID.")
        return [
            .control(
                "GET", "faults", "Lists the injected faults that are still active.",
                answers: [
                    .json(
                        "The faults.",
                        .members([
                            .required(
                                "faults", .sequence(of: ControlAPI.faultSchema),
                                "The active faults, in order of application.")
                        ]))
                ]
            ) { try faults($0) },
            .control(
                "POST", "faults",
                "Injects a fault: which requests fail, how often, and how. GET endpoints lists the possible faults.",
                reads: .json(Fault.schema),
                answers: [
                    .json(201, "The fault is active.", ControlAPI.faultSchema),
                    .refusal(409, "tooMany", "The faults are too many, or too big."),
                ]
            ) { try addFault($0, $1) },
            .control(
                "DELETE", "faults", "Withdraws all faults.", reads: .noQuery, answers: [.empty("All are gone.")]
            ) { try removeFaults($0) },
            .control(
                "DELETE", "faults/:id", "Withdraws a fault.", path: ["The fault's ID."],
                answers: [.empty("The fault is withdrawn."), gone]
            ) { try removeFault($0) },
            .control(
                "GET", "endpoints", "Lists all endpoints at which faults can be injected.",
                answers: [
                    .json(
                        "HTTP endpoints and SMTP steps.",
                        .members([.required("endpoints", .sequence(of: ControlAPI.endpointSchema), "The list.")]))
                ]
            ) { exchange in try await exchange.onWorkThread { endpoints(exchange) } },
        ]
    }

    private static let faultSchema = Schema.members(
        "OrderedFault",
        [.required("id", .string, "The fault's ID, to withdraw the fault.")]
            + Fault.schema.fields.map { .required($0.name, $0.schema, $0.about) }
            + [
                .required("seen", .count, "How many requests matched the fault."),
                .required("done", .count, "How many requests the fault was applied to."),
            ])

    private static let endpointSchema = Schema.members(
        "Endpoint",
        [
            .optional("host", .string, "The provider's host; if absent, the daemon's own address."),
            .optional("method", .string, "The HTTP method; absent for SMTP."),
            .optional("path", .string, "The path, with \"*\" in place of parameters."),
            .optional("smtp", .choice(SMTPStep.allCases.map(\.rawValue)), "The step of SMTP."),
            .required("fits", .string, "The faults' possible effects."),
            .optional("errors", .strings(), "The names of the endpoint's errors."),
        ])

    private func faults(_ exchange: Exchange) throws -> Response {
        let queued = try exchange.world.update { $0.faults.queued }
        return ControlAnswer.ok(["faults": .array(queued.map(\.json))])
    }

    private func addFault(_ exchange: Exchange, _ body: LocatedJSON) throws -> Response {
        let misfits = catalog.issues(in: body, exchange.world.seed)
        guard misfits.isEmpty else { return ControlAnswer.error(misfits) }
        guard let fault = try exchange.world.order(Fault(reading: body.value)) else {
            return ControlAnswer.error(
                409, "tooMany",
                "a test world can have at most \(FaultQueue.limit) active faults, with \(FaultQueue.sizeLimit) bytes of JSON altogether: remove some with DELETE faults first"
            )
        }
        return ControlAnswer.ok(fault.json, status: 201)
    }

    private func removeFaults(_ exchange: Exchange) throws -> Response {
        try exchange.world.update { $0.faults.removeAll() }
        return Response(status: 204)
    }

    private func removeFault(_ exchange: Exchange) throws -> Response {
        let id = exchange.parameters["id"] ?? ""
        guard try exchange.world.update({ $0.faults.remove(id) }) else {
            return ControlAnswer.error(
                404, "noSuchFault",
                "no fault \(Diagnosis.quote(id)) is active: it was used up, withdrawn, or never injected")
        }
        return Response(status: 204)
    }

    /// Lists the providers' endpoints and the steps of SMTP at which a test can cause faults, each with the effects
    /// that it supports. An endpoint also has its errors.
    private func endpoints(_ exchange: Exchange) -> Response {
        let entries = catalog.entries.map { entry -> JSONValue in
            var object = JSONObject()
            object["host"] = entry.host.map { .string($0) }
            object["method"] = .string(entry.method)
            object["path"] = .string(entry.path)
            object["fits"] = .string(entry.traits.fitting)
            object["errors"] = entry.traits.errors.map { .array($0.names.map { .string($0) }) }
            return .object(object)
        }
        let mail = SMTPStep.allCases.map { step -> JSONValue in
            ["smtp": .string(step.rawValue), "fits": .string(step.fitting)]
        }
        return ControlAnswer.ok(["endpoints": .array(entries + mail)])
    }
}
