import EmulatorCore
import HTTPServer
import JSON
import OAuth

extension Issuer {
    /// Handles POST /introspect: <https://datatracker.ietf.org/doc/html/rfc7662>.
    func introspect(_ exchange: Exchange) throws -> Response {
        let form = try exchange.request.parameters()
        let caller = try authenticate(exchange, form)
        guard caller.isConfidential else {
            throw OAuthRefusal("unauthorized_client", Diagnosis("only clients that authenticate may ask"))
        }
        let key = rowKey(of: try form.required("token"), in: exchange)
        let (token, grant, account) = exchange.world.read { tables in
            let token = tables.find(Token<OpenIDGrant>.self, key).flatMap { token in
                token.hasExpired(at: tables.now) || token.details.usedBy != nil ? nil : token
            }
            let grant = token.flatMap { tables.find(OpenIDGrant.self, $0.grant) }
            return (token, grant, grant.flatMap { tables.account($0.account) })
        }
        guard let token, let grant, grant.issuer == id, account != nil || grant.account.isEmpty else {
            return OAuthRefusal.json(["active": false])
        }
        // A client's tokens end with its registration: RFC 7592 section 2.3.
        guard let client = client(grant.client, in: exchange.world) else {
            return OAuthRefusal.json(["active": false])
        }
        var body = JSONObject([("active", true)])
        body.merge(description(of: token, grant, account, for: client, in: exchange))
        body["username"] = account.map { .string($0.id) }
        body["token_type"] = token.kind == .refresh ? nil : token.details.thumbprint == nil ? "Bearer" : "DPoP"
        return OAuthRefusal.json(.object(body))
    }

    /// Handles POST /revoke: <https://datatracker.ietf.org/doc/html/rfc7009>. A refresh token ends its whole grant.
    func revoke(_ exchange: Exchange) throws -> Response {
        let form = try exchange.request.parameters()
        let caller = try authenticate(exchange, form)
        let key = rowKey(of: try form.required("token"), in: exchange)
        let reason = exchange.cause("the client revoked it")
        let isKnown = try exchange.world.update { tables -> Bool in
            // The answer is the same for a token of another issuer: section 2.2.
            guard let token = tables.find(Token<OpenIDGrant>.self, key), token.client.hasPrefix("\(realm) ") else {
                return false
            }
            guard token.client == self.key(of: caller) else {
                // Section 2.1 demands a refusal; which one isn't documented.
                throw OAuthRefusal(
                    "unauthorized_client", Diagnosis("the token was given to another client"))
            }
            tables.remove(Token<OpenIDGrant>.self, key)
            if token.kind == .refresh, let grant = tables.find(OpenIDGrant.self, token.grant) {
                tables.end(grant, because: reason)
            }
            tables.put(EndedCredential<OpenIDGrant>(key, because: reason))
            return true
        }
        let done = Response(status: 200, headers: [(name: "Cache-Control", value: "no-store")])
        return isKnown
            ? done
            : done.noted(Note("nothing was revoked, though the answer is 200: this issuer knows no such token now"))
    }
}
