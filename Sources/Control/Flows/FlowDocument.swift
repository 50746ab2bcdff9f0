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

    private func short(_ text: String) -> String { BoundedText.shortened(text, to: FlowDocument.textLimit) }

    // MARK: - Schema

    static let schema = Schema.members(
        "Flow",
        [
            .required("id", .string, "The sign-in's ID: the first request's ID."),
            .required("name", .string, "The sign-in's name, such as \"Apple web sign-in\"."),
            .required("ending", .choice(Flow.Ending.allCases.map(\.rawValue)), "How the sign-in ended."),
            .optional("diagnosis", .string, "Why the sign-in failed: the diagnosis of the failure."),
            .optional("stoppedBy", .string, "The ID of the request that failed."),
            .optional("hint", .string, "What an unfinished sign-in waits for, in a sentence."),
            .required("providers", .strings(), "The sign-in's providers, by their names in the seed."),
            .optional("client", .string, "The client ID, if known; at Firebase, the project ID."),
            .optional("person", personSchema, "The user who signed in, if known."),
            .optional("time", .time, "When the sign-in began, by the world's clock."),
            .required("durationMilliseconds", .number(0...1e15), "The time from first request to last response."),
            .required(
                "waitingMilliseconds", .number(0...1e15),
                "Total time between requests."),
            .required("steps", .sequence(of: stepSchema), "Requests in the order of answers."),
            .optional("remarks", .sequence(of: remarkSchema), "Remarks on the sign-in as a whole."),
        ])

    private static let personSchema = Schema.members([
        .optional("account", .string, "The account's ID in this world."), .optional("name", .string, "The name."),
        .optional("email", .string, "The address."),
    ])

    private static let stepSchema = Schema.members([
        .required("id", .string, "The request's ID, for `GET requests/ID`."),
        .optional("parent", .string, "The cause: a request's ID, or \"scenario\" for a scenario."),
        .required("time", .time, "The time of the request, by the world's clock."),
        .required("durationMilliseconds", .number(0...1e15), "The response time."),
        .required("from", .string, "The sender: \"app\", \"browser\", \"backend\", \"scenario\", or a provider."),
        .required("to", .string, "The request's receiver: a provider, the app's \"backend\", or \"understudy\"."),
        .required("does", .string, "The purpose of the request, such as \"redeem code\"."),
        .required("method", .string, "The method."), .optional("host", .string, "The provider's host."),
        .required("path", .string, "The path of the URL."), .required("status", .integer(0...999), "The status."),
        .required("answer", .string, "The response in short: \"302 code\", \"400 invalid_grant\"."),
        .optional("diagnosis", .string, "Why the request failed."),
        .optional("note", .string, "A warning about a successful response."),
        .optional("fault", .string, "The injected fault that occurred."),
    ])

    private static let remarkSchema = Schema.members([
        .required("text", .string, "The remark."), .required("request", .string, "The remark's request."),
        .required("problem", .boolean, "Whether the remark says why the sign-in stopped."),
    ])

    static let listSchema = Schema.members(
        "Flows",
        [
            .required("flows", .sequence(of: schema), "The sign-ins, the most recently active last."),
            .optional("last", .string, "The last listed request's ID, for `after`."),
            .optional("more", .boolean, "Whether more sign-ins match than are listed."),
        ])
}
