import HTTPServer
import JOSE
import JSON
import EmulatorCore

// The call POST /_understudy/v1/tokens: an ID token without a sign-in, valid or broken

extension ControlAPI {
    var tokenCalls: [Endpoint] {
        [
            .control(
                "POST", "tokens", "Mints an ID token without a sign-in, whole or broken.", reads: .body(tokenOrder),
                answers: [
                    .json(
                        201, "The token.",
                        .members(
                            "MintedToken",
                            [
                                .required("token", .string, "The JSON Web Token."),
                                .optional("header", .map(of: .any), "The token's header, if it can be read."),
                                .optional("claims", .map(of: .any), "The token's claims, if they can be read."),
                            ])), .refusal(400, "noTokens", "The provider gives out no ID tokens."),
                    .refusal(404, "noSuchClient", "There is no such client."),
                    .refusal(404, "noSuchAccount", "There is no such account."),
                    .refusal(429, "tooManyProjects", "At Firebase: the world has too many projects that no seed has."),
                    .refusal(500, "signing", "The token can't be signed."),
                ], keys: keyOwners
            ) { try await mintToken($0, $1) },
            .control(
                "POST", "tokens/revocations",
                "Ends one access or refresh token, whoever gave it out; what else came of the sign-in goes on.",
                reads: .body(TokenRevocation.self),
                answers: [
                    .json(
                        "The kind of token that was ended.",
                        .members([
                            .required("provider", .string, "The provider that had issued it."),
                            .required("kind", .string, "The kind of token."),
                            .required("client", .string, "The client to which it was issued."),
                        ])),
                    .refusal(404, "noSuchToken", "No provider has given it out here, or it has ended already."),
                ]
            ) { try revokeToken($0, $1) },
        ]
    }

    private func mintToken(_ exchange: Exchange, _ order: TokenOrder) async throws -> Response {
        let provider = providers.first { $0.name == order.provider }
        guard let draft = try (provider as? any MintsIDTokens)?.token(for: order.wanted, in: exchange) else {
            return ControlAnswer.error(
                400, "noTokens",
                "\(order.provider) gives OAuth apps no ID tokens: sign in, and use the access token",
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
            return ControlAnswer.ok(.object(answer), status: 201)
        } catch {
            throw .signing(error)
        }
    }
}

/// The body of `POST tokens`, which describes the token to make.
struct TokenOrder: Sendable {
    let provider: String
    let wanted: TokenRequest
    let tampering: Tampering

    init(_ fields: inout Fields, providers: [String]) {
        provider = fields("provider", .choice(providers), "The provider that issues the token.")
        wanted = TokenRequest(
            client: fields("client", .text(.nonEmpty), "The client's ID; at Firebase, the project's."),
            account: fields.nullable(
                "account", .text(.nonEmpty),
                "The account's ID; at Firebase a user's local ID or e-mail address. By default the first."),
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
                "token", .text(.nonEmpty), "An access or a refresh token that a provider has given out here.")
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
            "no provider has given out this token here, or it has stopped working already"
                + (isToken
                    ? "; an ID token stays valid until it expires: end the refresh token that came with it" : ""),
            path: "$.token")
    }
}
