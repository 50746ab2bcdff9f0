import JSON
import Time

/// What an ordered fault does to an answer.
package struct FaultEffect: SchemaObject {
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
    /// As it was ordered, with defaults.
    package let document: JSONValue

    package init(_ fields: inout Fields) {
        var document = fields.written
        answer = Answer(&fields)
        delay = fields.optional(
            "delay", .delay, "Answer this much later, at most an hour. The endpoint does its work at once.")
        disconnect = FaultEffect.choice(
            fields.optional(
                "disconnect", .either(.boolean, .choice(Disconnect.self)),
                "Close the connection: before the header, or in the middle of the body."), whenTrue: .beforeHeaders)
        error = fields.optional(
            "error", .text(.nonEmpty), "The endpoint's own error, by name, in the endpoint's own form.")
        description = fields.optional(
            "description", .text(.any), "With `error`: its description in place of the usual one.")
        token = fields.optional("token", .object(Tampering.self), "Break the tokens that are minted.")
        if let token { document["token"] = token.document }
        rotation = FaultEffect.choice(
            fields.optional(
                "rotateKeys", .either(.boolean, .choice(Rotation.self)),
                "Sign with a new key from now on; keep publishing the old ones (`true`), or drop them."),
            whenTrue: .keep)
        keySet = fields.optional(
            "jwks", .choice(KeySet.self), "Publish no keys, or those from before the one that signs.")
        isMalformed =
            fields.optional("malformedJSON", .boolean, "Break the JSON of the body off in the middle.") ?? false
        state = fields.optional("state", .choice(State.self), "Redirect without `state`, or with another one.")
        let code = fields.optional(
            "code", .choice(["used"]), "Give out an authorization code that has been used already.")
        isCodeUsed = code != nil
        self.document = .object(document)
    }

    /// `true` stands for the usual choice, and `false` is as if nothing had been ordered.
    private static func choice<Choice>(_ value: Either<Bool, Choice>?, whenTrue usual: Choice) -> Choice? {
        switch value {
        case .first(true): usual
        case .second(let choice): choice
        case .first(false), nil: nil
        }
    }

    /// Whether the endpoint isn't asked at all.
    package var replacesEndpoint: Bool { answer != nil || disconnect == .beforeHeaders }

    /// Whether it shows only when a token is minted, a code given out or a redirect sent: what a page before that is asked
    /// doesn't use it up.
    package var waitsForItsMoment: Bool {
        !replacesEndpoint && disconnect == nil && delay == nil && !isMalformed && rotation == nil && keySet == nil
    }
}

extension FaultEffect.Answer {
    /// `nil` when there is no `status`.
    fileprivate init?(_ fields: inout Fields) {
        let status = fields.optional("status", .integer(200...599), "Answer with this status in place of the endpoint.")
        let given = fields.optional("headers", .map(of: .text(.any)), "With `status`: the answer's headers.") ?? []
        let content = fields.optional("body", .any, "With `status`: a text, or JSON.")
        guard let status else { return nil }
        var headers = given
        let body: [UInt8]
        switch content {
        case nil: body = []
        case .string(let text)?: body = Array(text.utf8)
        case let other?: body = other.serialized()
        }
        if !body.isEmpty, !headers.contains(where: { $0.name.lowercased() == "content-type" }) {
            headers.append(
                (name: "Content-Type", value: content?.string != nil ? "text/plain" : "application/json"))
        }
        self.init(status: status, headers: headers, body: body)
    }
}
