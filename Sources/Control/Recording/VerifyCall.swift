import HTTPServer
import JSON
import EmulatorCore
import Recordings

// The call POST /_understudy/v1/verify: whether these requests were made. 200, or 409 with the differences

extension ControlAPI {
    var verifyCalls: [Endpoint] {
        [
            .control(
                "POST", "verify", "Checks whether requests were made as expected: one expectation, or several.",
                reads: .unread(.either(Expectations.schema, Expectation.schema)),
                answers: [
                    .json("All expectations are met.", ControlAPI.verificationSchema),
                    .json(409, "An expectation failed: `unmet`.", ControlAPI.unmetSchema),
                    .refusal(400, "tooMuch", "Too many expectations, or too many fields in them."),
                ]
            ) { try await verify($0) }
        ]
    }

    private static let resultSchema = Schema.members(
        "VerifiedExpectation",
        [
            .required("expected", .map(of: .any), "The expectation."),
            .required("met", .boolean, "Whether the expectation is met."),
            .required("found", .count, "The number of matching requests."),
            .required("matched", .strings(), "The IDs of the matching requests."),
            .optional("message", .string, "Why the expectation failed."),
            .optional(
                "near",
                .sequence(
                    of: .members([
                        .required("id", .string, "The request's ID."),
                        .required("differences", .strings(), "The request's differences from the expectation."),
                    ])), "The most similar requests."),
        ])

    private static let verificationFields: [Schema.Field] = [
        .required("verified", .boolean, "Whether all expectations are met."),
        .required("expectations", .sequence(of: resultSchema), "The result of each expectation."),
        .optional(
            "dropped", .count,
            "How many requests couldn't be checked: the recording ran out of room for them."),
    ]
    private static let verificationSchema = Schema.members("Verification", verificationFields)
    private static let unmetSchema = Schema.members("UnmetVerification", CallAnswer.error.fields + verificationFields)

    private struct Expectation: SchemaObject {
        static let schemaName: String? = "Expectation"

        let criteria: Criteria
        let times: Int?
        let atLeast: Int?
        let atMost: Int?
        /// The JSON of an expectation, as the test wrote it in the body of `POST verify`.
        let document: JSONValue

        /// Whether the expectation's bounds `times`, `atLeast` and `atMost` contradict each other.
        var contradictsItself: Bool {
            let least = max(times ?? 0, atLeast ?? 0)
            return least > min(times ?? .max, atMost ?? .max)
        }

        init(_ fields: inout Fields) {
            document = .object(fields.written)
            criteria = Criteria(&fields)
            times = fields.optional("times", .integer(0...1_000_000), "Exactly how many match.")
            atLeast = fields.optional(
                "atLeast", .integer(0...1_000_000), "How many must match at least; default: 1, or 0 with `atMost`.")
            atMost = fields.optional("atMost", .integer(0...1_000_000), "How many may match at most.")
        }
    }

    private struct Expectations: SchemaObject {
        let all: [Expectation]

        init(_ fields: inout Fields) {
            all = fields("expectations", .sequence(of: Expectation.self), "The expectations, at most 100.")
        }
    }

    /// The greatest number of expectations in one call of `POST verify`. Each of them is compared with the whole
    /// recording.
    private static let expectationLimit = 100
    private static let fieldLimit = 1_000
    /// The greatest number of nearly matching recorded requests that the answer of `POST verify` lists for an unmet
    /// expectation.
    private static let nearLimit = 3

    private func verify(_ exchange: Exchange) async throws -> Response {
        try await exchange.world.recording.search { [self] in verification(exchange) }
    }

