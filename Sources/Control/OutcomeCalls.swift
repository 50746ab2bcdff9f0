import HTTPServer
import JSON
import EmulatorCore

// GET, POST and DELETE /_understudy/v1/outcomes

extension ControlAPI {
    /// Firebase asks the providers; nobody authorizes anything at Firebase itself.
    private var outcomeBody: Shape {
        Outcome.shape(providers: providers.map(\.name).filter { $0 != "firebase" })
    }

    func outcomes(_ exchange: Exchange) -> Response {
        let queued = exchange.world.update { $0.outcomes.queued }
        return ControlAnswer.ok(["outcomes": .array(queued.map(\.json))])
    }

    func addOutcome(_ exchange: Exchange) -> Response {
        let body: JSONValue
        do { body = try exchange.body(outcomeBody) } catch { return error.response }
        if body["outcome"]?.string == Outcome.Kind.error.rawValue, body["error"]?.string == nil {
            return ControlAnswer.error(
                400, "invalidBody", "the outcome \"error\" needs the error's name", path: "$.error")
        }
        if let account = body["account"]?.string, exchange.world.read({ $0.account(account) }) == nil {
            return ControlAnswer.error(400, "noSuchAccount", exchange.noAccount(account), path: "$.account")
        }
        do {
            let added = try exchange.world.update { (tables) throws(ControlRefusal) -> Outcome in
                guard let outcome = Outcome(id: tables.outcomes.nextID(), body) else {
                    throw ControlRefusal(ControlAnswer.error(400, "invalidBody", "outcome is missing"))
                }
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
}
