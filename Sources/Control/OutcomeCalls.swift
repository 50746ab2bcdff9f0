import HTTPServer
import JSON
import EmulatorCore

// GET, POST and DELETE /_understudy/v1/outcomes; DELETE /_understudy/v1/outcomes/ID

extension ControlAPI {
    func outcomes(_ exchange: Exchange) -> Response {
        let queued = exchange.world.update { $0.outcomes.queued }
        return ControlAnswer.ok(["outcomes": .array(queued.map(\.json))])
    }

    func addOutcome(_ exchange: Exchange) -> Response {
        let order: Outcome
        do { order = try exchange.body(exchange.world.seed.format.outcome) } catch { return error.response }
        if order.kind == .error, order.error == nil {
            return ControlAnswer.error(
                400, "invalidBody", "the outcome \"error\" needs the error's name", path: "$.error")
        }
        if let account = order.account, exchange.world.read({ $0.account(account) }) == nil {
            return ControlAnswer.error(400, "noSuchAccount", exchange.noAccount(account), path: "$.account")
        }
        do {
            let added = try exchange.world.update { (tables) throws(ControlRefusal) -> Outcome in
                let outcome = order.named(tables.outcomes.nextID())
                guard tables.outcomes.add(outcome) else {
                    let message = "\(OutcomeQueue.limit) outcomes are queued: DELETE outcomes first"
                    throw ControlRefusal(ControlAnswer.error(409, "tooMany", message))
                }
                return outcome
            }
            return ControlAnswer.ok(added.json, status: 201)
        } catch { return error.response }
    }

    func removeOutcomes(_ exchange: Exchange) -> Response {
        exchange.world.update { $0.outcomes.removeAll() }
        return Response(status: 204)
    }

    func removeOutcome(_ exchange: Exchange) -> Response {
        let id = exchange.parameters["id"] ?? ""
        guard exchange.world.update({ $0.outcomes.remove(id) }) else {
            return ControlAnswer.error(
                404, "noSuchOutcome", "no outcome \(Diagnosis.quote(id)) is ordered, or it is spent")
        }
        return Response(status: 204)
    }
}
