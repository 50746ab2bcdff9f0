import HTTPServer
import JOSE
import JSON
import EmulatorCore

// The call POST /_understudy/v1/tokens: an ID token without a sign-in, valid or broken

extension ControlAPI {
    var tokenCalls: [Endpoint] {
        [
            .control(
                "POST", "tokens", "Issues a valid or broken ID token without a sign-in.", reads: .body(tokenOrder),
                answers: [
                    .json(
                        201, "The token.",
                        .members(
                            "MintedToken",
                            [
                                .required("token", .string, "The JSON Web Token."),
                                .optional("header", .map(of: .any), "The token's header, if it can be read."),
                                .optional("claims", .map(of: .any), "The token's claims, if they can be read."),
                            ])), .refusal(400, "noTokens", "The provider issues no ID tokens."),
                    .refusal(400, "noIssuers", "The request names an issuer, and the provider isn't `openid`."),
                    .refusal(404, "noSuchClient", "No client has this ID."),
                    .refusal(404, "noSuchIssuer", "No issuer has this ID."),
                    .refusal(404, "noSuchAccount", "No account has this ID."),
                    .refusal(429, "tooManyProjects", "The world has too many Firebase projects not in a seed."),
                    .refusal(500, "signing", "The token can't be signed."),
                ], keys: keyOwners
            ) { try await mintToken($0, $1) },
            .control(
                "POST", "tokens/revocations",
                "Revokes an access or refresh token of any provider; other tokens of the sign-in stay valid.",
                reads: .body(TokenRevocation.self),
                answers: [
                    .json(
                        "The kind of the revoked token.",
                        .members([
                            .required("provider", .string, "The token's issuing provider."),
                            .required("kind", .string, "The kind of token."),
                            .required("client", .string, "The client that got the token."),
                        ])),
                    .refusal(404, "noSuchToken", "The token was never issued here, or is no longer valid."),
                ]
            ) { try revokeToken($0, $1) },
        ]
    }

    private func mintToken(_ exchange: Exchange, _ order: TokenOrder) async throws -> Response {
        let provider = providers.first { $0.name == order.provider }
        guard order.wanted.issuer == nil || order.provider == "openid" else {
            return ControlAnswer.error(
                400, "noIssuers",
                "\(order.provider) takes no \"issuer\": leave it out, since it chooses among the issuers of openid",
                path: "$.issuer")
        }
        guard let draft = try (provider as? any MintsIDTokens)?.token(for: order.wanted, in: exchange) else {
            return ControlAnswer.error(
                400, "noTokens",
                "\(order.provider) issues no ID tokens to OAuth apps: sign in, and use the access token",
                path: "$.provider")
        }
        if order.tampering.signature == .unknownKey { await exchange.world.keys[draft.owner].unpublishedIsReady() }
        return try mint(draft, order.tampering, in: exchange)
    }

    private func mint(
        _ draft: TokenDraft, _ tampering: Tampering, in exchange: Exchange
    ) throws(ControlRefusal) -> Response {
        let now = exchange.world.now
        do {
            let token =
                draft.isSigned || tampering.signature != .valid
                ? try exchange.world.keys[draft.owner].mint(
                    draft.claims, at: now, type: draft.type, algorithm: draft.algorithm, secret: draft.secret,
                    tampering: tampering)
                : KeyRing.unsigned(draft.claims, at: now, tampering: tampering)
            var answer = JSONObject([("token", .string(token))])
            if let decoded = try? JWS(parsing: token) {
                answer["header"] = .object(decoded.header)
                answer["claims"] = .object(decoded.claims)
            }
            let response = ControlAnswer.ok(.object(answer), status: 201)
            return tampering.remarkOnTimes.map { response.addingNote(Note($0)) } ?? response
        } catch {
            throw .signing(error)
        }
    }
}

/// The body of `POST tokens`.
struct TokenOrder: Sendable {
    let provider: String
    let wanted: TokenRequest
    let tampering: Tampering

    init(_ fields: inout Fields, providers: [String]) {
        provider = fields("provider", .choice(providers), "The provider that issues the token.")
        wanted = TokenRequest(
            client: fields("client", .text(.nonEmpty), "The client's ID; at Firebase, the project's."),
            issuer: fields.nullable(
                "issuer", .text(.nonEmpty), "At `openid`, the issuer's ID. Default: the first issuer with this client."),
            account: fields.nullable(
                "account", .text(.nonEmpty),
                "The account's ID; at Firebase a user's local ID or e-mail address. Default: first user."),
            nonce: fields.nullable("nonce", .text(.any), "The claim `nonce`."),
            scopes: fields.nullable("scopes", .set(of: .text(.nonEmpty)), "The granted scopes."))
        tampering = Tampering(&fields)
    }
}

// The call POST /_understudy/v1/tokens/revocations: one token stops working; the others of the sign-in still work

extension ControlAPI {
    private struct TokenRevocation: SchemaObject {
        let token: String

        init(_ fields: inout Fields) {
            token = fields(
                "token", .text(.nonEmpty), "An access or refresh token that a provider issued in this world.")
        }
    }

    private func revokeToken(_ exchange: Exchange, _ order: TokenRevocation) throws -> Response {
        for provider in providers {
            guard let (kind, client) = try provider.endToken(order.token, in: exchange) else { continue }
            return ControlAnswer.ok([
                "provider": .string(provider.name), "kind": .string(kind), "client": .string(client),
            ])
        }
        // A backend verifies an ID token by its signature alone, so no ID token can be revoked.
        let isToken = (try? JWS(parsing: order.token)) != nil
        return ControlAnswer.error(
            404, "noSuchToken",
            "this token was never issued in this test world, or it no longer works"
                + (isToken
                    ? "; an ID token stays valid until it expires: revoke the refresh token that came with it" : ""),
            path: "$.token")
    }
}
