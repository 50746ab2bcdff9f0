import JOSE
import Stage

extension AppleProvider {
    /// The token of somebody who has consented, whether or not they have; nothing is granted.
    package func token(for order: TokenOrder, in exchange: Exchange) throws(ControlRefusal) -> TokenDraft? {
        guard let client = directory.clients[order.client] else {
            throw order.noSuchClient("App ID or Services ID", hint: directory.hint(for: order.client))
        }
        let account = try order.signer(in: exchange)
        let scopes = order.scopes ?? [AppleScope.email.rawValue]
        let key = AppleState.GrantKey(account: account.id, team: client.team, group: client.group)
        let (known, now) = exchange.world.withState { state in
            let number = state[AppleState.self].grantNumber(key)
            return (number.flatMap { state[AppleState.self].grants[$0] }, state.clock.now)
        }
        let granted = AppleScope.allCases.filter { scopes.contains($0.rawValue) || scopes.contains($0.nativeName) }
        let grant =
            known
            ?? AppleState.Grant(
                key: key, client: client.id, sharesEmail: account.apple.shareEmail, scopes: Set(granted))
        let token = IDToken(
            issuer: issuer(exchange), client: client, grant: grant, account: account, nonce: order.nonce,
            authenticatedAt: now, issuedAt: now)
        return TokenDraft(claims: token.claims(settings), owner: .apple, withType: false)
    }
}
