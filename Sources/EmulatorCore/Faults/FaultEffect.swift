import JSON
import Time

/// The effect of a fault on an HTTP response or on a mail.
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

    /// A rotation of the signing keys by a fault.
    package enum Rotation: String, Sendable, CaseIterable {
        /// The new key signs, and up to two earlier keys stay published.
        case keep
        /// The new key signs, and all earlier keys are no longer published.
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
        /// The right issuer, but with a slash added to or removed from its end. Only clients that normalize URLs accept
        /// this issuer as the right one.
        case normalized
    }

    package let answer: Answer?
    package let delay: TimeSpan?
    package let disconnect: Disconnect?
    /// The name of one of the endpoint's own errors, which the fault makes the endpoint send.
    package let error: String?
    package let description: String?
    package let token: Tampering?
    /// The members of the JSON or form response that the fault changes; `null` removes a member.
    package let response: [(name: String, value: JSONValue)]
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
    /// The fault's effect as JSON, as the test or the seed has it, but with the default values added to the member
    /// `token`.
    package let document: JSONValue

    package init(_ fields: inout Fields) {
        var document = fields.written
        answer = Answer(&fields)
        delay = fields.optional(
            "delay", .delay, "Delay the response, by at most an hour. The request takes effect at once.")
        disconnect = FaultEffect.choice(
            fields.optional(
                "disconnect", .either(.boolean, .choice(Disconnect.self)),
                "Close the connection before the response, or in the middle of its body."), whenTrue: .beforeHeaders)
        error = fields.optional(
            "error", .text(.nonEmpty), "Respond with this error of the endpoint, in its own format.")
        description = fields.optional(
            "description", .text(.any), "The error description to send with `error`.")
        token = fields.optional("token", .object(Tampering.self), "Issue tokens with these defects.")
        if let token { document["token"] = token.document }
        response =
            fields.optional(
                "response", .map(of: .any),
                "Change these members of the next successful JSON or form response; `null` removes a member."
            ) ?? []
        shufflesMembers =
            fields.optional("shuffle", .boolean, "Reorder the members of the JSON response.") ?? false
        rotation = FaultEffect.choice(
            fields.optional(
                "rotateKeys", .either(.boolean, .choice(Rotation.self)),
                "Sign with a new key. true or \"keep\": the last two old keys stay published. "
                    + "\"drop\": no old key stays published."
            ),
            whenTrue: .keep)
        keySet = fields.optional(
            "jwks", .choice(KeySet.self), "Publish no keys, or only keys older than the signing key.")
        isMalformed =
            fields.optional("malformedJSON", .boolean, "Cut the JSON response off in the middle.") ?? false
        state = fields.optional("state", .choice(State.self), "Redirect without `state`, or with a wrong one.")
        issuer = fields.optional(
            "iss", .choice(RedirectIssuer.self), "Redirect without `iss`, or with a wrong one (RFC 9207).")
        let code = fields.optional(
            "code", .choice(["used"]), "Issue an authorization code that is used already.")
        isCodeUsed = code != nil
        reply = fields.optional(
            "reply", .object(SMTPAnswer.self), "The SMTP reply to send, if `match` has \"smtp\".")
        isLost =
            fields.optional("lose", .boolean, "Accept but lose mail; `match.smtp` must be \"MESSAGE\".")
            ?? false
        self.document = .object(document)
    }

    /// Returns the choice that `value` names. The value `true` stands for the choice `usual`; `false` or no value
    /// stands for no choice (`nil`).
    private static func choice<Choice>(_ value: Either<Bool, Choice>?, whenTrue usual: Choice) -> Choice? {
        switch value {
        case .first(true): usual
        case .second(let choice): choice
        case .first(false), nil: nil
        }
    }

    package var replacesEndpoint: Bool { answer != nil || disconnect == .beforeHeaders }

    /// Whether a matching request counts as a use of the fault only if a token is minted, a code is issued, an error or
    /// a redirect is sent, or a member of the response is changed. A request that only shows a page then doesn't count.
    /// If false, every matching request counts.
    package var waitsForItsMoment: Bool {
        !replacesEndpoint && disconnect == nil && delay == nil && !isMalformed && rotation == nil && keySet == nil
    }
}

extension FaultEffect.Answer {
    /// Reads the HTTP response that a fault sends in place of the endpoint's; `nil` when the fault has no `status`.
    fileprivate init?(_ fields: inout Fields) {
        let status = fields.optional(
            "status", .integer(200...599), "Respond with this HTTP status, skipping the endpoint.")
        let given =
            fields.optional("headers", .map(of: .text(.any)), "The response headers to send with `status`.") ?? []
        let content = fields.optional("body", .any, "The body to send with `status`, text or JSON.")
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
