import JOSE
import EmulatorCore

extension AppleProvider {
    /// Returns the token that the person would get after consenting. Consent is neither needed nor recorded.
    package func token(for wanted: TokenRequest, in exchange: Exchange) throws(ControlRefusal) -> TokenDraft? {
        guard let client = directory.clients[wanted.client] else {
            throw wanted.noSuchClient("App ID or Services ID", hint: directory.hint(for: wanted.client))
        }
        let account = try wanted.person(in: exchange)
        let scopes = wanted.scopes ?? [AppleScope.email.rawValue]
        let (known, now) = exchange.world.read { ($0.grant(account.id, to: client), $0.now) }
        let granted = AppleScope.allCases.filter { scopes.contains($0.rawValue) || scopes.contains($0.nativeName) }
        let grant =
            known
            ?? AppleGrant(
                account: account.id, team: client.team, group: client.group, client: client.id, since: now,
                sharesEmail: account.apple.shareEmail, scopes: Set(granted))
        let token = IDToken(
            issuer: issuer(exchange), client: client, grant: grant, account: account, nonce: wanted.nonce,
            authenticatedAt: now, issuedAt: now)
        return TokenDraft(claims: token.claims(settings), owner: .apple, type: nil)
    }
}
