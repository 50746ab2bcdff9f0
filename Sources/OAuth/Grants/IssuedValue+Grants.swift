import EmulatorCore

extension World {
    /// Describes a code or a token of one provider; `nil` if it was never issued or is forgotten. `client` returns the
    /// client of a grant, for values that don't name it.
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
