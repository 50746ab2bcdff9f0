import EmulatorCore
import HTTPServer
import JSON

// The call POST /_understudy/v1/explain: the kind of a token, a client secret, a nonce or a callback, and what is wrong
// with it

extension ControlAPI {
    var explainCalls: [Endpoint] {
        [
            .control(
                "POST", "explain",
                "Checks a token, client secret, code, nonce or callback URL against this world's seed, keys, clock and recording. Explains what is wrong.",
                reads: .body(ExplainRequest.self),
                answers: [
                    .json("The explanation.", ControlAPI.explanationSchema),
                    .refusal(400, "tooLong", "The value is too long to explain."),
                ]
            ) { try await explain($0, $1) }
        ]
    }

    private static let explanationSchema = Schema.members(
        "Explanation",
        [
            .required("kind", .string, "The kind of value that was recognized."),
            .required("sound", .boolean, "Whether no problem was found."),
            .required(
                "parts",
                .sequence(
                    of: .members([
                        .required("heading", .string, "The findings' heading."),
                        .required(
                            "findings",
                            .sequence(
                                of: .members([
                                    .required(
                                        "holds", .nullable(.boolean),
                                        "Whether the value passed this check; null for plain information."),
                                    .required("text", .string, "The finding, in a sentence."),
                                    .optional("request", .string, "The ID of the request that the finding is about."),
                                ])), "Facts about the sent `value`."),
                    ])), "The value's explanation."),
        ])

    private struct ExplainRequest: SchemaObject {
        let value: String
        let rawNonce: String?

        init(_ fields: inout Fields) {
            value = fields("value", .text(.token), "A token, a client secret, a code, a nonce or a callback URL.")
            rawNonce = fields.nullable("rawNonce", .text(.any), "The nonce before hashing with SHA-256.")
        }
    }

    private func explain(_ exchange: Exchange, _ body: ExplainRequest) async throws -> Response {
        guard body.value.utf8.count <= PastedValue.limit else {
            let message =
                "the value has \(body.value.utf8.count) bytes; at most \(PastedValue.limit) bytes are accepted"
            return ControlAnswer.error(400, "tooLong", message, path: "$.value")
        }
        let explained = try await explain(body.value, rawNonce: body.rawNonce, in: exchange.world)
        return ControlAnswer.ok([
            "kind": .string(explained.kind), "sound": .bool(explained.isSound),
            "parts": .array(explained.parts.map(\.document)),
        ])
    }

    /// Explains a pasted value, such as a token, a code or a callback's URL, by what a test world knows about it.
    package func explain(_ value: String, rawNonce: String?, in world: World) async throws -> PastedValue {
        let reader = ValueReader(world, by: self)
        return try await world.recording.search { try reader.explain(value, rawNonce: rawNonce) }
    }
}

extension ExplainedPart {
    fileprivate var document: JSONValue {
        let findings = findings.map { finding -> JSONValue in
            var object = JSONObject([
                ("holds", finding.holds.map { .bool($0) } ?? .null), ("text", .string(finding.text)),
            ])
            object["request"] = finding.exchange.map { .string($0) }
            return .object(object)
        }
        return ["heading": .string(heading), "findings": .array(findings)]
    }
}

/// The meanings of the OAuth and OpenID Connect errors with which a sign-in can end:
/// <https://datatracker.ietf.org/doc/html/rfc6749#section-4.1.2.1>,
/// <https://openid.net/specs/openid-connect-core-1_0.html#AuthError>.
enum ErrorMeanings {
    private static let words = [
        "access_denied": "the user or the provider denied the sign-in: offer it again",
        "invalid_request": "a parameter of the authorization request is missing, repeated or malformed",
        "unauthorized_client": "the client may not send this kind of request: check the client's registration",
        "unsupported_response_type": "the provider or this client doesn't support the response_type",
        "invalid_scope": "a scope is unknown, or not allowed for this client",
        "server_error": "the provider failed: try again later",
        "temporarily_unavailable": "the provider is busy: try again later",
        "interaction_required": "the user must see a page, which prompt=none forbids: retry without prompt=none",
        "login_required": "the user isn't signed in, and prompt=none shows no page: retry without prompt=none",
        "account_selection_required": "the user must choose an account: retry without prompt=none",
        "consent_required": "the user must consent: retry without prompt=none",
        "invalid_grant": "the code or refresh token is already used, expired, revoked, or another client's",
        "invalid_client": "the client's credentials are wrong: the ID, the secret, or how they are sent",
        "redirect_uri_mismatch": "the redirect_uri isn't one that is registered for the client",
    ]

    static func meaning(of error: String) -> String? { words[error] }
}
