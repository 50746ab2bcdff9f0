import EmulatorCore

/// The details of tokens at a provider whose refresh tokens may work only once:
/// <https://datatracker.ietf.org/doc/html/rfc9700#section-4.14.2>.
package protocol RotatingDetails: Codable, Sendable {
    /// The ID of the exchange that has used the refresh token.
    var usedBy: String? { get set }
}

extension Transaction {
    /// Uses a client's refresh token. With `rotates`, it works once, and a second use ends the grant. A refusal is
    /// returned, not thrown, because that end must be committed.
    package mutating func use<Grant: OAuthGrant>(
        refreshToken text: String, of client: String, _ type: Grant.Type, rotates: Bool, by exchange: String
    ) -> Result<(token: Token<Grant>, grant: Grant, account: Account), OAuthRefusal>
    where Grant.TokenDetails: RotatingDetails {
        guard let found = working(text, .refresh, type) else {
            let reason = reason(againstUsing: text, .refresh, type)
            return .failure(OAuthRefusal("invalid_grant", Diagnosis("the refresh token doesn't work: \(reason)")))
        }
        guard found.token.client == client else {
            return .failure(OAuthRefusal("invalid_grant", Diagnosis("the refresh token is another client's")))
        }
        if let user = found.token.details.usedBy {
            let reason = "request \(user) has used this refresh token up, so all that came of the sign-in is revoked"
            end(found.grant, because: "request \(exchange) sent a refresh token again that request \(user) had used up")
            return .failure(OAuthRefusal("invalid_grant", Diagnosis(reason)))
        }
        if rotates {
            _ = change(Token<Grant>.self, text) { $0.details.usedBy = exchange }
        }
        return .success(found)
    }

    /// Redeems a code. With `reuseRevokes`, a second use ends the grant and the tokens of the first:
    /// <https://datatracker.ietf.org/doc/html/rfc6749#section-4.1.2>. A refusal is returned, not thrown, because that
    /// end must be committed.
    package mutating func redeem<Grant: OAuthGrant>(
        _ type: Grant.Type, _ request: Redemption.Request, by redemption: Redemption, reuseRevokes: Bool
    ) -> Result<Redemption.Redeemed<Grant>, OAuthRefusal> {
        do throws(Redemption.Failure) {
            return .success(try redemption.redeem(type, request, in: &self))
        } catch {
            if case .used = error, reuseRevokes, let code = find(AuthorizationCode<Grant>.self, request.code),
                let grant = find(Grant.self, code.grant)
            {
                // The code is kept, so that a further use gets the same answer.
                remove(Grant.self, grant.key)
                endTokens(of: grant, because: "request \(request.exchange) sent the code of this sign-in a second time")
            }
            if case .otherClient = error {
                return .failure(OAuthRefusal("invalid_grant", Diagnosis("the code was given to another client")))
            }
            if case .unknown = error, let ended = find(EndedCredential<Grant>.self, request.code) {
                return .failure(OAuthRefusal("invalid_grant", Diagnosis("the code doesn't work: \(ended.reason)")))
            }
            return .failure(OAuthRefusal("invalid_grant", Diagnosis(error.reason)))
        }
    }
}