    private func verification(_ exchange: Exchange) -> Response {
        let expectations: [Expectation]
        let isList: Bool
        do {
            let value = try JSONValue(parsing: exchange.request.body, limits: .control)
            let json = LocatedJSON(value, file: "body")
            isList = value["expectations"] != nil
            expectations =
                isList ? try Expectations(checking: json).all : [try Expectation(checking: json)]
        } catch let issues as Issues {
            return ControlAnswer.error(issues.all)
        } catch {
            return ControlAnswer.error(400, "notJSON", "the body can't be read as JSON: \(error)", path: "$")
        }
        guard !expectations.isEmpty else {
            return ControlAnswer.error(400, "invalidBody", "expected at least one expectation", path: "$.expectations")
        }
        if let place = expectations.firstIndex(where: \.contradictsItself) {
            let path = isList ? "$.expectations[\(place)]" : "$"
            let message = "times, atLeast and atMost contradict each other: no number of requests fits all of them"
            return ControlAnswer.error(400, "invalidBody", message, path: path)
        }
        guard expectations.count <= ControlAPI.expectationLimit else {
            let message =
                "found \(expectations.count) expectations; at most \(ControlAPI.expectationLimit) can be verified at once"
            return ControlAnswer.error(400, "tooMuch", message, path: "$.expectations")
        }
        let fields = expectations.reduce(0) { $0 + $1.criteria.fields.count }
        guard fields <= ControlAPI.fieldLimit else {
            let message =
                "found \(fields) fields in all expectations; at most \(ControlAPI.fieldLimit) can be verified at once"
            return ControlAnswer.error(400, "tooMuch", message, path: "$.expectations")
        }
        let recording = exchange.world.recording
        let known = recording.known().exchanges
        let sent = SentFields()
        let results = expectations.map { check($0, known, sent) }
        let document = JSONValue.array(results.map(\.json))
        let dropped = recording.dropped > 0 ? JSONValue.integer(Int64(recording.dropped)) : nil
        let unmet = results.filter { !$0.isMet }
        guard let first = unmet.first else {
            var verified = JSONObject([("verified", true), ("expectations", document)])
            verified["dropped"] = dropped
            return ControlAnswer.ok(.object(verified))
        }
        let message =
            first.message + (unmet.count > 1 ? "; \(unmet.count - 1) more of the expectations aren't met" : "")
        var response = ControlAnswer.error(409, "unmet", message)
        var answer = JSONObject([
            ("error", ["code": "unmet", "message": .string(message)]), ("verified", false), ("expectations", document),
        ])
        answer["dropped"] = dropped
        response.body = Array((JSONValue.object(answer).text + "\n").utf8)
        return response
    }

    private struct Result {
        let isMet: Bool
        let message: String
        let json: JSONValue
    }

    private func check(_ expectation: Expectation, _ known: [KnownExchange], _ sent: SentFields) -> Result {
        let criteria = expectation.criteria
        let compared = known.map { (known: $0, differences: criteria.differences($0, sent)) }
        let matched = compared.filter { $0.differences.isEmpty }.map { JSONValue.string($0.known.exchange.id) }
        let times = expectation.times
        let most = times ?? expectation.atMost
        let least = times ?? expectation.atLeast ?? (expectation.atMost == nil ? 1 : 0)
        let count = matched.count
        let isMet = count >= least && most.map { count <= $0 } ?? true
        let wanted =
            times.map { "exactly \($0)" } ?? (most.map { "\(least) to \($0)" } ?? "at least \(least)")
        let message =
            "expected \(wanted) of \(BoundedText.shortened(expectation.document.text, to: 1_000)), found \(count)"
        var json = JSONObject([
            ("expected", expectation.document), ("met", .bool(isMet)), ("found", .integer(Int64(count))),
            ("matched", .array(matched)),
        ])
        guard !isMet else { return Result(isMet: true, message: "", json: .object(json)) }
        json["message"] = .string(message)
        if count < least {
            // These are the exchanges with the fewest differences, the latest first.
            let near = compared.filter { !$0.differences.isEmpty }.reversed()
                .sorted { $0.differences.count < $1.differences.count }.prefix(ControlAPI.nearLimit)
            json["near"] = .array(
                near.map { entry in
                    let mask = masksSecrets ? Mask(entry.known.exchange) : nil
                    return [
                        "id": .string(entry.known.exchange.id),
                        "differences": .array(entry.differences.map { .string(mask?.apply(to: $0) ?? $0) }),
                    ]
                })
        }
        return Result(isMet: false, message: message, json: .object(json))
    }
}
