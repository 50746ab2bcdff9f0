import HTTPServer
import JOSE
import Stage

// GET, POST and DELETE /_understudy/v1/outcomes

extension ControlAPI {
    private var outcomeBody: Shape {
        .object([
            .required("provider", .choice(providers.map(\.name)), "Whose authorization."),
            .optional("client", .nullable(.text(.nonEmpty)), default: .null, "Which client's; any by default."),
            .optional("account", .nullable(.text(.nonEmpty)), default: .null, "Who signs in."),
            .required("outcome", .choice(["approve", "cancel", "error"]), "What happens."),
            .optional("error", .nullable(.text(.nonEmpty)), default: .null, "The error's name, for \"error\"."),
            .optional("shareEmail", .nullable(.boolean), default: .null, "Share the address or hide it."),
            .optional(
                "name",
                .nullable(
                    .object([
                        .optional("given", .text(.any), default: "", "Given name."),
                        .optional("family", .text(.any), default: "", "Family name."),
                    ])), default: .null, "The name as the person edits it."),
            .optional("scopes", .nullable(.set(of: .text(.nonEmpty))), default: .null, "The scopes that are granted."),
            .optional("times", .integer(1...1_000_000), default: 1, "How many authorizations it holds for."),
        ])
    }

    func outcomes(_ exchange: Exchange) -> Response {
        let queued = exchange.world.withState { $0.outcomes.queued }
        return ControlAnswer.ok(["outcomes": .array(queued.map(\.json))])
    }

    func addOutcome(_ exchange: Exchange) -> Response {
        let body: JSONValue
        do { body = try exchange.body(outcomeBody) } catch { return error.response }
        guard let kind = Outcome.Kind(rawValue: body["outcome"]?.string ?? "") else {
            return ControlAnswer.error(400, "invalidBody", "outcome is missing", path: "$.outcome")
        }
        if kind == .error, body["error"]?.string == nil {
            return ControlAnswer.error(
                400, "invalidBody", "the outcome \"error\" needs the error's name", path: "$.error")
        }
        let name = body["name"]?.object.map { name in
            Account.Name(given: name["given"]?.string ?? "", family: name["family"]?.string ?? "")
        }
        let added = exchange.world.withState { state -> Result<Outcome, ControlRefusal> in
            if let account = body["account"]?.string, state.account(account) == nil {
                let message =
                    "no account \(Diagnosis.quote(account))" + Spelling.hint(account, among: state.accounts.map(\.id))
                return .failure(ControlRefusal(ControlAnswer.error(400, "noSuchAccount", message, path: "$.account")))
            }
            let outcome = Outcome(
                id: state.outcomes.nextID(), provider: body["provider"]?.string ?? "", client: body["client"]?.string,
                account: body["account"]?.string, kind: kind, error: body["error"]?.string,
                shareEmail: body["shareEmail"]?.bool, name: name, scopes: body["scopes"]?.array?.compactMap(\.string),
                times: body["times"]?.integer ?? 1)
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
