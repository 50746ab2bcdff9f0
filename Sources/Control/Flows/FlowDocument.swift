import EmulatorCore
import JSON

/// A sign-in as JSON. With `--mask-secrets`, its secrets are masked.
struct FlowDocument {
    let flow: Flow
    let reader: FlowReader

    private static let textLimit = 2_000

    var json: JSONValue {
        var object = JSONObject([
            ("id", .string(flow.id)), ("name", .string(flow.name)), ("ending", .string(flow.ending.rawValue)),
        ])
        object["diagnosis"] = flow.failure.map { .string(short(reader.reason($0))) }
        object["stoppedBy"] = flow.failure.map { .string($0.exchange.id) }
        object["hint"] = flow.hint.map { .string($0) }
        object["providers"] = .array(flow.providerNames.map { .string($0) })
        object["client"] = flow.client.map { .string(short($0)) }
        object["person"] = reader.person(of: flow).map(person)
        object["time"] = flow.steps.first.map { .string($0.exchange.time.text) }
        object["durationMilliseconds"] = .number(Double(flow.duration) / 1000)
        object["waitingMilliseconds"] = .number(Double(flow.waiting) / 1000)
        object["steps"] = .array(flow.steps.map(step))
        let remarks = reader.advice(on: flow.steps.map(\.known))
        if !remarks.isEmpty {
            object["remarks"] = .array(
                remarks.map { remark in
                    [
                        "text": .string(short(remark.text)), "request": .string(remark.exchange),
                        "problem": .bool(remark.weight == .problem),
                    ]
                })
        }
        return .object(object)
    }

    private func person(_ person: FlowReader.Person) -> JSONValue {
        switch person {
        case .account(let account):
            var object = JSONObject([("account", .string(account.id))])
            object["name"] = account.fullName.isEmpty ? nil : .string(account.fullName)
            object["email"] = .string(account.email)
            return .object(object)
        case .text(let text): return [text.contains("@") ? "email" : "name": .string(short(text))]
        }
    }

    private func step(_ step: FlowStep) -> JSONValue {
        let exchange = step.exchange
        let document = ExchangeDocument(step.known, masksSecrets: reader.control.masksSecrets)
        var object = JSONObject([("id", .string(exchange.id))])
        object["parent"] = exchange.parent.map { .string($0) }
        object["time"] = .string(exchange.time.text)
        object["durationMilliseconds"] = .number(Double(exchange.duration) / 1000)
        object["from"] = .string(step.sender.name)
        object["to"] = .string(step.receiver.name)
        object["does"] = .string(short(document.shown(step.step.label)))
        object["method"] = .string(exchange.request.method)
        object["host"] = exchange.host.map { .string($0) }
        object["path"] = .string(short(document.shown(encoded: exchange.path)))
        object["status"] = .integer(Int64(exchange.response.status))
        object["answer"] = .string(document.shown(step.answer))
        object["diagnosis"] = document.diagnosis.map { .string(short($0)) }
        object["note"] = document.note.map { .string(short($0)) }
        object["fault"] = exchange.fault.map { .string(short(document.shown($0))) }
        return .object(object)
    }

    private func short(_ text: String) -> String { Place.shortened(text, to: FlowDocument.textLimit) }

    // MARK: - Schema

    static let schema = Schema.members(
        "Flow",
        [
            .required("id", .string, "The sign-in's ID, which is its first request's."),
            .required("name", .string, "The name of the sign-in: \"Apple web sign-in\"."),
            .required("ending", .choice(Flow.Ending.allCases.map(\.rawValue)), "The ending, or the state so far."),
            .optional("diagnosis", .string, "The reason of the failure: the diagnosis that stopped it."),
            .optional("stoppedBy", .string, "The ID of the request that failed."),
            .optional("hint", .string, "A sentence about what an unfinished sign-in waits for."),
            .required("providers", .strings(), "The providers that took part, by their names in the seed."),
            .optional("client", .string, "The client ID, where it is known; at Firebase, the project."),
            .optional("person", personSchema, "The person who signed in, if that is known."),
            .optional("time", .time, "The time of the beginning, by the world's clock."),
            .required("durationMilliseconds", .number(0...1e15), "The time from the first request to the last answer."),
            .required(
                "waitingMilliseconds", .number(0...1e15),
                "The part of the duration in which no request was being answered."),
            .required("steps", .sequence(of: stepSchema), "The requests, in the order of their answers."),
            .optional("remarks", .sequence(of: remarkSchema), "Remarks on a sign-in in which nothing was refused."),
        ])

    private static let personSchema = Schema.members([
        .optional("account", .string, "The account's ID in this world."), .optional("name", .string, "The name."),
        .optional("email", .string, "The address."),
    ])

    private static let stepSchema = Schema.members([
        .required("id", .string, "The request's ID, for `GET requests/ID`."),
        .optional("parent", .string, "The request that made the daemon send this one, or \"scenario\"."),
        .required("time", .time, "The time of the request, by the world's clock."),
        .required("durationMilliseconds", .number(0...1e15), "The duration of the answer."),
        .required("from", .string, "The sender: \"app\", \"browser\", \"backend\", \"scenario\", or a provider."),
        .required("to", .string, "The provider that was asked, or \"backend\" or \"understudy\"."),
        .required("does", .string, "The purpose of the request: \"redeem code\"."),
        .required("method", .string, "The method."), .optional("host", .string, "The provider's host."),
        .required("path", .string, "The path on that host."), .required("status", .integer(0...999), "The status."),
        .required("answer", .string, "The answer in a few words: \"302 code\", \"400 invalid_grant\"."),
        .optional("diagnosis", .string, "The reason why it was refused."),
        .optional("note", .string, "A note on a surprise in a successful answer."),
        .optional("fault", .string, "The ordered fault that happened here."),
    ])

    private static let remarkSchema = Schema.members([
        .required("text", .string, "The remark."), .required("request", .string, "The request that it is about."),
        .required("problem", .boolean, "Whether it is likely why the sign-in isn't finished."),
    ])

    static let listSchema = Schema.members(
        "Flows",
        [
            .required("flows", .sequence(of: schema), "The sign-ins, the most recently active last."),
            .optional("last", .string, "The ID of the last request here: the next `after`."),
            .optional("more", .boolean, "Whether there are more: later ones, or with `limit` alone, earlier ones."),
        ])
}
