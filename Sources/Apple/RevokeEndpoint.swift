import HTTPServer
import JOSE
import OAuth
import EmulatorCore

// POST /auth/revoke
// https://developer.apple.com/documentation/signinwithapplerestapi/revoke-tokens
//
// Quirks: 200 with an empty body, also for a token that is already revoked or never existed
// (https://developer.apple.com/forums/thread/707610). It ends the whole grant. A code can't be revoked: redeem it first.

extension AppleProvider {
    func revoke(_ exchange: Exchange) -> Response {
        let form = exchange.request.bodyForm
        do throws(AppleError) {
            let client = try authenticate(exchange, form)
            guard let text = form["token"], !text.isEmpty else {
                throw AppleError(
                    .invalidRequest, nil, Diagnosis("token is missing: send an access token or a refresh token"))
            }
            let done = Response(status: 200)
            guard let number = grantNumber(of: text, client, exchange.world) else {
                let what = AppleToken.describe(text)
                let advice =
                    "nothing was revoked, though Apple answers 200: send a current access_token or refresh_token of this client_id"
                return done.diagnosed(Diagnosis(received: what, advice))
            }
            endGrant(number, in: exchange, by: client.id)
            return done
        } catch {
            return error.jsonResponse
        }
    }

    /// The hint isn't needed: a token says itself what it is.
    private func grantNumber(of text: String, _ client: AppleDirectory.Client, _ world: World) -> Int? {
        world.update { state in
            let now = state.clock.now
            if let name = AppleToken.refresh.name(in: text) {
                let token = state[AppleState.self].refreshTokens[name]
                return token?.client == client.id ? token?.grant : nil
            }
            if let name = AppleToken.access.name(in: text) {
                let entry = state[AppleState.self].accessTokens[name]
                return entry?.value.client == client.id && (entry?.expires ?? .first) > now ? entry?.value.grant : nil
            }
            return nil
        }
    }

    /// Ends a grant and tells the team's server, in the background.
    func endGrant(_ number: Int, in exchange: Exchange, by client: String) {
        let grant = exchange.world.update { state in
            let grant = state[AppleState.self].grants[number]
            state[AppleState.self].end(number)
            return grant
        }
        guard let grant else { return }
        let event = AppleEvent(kind: .consentRevoked, account: grant.key.account, client: client, grant: grant)
        if let notification = notification(event, in: exchange) { notifier.send(notification) }
    }
}
