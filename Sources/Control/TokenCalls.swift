import HTTPServer
import JOSE
import JSON
import EmulatorCore

// POST /_understudy/v1/tokens: an ID token without a sign-in, whole or broken

extension ControlAPI {
    private var tokenBody: Shape {
        guard case .object(let tampering) = Tampering.shape else { return Tampering.shape }
        return .object(
            [
                .required("provider", .choice(providers.map(\.name)), "Whose token."),
                .required("client", .text(.nonEmpty), "For which client; at Firebase, for which project."),
                .optional(
                    "account", .nullable(.text(.nonEmpty)), default: .null,
                    "Who; at Firebase a user's local ID or e-mail address."),
                .optional("nonce", .nullable(.text(.any)), default: .null, "The claim `nonce`."),
                .optional("scopes", .nullable(.set(of: .text(.nonEmpty))), default: .null, "What was granted."),
            ] + tampering)
    }

    func mintToken(_ exchange: Exchange) async -> Response {
        let body: JSONValue
        do throws(ControlRefusal) { body = try exchange.body(tokenBody) } catch { return error.response }
        let tampering = Tampering(body)
        if tampering.signature == .unknownKey { await exchange.world.keys[.apple].unpublishedIsReady() }
        return mintToken(exchange, body, tampering)
    }

    private func mintToken(_ exchange: Exchange, _ body: JSONValue, _ tampering: Tampering) -> Response {
        do throws(ControlRefusal) {
            let wanted = TokenRequest(
                client: body["client"]?.string ?? "", account: body["account"]?.string, nonce: body["nonce"]?.string,
                scopes: body["scopes"]?.array?.compactMap(\.string))
            let name = body["provider"]?.string ?? ""
            guard let draft = try providers.first(where: { $0.name == name })?.token(for: wanted, in: exchange) else {
                return ControlAnswer.error(
                    400, "noTokens", "\(name) gives OAuth apps no ID tokens: sign in, and use the access token",
                    path: "$.provider")
            }
            return try mint(draft, tampering, in: exchange)
        } catch {
            return error.response
        }
    }

    private func mint(
        _ draft: TokenDraft, _ tampering: Tampering, in exchange: Exchange
    ) throws(ControlRefusal) -> Response {
        let now = exchange.world.now
        do {
            let token =
                draft.isSigned || tampering.signature != .valid
                ? try exchange.world.keys[draft.owner].mint(
                    draft.claims, at: now, withType: draft.withType, tampering: tampering)
                : KeyRing.unsigned(draft.claims, at: now, tampering: tampering)
            var answer = JSONObject([("token", .string(token))])
            if let decoded = try? JWS(parsing: token) {
                answer["header"] = .object(decoded.header)
                answer["claims"] = .object(decoded.claims)
            }
            return ControlAnswer.ok(.object(answer), status: 201)
        } catch {
            throw ControlRefusal(ControlAnswer.error(500, "signing", error.description))
        }
    }
}
