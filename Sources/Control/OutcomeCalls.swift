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
        let queued = exchange.world.withState { $0.outcomes.queued }
        return ControlAnswer.ok(["outcomes": .array(queued.map(\.json))])
    }

    func addOutcome(_ exchange: Exchange) -> Response {
        let body: JSONValue
        do { body = try exchange.body(outcomeBody) } catch { return error.response }
        if body["outcome"]?.string == Outcome.Kind.error.rawValue, body["error"]?.string == nil {
            return ControlAnswer.error(
                400, "invalidBody", "the outcome \"error\" needs the error's name", path: "$.error")
        }
        let added = exchange.world.withState { state -> Result<Outcome, ControlRefusal> in
            if let account = body["account"]?.string, state.account(account) == nil {
                let message =
                    "no account \(Diagnosis.quote(account))" + Spelling.hint(account, among: state.accounts.map(\.id))
                return .failure(ControlRefusal(ControlAnswer.error(400, "noSuchAccount", message, path: "$.account")))
            }
            guard let outcome = Outcome(id: state.outcomes.nextID(), body) else {
                return .failure(ControlRefusal(ControlAnswer.error(400, "invalidBody", "outcome is missing")))
            }
            guard state.outcomes.add(outcome) else {
                let message = "\(OutcomeQueue.limit) outcomes are queued: DELETE outcomes first"
                return .failure(ControlRefusal(ControlAnswer.error(409, "tooMany", message)))
            }
            return .success(outcome)
        }
        switch added {
        case .success(let outcome): return ControlAnswer.ok(outcome.json, status: 201)
        case .failure(let refusal): return refusal.response
        }
    }

    func removeOutcomes(_ exchange: Exchange) -> Response {
        exchange.world.withState { $0.outcomes.removeAll() }
        return Response(status: 204)
    }
}
