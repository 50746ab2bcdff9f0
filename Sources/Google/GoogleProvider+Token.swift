import JOSE
import EmulatorCore

extension GoogleProvider {
    package func token(for wanted: TokenRequest, in exchange: Exchange) throws(ControlRefusal) -> TokenDraft? {
        guard clients[wanted.client] != nil else {
            throw wanted.noSuchClient("client", hint: hint(for: wanted.client))
        }
        let account = try wanted.person(in: exchange)
        let scopes = (wanted.scopes ?? ["openid", "email", "profile"]).map { GoogleProvider.fullName(ofScope: $0) }
        let grant = GoogleState.Grant(
            account: account.id, client: wanted.client, scopes: scopes, nonce: wanted.nonce)
        let claims = idToken(grant, account, at: exchange.world.now, accessToken: nil)
        return TokenDraft(claims: claims, owner: .google, withType: true)
    }
}
