import JOSE
import Stage

extension GoogleProvider {
    package func token(for order: TokenOrder, in exchange: Exchange) throws(ControlRefusal) -> TokenDraft? {
        guard clients[order.client] != nil else {
            throw order.noSuchClient("client", hint: hint(for: order.client))
        }
        let account = try order.signer(in: exchange)
        let scopes = (order.scopes ?? ["openid", "email", "profile"]).map { GoogleProvider.fullName(ofScope: $0) }
        let grant = GoogleState.Grant(
            account: account.id, client: order.client, scopes: scopes, nonce: order.nonce)
        let claims = idToken(grant, account, at: exchange.world.now, accessToken: nil)
        return TokenDraft(claims: claims, owner: .google, withType: true)
    }
}
