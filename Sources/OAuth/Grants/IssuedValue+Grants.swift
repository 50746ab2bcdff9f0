import EmulatorCore

extension World {
    /// The code or the token of one provider's grants; `nil` when there is no such one, or it is forgotten. `client` says whose
    /// it is where codes and tokens don't.
    package func issued<Grant: OAuthGrant>(
        _ text: String, _ type: Grant.Type, client: @Sendable (Grant) -> String? = { _ in nil }
    ) -> IssuedValue? {
        read { tables in
            if let code = tables.find(AuthorizationCode<Grant>.self, text) {
                let grant = tables.find(Grant.self, code.grant)
                return IssuedValue(
                    .code, client: grant.flatMap(client) ?? code.client, account: grant?.account ?? "",
                    redirectURI: code.redirectURI, hasChallenge: code.challenge != nil, expires: code.expires,
                    usedBy: code.usedBy)
            }
            guard let token = tables.find(Token<Grant>.self, text) else { return nil }
            let grant = tables.find(Grant.self, token.grant)
            return IssuedValue(
                token.kind == .access ? .accessToken : .refreshToken, client: grant.flatMap(client) ?? token.client,
                account: grant?.account ?? "", expires: token.expires)
        }
    }
}
