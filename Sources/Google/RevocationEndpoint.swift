import EmulatorCore
import HTTPServer
import OAuth

// POST https://oauth2.googleapis.com/revoke
// https://developers.google.com/identity/protocols/oauth2/web-server#tokenrevoke
//
// Quirks: either token ends the whole grant. An older address accepts GET.

extension GoogleProvider {
    func revokeByPost(_ exchange: Exchange) throws -> Response {
        let body = exchange.request.bodyForm
        return try revoke(exchange, body["token"] == nil ? exchange.request.queryForm : body)
    }

    func revoke(_ exchange: Exchange, _ form: Form) throws -> Response {
        let text = form["token"] ?? ""
        // A missing or empty token is treated as invalid. Not documented.
        let moment = exchange.cause("revoked it")
        let isRevoked = try exchange.world.update { tables in
            guard let token = tables.find(Token<GoogleGrant>.self, text), !token.hasExpired(at: tables.now),
                let grant = tables.find(GoogleGrant.self, token.grant), !tables.endIfExpired(grant)
            else { return false }
            tables.end(grant, because: "\(grant.client) \(moment)")
            return true
        }
        guard isRevoked else {
            let reason = exchange.reason(againstUsing: text, .access, GoogleGrant.self)
            return GoogleError(
                "invalid_token", "Token expired or revoked", Diagnosis("the token can't be revoked: \(reason)")
            ).jsonResponse
        }
        return GoogleProvider.json([:])
    }
}
