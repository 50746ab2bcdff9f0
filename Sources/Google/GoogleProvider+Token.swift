import EmulatorCore

extension GoogleProvider {
    package func token(for wanted: TokenRequest, in exchange: Exchange) throws(ControlRefusal) -> TokenDraft? {
        guard clients[wanted.client] != nil else {
            throw wanted.noSuchClient("client", hint: clients.hint(for: wanted.client))
        }
        let account = try wanted.person(in: exchange)
        let scopes = GoogleScopes(wanted.scopes ?? ["openid", "email", "profile"])
        let token = IDToken(
            issuer: issuer(exchange), client: wanted.client, account: account,
            details: GoogleGrant.TokenDetails(scopes: scopes, nonce: wanted.nonce, isOffline: false),
            issuedAt: exchange.world.now)
        return TokenDraft(claims: token.claims, owner: .google, type: "JWT")
    }
}
