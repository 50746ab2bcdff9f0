import JSON
import Time

/// The effect of an ordered fault on an HTTP response or on a mail.
package struct FaultEffect: SchemaObject {
    package static let schemaName: String? = "FaultEffect"

    /// An HTTP response that a fault sends in place of the endpoint's own.
    package struct Answer: Sendable {
        package let status: Int
        package let headers: [(name: String, value: String)]
        package let body: [UInt8]
    }

    package enum Disconnect: String, Sendable, CaseIterable {
        case beforeHeaders
        case midBody
    }

    /// A rotation of the signing keys, ordered by a fault.
    package enum Rotation: String, Sendable, CaseIterable {
        /// The new key signs, and up to two earlier keys stay published.
        case keep
        /// The new key signs, and all earlier keys are withdrawn.
        case drop
    }

    package enum KeySet: String, Sendable, CaseIterable {
        case empty
        /// The published key set lacks the key that signs, as if it had been fetched before that key was added.
        case stale
    }

    package enum State: String, Sendable, CaseIterable {
        case missing
        case wrong
    }

    package enum RedirectIssuer: String, Sendable, CaseIterable {
        case missing
        case wrong
        /// The right issuer, but with a slash added to or removed from its end. Only clients that normalize URLs take
        /// it for the same issuer.
        case normalized
    }

    package let answer: Answer?
    /// The time by which the fault delays the response.
    package let delay: TimeSpan?
    package let disconnect: Disconnect?
    /// The name of one of the endpoint's own errors, which the fault makes the endpoint send.
    package let error: String?
    package let description: String?
    package let token: Tampering?
    /// The members of the JSON response that the fault changes; `null` removes a member.
    package let response: [(name: String, value: JSONValue)]
    /// Whether the fault shuffles the members of the JSON response.
    package let shufflesMembers: Bool
    package let rotation: Rotation?
    package let keySet: KeySet?
    package let isMalformed: Bool
    package let state: State?
    package let issuer: RedirectIssuer?
    /// Whether the fault makes the endpoint issue an authorization code that has been used already.
    package let isCodeUsed: Bool
    /// The SMTP reply in place of the mail server's own, for a fault that applies to mail.
    package let reply: SMTPAnswer?
    /// Whether the fault lets a mail be accepted and then lost.
    package let isLost: Bool
    /// The fault's effect as JSON, as the test ordered it, with defaults filled in.
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
        response =
            fields.optional(
                "response", .map(of: .any),
                "Change these members of the JSON answer, or of the form that answers; `null` takes one out. It waits for an answer that refuses nothing."
            ) ?? []
        shufflesMembers =
            fields.optional("shuffle", .boolean, "Answer JSON members in another order.") ?? false
        rotation = FaultEffect.choice(
            fields.optional(
                "rotateKeys", .either(.boolean, .choice(Rotation.self)),
                "Sign with a new key from now on; keep publishing the last two of the old ones (`true`), or drop all."),
            whenTrue: .keep)
        keySet = fields.optional(
            "jwks", .choice(KeySet.self), "Publish no keys, or those from before the one that signs.")
        isMalformed =
            fields.optional("malformedJSON", .boolean, "Break the JSON of the body off in the middle.") ?? false
        state = fields.optional("state", .choice(State.self), "Redirect without `state`, or with another one.")
        issuer = fields.optional(
            "iss", .choice(RedirectIssuer.self), "Redirect without `iss`, or with a wrong one (RFC 9207).")
        let code = fields.optional(
            "code", .choice(["used"]), "Give out an authorization code that has been used already.")
        isCodeUsed = code != nil
        reply = fields.optional(
            "reply", .object(SMTPAnswer.self), "With a match of \"smtp\": answer so in place of the server's own.")
        isLost =
            fields.optional("lose", .boolean, "With \"smtp\": \"MESSAGE\": take the mail, and let it go astray.")
            ?? false
        self.document = .object(document)
    }

    /// Returns the choice that a member's `value` makes: one of the choices by name, `usual` for `true`, and `nil` for
    /// `false` or a missing member.
    private static func choice<Choice>(_ value: Either<Bool, Choice>?, whenTrue usual: Choice) -> Choice? {
        switch value {
        case .first(true): usual
        case .second(let choice): choice
        case .first(false), nil: nil
        }
    }

    /// Whether the fault answers in place of the endpoint, which doesn't run then.
    package var replacesEndpoint: Bool { answer != nil || disconnect == .beforeHeaders }

    /// Whether the fault is used up only by a request at which a token is minted, a code is issued, a redirect is sent
    /// or a member of the response is changed. A request that only shows a page doesn't use up such a fault.
    package var waitsForItsMoment: Bool {
        !replacesEndpoint && disconnect == nil && delay == nil && !isMalformed && rotation == nil && keySet == nil
    }
}

extension FaultEffect.Answer {
    /// Reads the HTTP response that a fault sends in place of the endpoint's; `nil` when it gives no `status`.
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
