import HTTPServer
import JOSE
import OAuth
import EmulatorCore

// POST /auth/revoke
// https://developer.apple.com/documentation/signinwithapplerestapi/revoke-tokens
//
// Quirks: the answer is 200 with an empty body, even if a token is already revoked or never existed
// (https://developer.apple.com/forums/thread/707610). The whole grant ends. A code can't be revoked: redeem it first.

extension AppleProvider {
    func revoke(_ exchange: Exchange) throws -> Response {
        let form = exchange.request.bodyForm
        do {
            let client = try authenticate(exchange, form)
            guard let text = form["token"], !text.isEmpty else {
                throw AppleError(
                    .invalidRequest, nil, Diagnosis("token is missing: send an access token or a refresh token"))
            }
            let done = Response(status: 200)
            guard let grant = grant(of: text, client, exchange.world) else {
                let what = AppleToken.describe(text)
                let advice =
                    "nothing was revoked, though Apple answers 200: send a current access_token or refresh_token of this client_id"
                return done.noted(Note(Diagnosis(received: what, advice)))
            }
            try endGrant(grant, in: exchange, by: client.id, because: exchange.cause("the app revoked it"))
            return done
        } catch let error as AppleError {
            return error.jsonResponse
        }
    }

    /// Returns the grant of a token. `token_type_hint` isn't needed: the form of a token shows its kind.
    private func grant(of text: String, _ client: AppleDirectory.Client, _ world: World) -> AppleGrant? {
        world.read { tables in
            guard let token = tables.find(Token<AppleGrant>.self, text), token.client == client.id,
                !token.hasExpired(at: tables.now)
            else { return nil }
            return tables.find(AppleGrant.self, token.grant)
        }
    }

    /// Ends a grant and notifies the team's server, in the background. Returns `false` if it had ended before.
    @discardableResult
    func endGrant(_ grant: AppleGrant, in exchange: Exchange, by client: String, because reason: String) throws -> Bool
    {
        guard try exchange.world.update({ $0.revoke(grant, because: reason) }) else { return false }
        let event = AppleEvent(kind: .consentRevoked, account: grant.account, client: client, grant: grant)
        try tell(of: event, in: exchange)
        return true
    }
}
