import JSON
import Time

/// What an ordered fault does to an answer.
package struct FaultEffect: Sendable {
    /// An answer in place of the endpoint's.
    package struct Answer: Sendable {
        package let status: Int
        package let headers: [(name: String, value: String)]
        package let body: [UInt8]
    }

    package enum Disconnect: String, Sendable, CaseIterable {
        case beforeHeaders
        case midBody
    }

    /// What becomes of the key that has signed so far.
    package enum Rotation: String, Sendable, CaseIterable {
        /// It stays published.
        case keep
        /// It is withdrawn, and every other one with it.
        case drop
    }

    package enum KeySet: String, Sendable, CaseIterable {
        case empty
        /// As it was before the key that signs was published.
        case stale
    }

    package enum State: String, Sendable, CaseIterable {
        case missing
        case wrong
    }

    package let answer: Answer?
    /// How much later the answer is sent.
    package let delay: TimeSpan?
    package let disconnect: Disconnect?
    /// The endpoint's own error, by name.
    package let error: String?
    package let description: String?
    package let token: Tampering?
    package let rotation: Rotation?
    package let keySet: KeySet?
    package let isMalformed: Bool
    package let state: State?
    /// Whether the authorization code has been used already.
    package let isCodeUsed: Bool
    package let document: JSONValue

    /// `value` has the shape `FaultEffect.shape`.
    package init(_ value: JSONValue) {
        document = value
        answer = value["status"]?.integer.map { status in
            let members = value["headers"]?.object?.members ?? []
            var headers = members.map { (name: $0.key, value: $0.value.string ?? "") }
            let body: [UInt8]
            switch value["body"] {
            case nil: body = []
            case .string(let text)?: body = Array(text.utf8)
            case let other?: body = other.serialized()
            }
            if !body.isEmpty, !headers.contains(where: { $0.name.lowercased() == "content-type" }) {
                let isText = value["body"]?.string != nil
                headers.append((name: "Content-Type", value: isText ? "text/plain" : "application/json"))
            }
            return Answer(status: Int(status), headers: headers, body: body)
        }
        delay = value["delay"]?.string.flatMap { TimeSpan($0) }
        disconnect = FaultEffect.read(value["disconnect"], whenTrue: .beforeHeaders)
        error = value["error"]?.string
        description = value["description"]?.string
        token = value["token"].map { Tampering($0) }
        rotation = FaultEffect.read(value["rotateKeys"], whenTrue: .keep)
        keySet = FaultEffect.read(value["jwks"])
        isMalformed = value["malformedJSON"]?.bool ?? false
        state = FaultEffect.read(value["state"])
        isCodeUsed = value["code"]?.string == "used"
    }

    private static func read<Choice: RawRepresentable<String>>(
        _ value: JSONValue?, whenTrue: Choice? = nil
    ) -> Choice? {
        value?.bool == true ? whenTrue : value?.string.flatMap { Choice(rawValue: $0) }
    }

    /// Whether the endpoint isn't asked at all.
    package var replacesEndpoint: Bool { answer != nil || disconnect == .beforeHeaders }

    /// Whether it shows only when a token is minted, a code given out or a redirect sent: what a page before that is asked
    /// doesn't use it up.
    package var waitsForItsMoment: Bool {
        !replacesEndpoint && disconnect == nil && delay == nil && !isMalformed && rotation == nil && keySet == nil
    }
}

extension FaultEffect {
    package static let shape = Shape.object([
        .optional("status", .integer(200...599), "Answer with this status in place of the endpoint."),
        .optional("headers", .map(of: .text(.any)), "With `status`: the answer's headers."),
        .optional("body", .any, "With `status`: a text, or JSON."),
        .optional(
            "delay", .text(.delay), "Answer this much later, at most an hour. The endpoint does its work at once."),
        .optional(
            "disconnect", .either(.boolean, .choice(Disconnect.allCases.map(\.rawValue))),
            "Close the connection: before the header, or in the middle of the body."),
        .optional("error", .text(.nonEmpty), "The endpoint's own error, by name, in the endpoint's own form."),
        .optional("description", .text(.any), "With `error`: its description in place of the usual one."),
        .optional("token", Tampering.shape, "Break the tokens that are minted."),
        .optional(
            "rotateKeys", .either(.boolean, .choice(Rotation.allCases.map(\.rawValue))),
            "Sign with a new key from now on; keep publishing the old ones (`true`), or drop them."),
        .optional(
            "jwks", .choice(KeySet.allCases.map(\.rawValue)),
            "Publish no keys, or those from before the one that signs."),
        .optional("malformedJSON", .boolean, "Break the JSON of the body off in the middle."),
        .optional(
            "state", .choice(State.allCases.map(\.rawValue)), "Redirect without `state`, or with another one."),
        .optional("code", .choice(["used"]), "Give out an authorization code that has been used already."),
    ])
}
