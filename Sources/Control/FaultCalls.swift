import HTTPServer
import JSON
import EmulatorCore

// GET and POST /_understudy/v1/faults; DELETE /_understudy/v1/faults and faults/ID
// GET /_understudy/v1/endpoints: what can be ordered at which operation

extension ControlAPI {
    func faults(_ exchange: Exchange) -> Response {
        let queued = exchange.world.update { $0.faults.queued }
        return ControlAnswer.ok(["faults": .array(queued.map(\.json))])
    }

    func addFault(_ exchange: Exchange) -> Response {
        let body: LocatedJSON
        do { body = try exchange.body(Fault.schema) } catch { return error.response }
        let misfits = catalog.issues(in: body)
        guard misfits.isEmpty else { return ControlAnswer.error(misfits) }
        guard let fault = exchange.world.order(Fault(reading: body.value)) else {
            return ControlAnswer.error(
                409, "tooMany",
                "at most \(FaultQueue.limit) faults can be ordered, with \(FaultQueue.bodyLimit) bytes of bodies: DELETE faults first"
            )
        }
        return ControlAnswer.ok(fault.json, status: 201)
    }

    func removeFaults(_ exchange: Exchange) -> Response {
        exchange.world.update { $0.faults.removeAll() }
        return Response(status: 204)
    }

    func removeFault(_ exchange: Exchange) -> Response {
        let id = exchange.parameters["id"] ?? ""
        guard exchange.world.update({ $0.faults.remove(id) }) else {
            return ControlAnswer.error(404, "noSuchFault", "no fault \(Diagnosis.quote(id)) is ordered, or it is spent")
        }
        return Response(status: 204)
    }

    /// Every operation at which something can be ordered: the effects that fit it, and its errors.
    func endpoints(_ exchange: Exchange) -> Response {
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
