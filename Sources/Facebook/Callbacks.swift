import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time

// POST /_understudy/v1/facebook/revocations: people remove an app under "Apps and websites". The app's server is
// notified, and asked to delete its data.
//
// Quirks: both requests are a form with `signed_request`, whose signature covers the encoded payload. The second is
// answered with an address and a code. An app that removes itself by DELETE /me/permissions isn't notified. A failed
// request isn't repeated.

/// Facebook's `signed_request`: a message to an app's server, signed with the app secret so that the app can verify it.
struct SignedRequest: Sendable {
    let text: String

    init(_ payload: JSONObject, secret: String) {
        let encoded = Base64URL.encode(JSONValue.object(payload).serialized())
        let signature = Digest.hmacSHA256(key: Array(secret.utf8), Array(encoded.utf8))
        text = "\(Base64URL.encode(signature)).\(encoded)"
    }

    init(about person: String, at time: Instant, lasting lifetime: TimeSpan? = nil, secret: String) {
        var payload = JSONObject([("user_id", .string(person)), ("algorithm", "HMAC-SHA256")])
        payload["issued_at"] = .numericDate(time)
        payload["expires"] = lifetime.map { .numericDate(time + $0) }
        self.init(payload, secret: secret)
    }
}

extension FacebookProvider {
    static let toldOfRemoval: [Schema.Field] = [
        .optional(
            "deauthorization", .nullable(OutgoingMessage.Delivery.schema(beside: [])),
            "For one app of one person, the delivery of the deauthorize callback; null if the app has none."),
        .optional(
            "dataDeletion",
            .nullable(
                OutgoingMessage.Delivery.schema(beside: [
                    .optional("statusURL", .string, "The URL at which the person can follow the deletion of the data."),
                    .optional("confirmationCode", .string, "The app's code for it."),
                ])),
            "For one app of one person, the answer of the data deletion request callback; null if the app has none."),
    ]

    func revokeByOrder(_ exchange: Exchange, _ order: RevocationOrder) async throws -> Response {
        let noClient: (String) -> String? = { id in
            apps[id] == nil ? "no app \(Diagnosis.quote(id)) is seeded\(apps.hint(for: id))" : nil
        }
        let named = exchange.world.read { tables -> FacebookGrant? in
            guard let account = order.account, let app = order.client else { return nil }
            return tables.grant(FacebookGrant.self, of: account, to: app)
        }
        guard let grant = named, let removal = try remove(grant, in: exchange) else {
            return try exchange.revoke(FacebookGrant.self, order, noClient: noClient) { grant in
                guard let removal = try remove(grant, in: exchange) else { return false }
                for message in [removal.deauthorization, removal.dataDeletion].compactMap({ $0 }) {
                    exchange.send(message)
                }
                return true
            }
        }
        var told = JSONObject([("revoked", true), ("deauthorization", .null), ("dataDeletion", .null)])
        if let message = removal.deauthorization {
            told["deauthorization"] = .object(await exchange.post(message).json(of: message))
        }
        if let message = removal.dataDeletion { told["dataDeletion"] = .object(await askToDelete(message, exchange)) }
        return ControlAnswer.ok(.object(told))
    }

    private struct Removal: Sendable {
        let deauthorization: OutgoingMessage?
        let dataDeletion: OutgoingMessage?
    }

    /// Ends a person's grant to an app, and returns the messages that the app's server gets about it. Returns `nil` if
    /// the grant had ended before.
    private func remove(_ grant: FacebookGrant, in exchange: Exchange) throws -> Removal? {
        let reason = exchange.cause("the person removed \(Diagnosis.quote(grant.app))")
        let removed = try exchange.world.update { tables -> (account: Account?, at: Instant)? in
            guard tables.remove(grant, because: reason) else { return nil }
            return (tables.account(grant.account), tables.now)
        }
        guard let removed else { return nil }
        guard let account = removed.account, let app = apps[grant.app] else {
            return Removal(deauthorization: nil, dataDeletion: nil)
        }
        func message(to url: String?, lasting lifetime: TimeSpan?) -> OutgoingMessage? {
            url.map { url in
                let request = SignedRequest(
                    about: account.facebook.id, at: removed.at, lasting: lifetime, secret: app.secret)
                return OutgoingMessage(to: url, form: [("signed_request", request.text)])
            }
        }
        return Removal(
            deauthorization: message(to: app.deauthorizeURL, lasting: nil),
            dataDeletion: message(to: app.dataDeletionURL, lasting: .hours(1)))
    }

    /// Sends Facebook's data deletion request to an app's server, and returns a report on the delivery. The server must
    /// answer JSON with `url` and `confirmation_code`.
    private func askToDelete(_ message: OutgoingMessage, _ exchange: Exchange) async -> JSONObject {
        switch await exchange.ask(message, seconds: 5) {
        case .late:
            return JSONObject([("delivered", false), ("url", .string(message.url)), ("failure", "no answer in time")])
        case .failed(let reason):
            return JSONObject([("delivered", false), ("url", .string(message.url)), ("failure", .string(reason))])
        case .answered(let answer):
            let body = try? JSONValue(parsing: answer.body, limits: .answer)
            let (url, code) = (body?["url"]?.string, body?["confirmation_code"]?.string)
            let isGood = (200..<300).contains(answer.status) && url != nil && code != nil
            var told = JSONObject([
                ("delivered", .bool(isGood)), ("url", .string(message.url)), ("attempts", 1),
                ("status", .integer(Int64(answer.status))),
            ])
            told["statusURL"] = url.map { .string($0) }
            told["confirmationCode"] = code.map { .string($0) }
            if !isGood {
                told["failure"] = .string(
                    "the callback must answer 200 and JSON with the texts \"url\" and \"confirmation_code\"")
            }
            return told
        }
    }
}
