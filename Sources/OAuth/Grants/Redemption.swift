import EmulatorCore
import Time
import Worlds

/// The checks by which a provider decides whether to redeem an authorization code, in the sequence in which they are
/// made. <https://datatracker.ietf.org/doc/html/rfc6749#section-4.1.3>
package struct Redemption: Sendable {
    package enum Check: Sendable {
        /// The check that the authorization code was issued to the client that sends it.
        case client
        /// The check that the authorization code hasn't been redeemed before.
        case unused
        case unexpired
        /// The check that the redirect URI is that of the authorization request.
        case redirectURI
        /// The check that the code verifier has a valid form, if the authorization request had a code challenge:
        /// <https://datatracker.ietf.org/doc/html/rfc7636#section-4.1>.
        case codeVerifierForm
        /// The check that the code verifier fits the code challenge, if the authorization request had a code challenge.
        case codeVerifier
        /// The check that no code verifier is sent if the authorization request had no code challenge:
        /// <https://datatracker.ietf.org/doc/html/rfc9700#section-4.8.2>.
        case noStrayVerifier
    }

    /// The reason why an authorization code can't be redeemed. Each provider words the error in its own way.
    package enum Failure: Error, Sendable {
        /// The authorization code was never issued, is forgotten, or its grant has ended.
        case unknown
        /// The authorization code was issued to a different client, whose ID is given.
        case otherClient(String)
        /// The authorization code was redeemed before, by the HTTP request with this ID.
        case used(by: String)
        /// The authorization code has expired. The value is the time since then.
        case expired(TimeSpan)
        /// The redirect URI differs from `expected`, the redirect URI of the authorization request.
        case redirectURIMismatch(expected: String?)
        /// The code verifier is wrong, missing or unexpected. The associated sentence says why.
        case codeVerifier(String)
        /// The account for which the authorization code was issued doesn't exist any more.
        case noAccount

        /// The reason why the authorization code can't be redeemed, as a clause of an error message.
        package var reason: String {
            switch self {
            case .unknown: "this world has issued no such code, has forgotten it, or its grant was revoked"
            case .otherClient(let client): "the code was issued to \(Diagnosis.quote(client))"
            case .used(let exchange): "a code works once, and request \(exchange) redeemed this one"
            case .expired(let age): "the code expired \(age.inWords) ago"
            case .redirectURIMismatch(let expected):
                expected.map { "redirect_uri must be \(Diagnosis.quote($0))" }
                    ?? "the authorization had no redirect_uri"
            case .codeVerifier(let sentence): sentence
            case .noAccount: "the user's account was deleted"
            }
        }

        /// Returns the reason why the authorization code can't be redeemed, as a clause of an error message. If the
        /// code has expired, the reason includes the lifetime of the provider's codes.
        package func fullReason(codesLasting lifetime: TimeSpan) -> String {
            guard case .expired = self else { return reason }
            return "\(reason): a code is valid for \(lifetime.inWords) by the test world's clock"
        }
    }

    /// A client's request to redeem an authorization code.
    package struct Request: Sendable {
        package let code: String
        package let client: String
        package let redirectURI: String?
        package let codeVerifier: String?
        /// The ID of the HTTP request by which the client redeems the authorization code.
        package let exchange: String

        package init(
            code: String, client: String, redirectURI: String?, codeVerifier: String? = nil, exchange: String
        ) {
            self.code = code
            self.client = client
            self.redirectURI = redirectURI
            self.codeVerifier = codeVerifier
            self.exchange = exchange
        }
    }

    package struct Redeemed<Grant: OAuthGrant>: Sendable {
        package let code: AuthorizationCode<Grant>
        package let grant: Grant
        package let account: Account
        package let at: Instant
    }

    private let checks: [Check]
    private let redirectURIFits: @Sendable (_ sent: String?, _ authorized: String?) -> Bool

    /// Makes a provider's rules for redeeming authorization codes. Redirect URIs must be equal, unless
    /// `redirectURIFits` decides otherwise.
    package init(
        checks: [Check],
        redirectURIFits: @escaping @Sendable (_ sent: String?, _ authorized: String?) -> Bool = { $0 == $1 }
    ) {
        self.checks = checks
        self.redirectURIFits = redirectURIFits
    }

    /// Redeems an authorization code, after which it can't be used again. If a check fails, the code stays unchanged.
    package func redeem<Grant: OAuthGrant>(
        _ type: Grant.Type, _ request: Request, in tables: inout Transaction
    ) throws(Failure) -> Redeemed<Grant> {
        let now = tables.now
        guard var code = tables.find(AuthorizationCode<Grant>.self, request.code) else { throw .unknown }
        for check in checks {
            if let failure = failure(of: check, code, request, now) { throw failure }
        }
        guard let grant = tables.find(Grant.self, code.grant), let account = tables.account(grant.account) else {
            throw .noAccount
        }
        code.usedBy = request.exchange
        tables.put(code)
        return Redeemed(code: code, grant: grant, account: account, at: now)
    }

    private func failure<Grant: OAuthGrant>(
        of check: Check, _ code: AuthorizationCode<Grant>, _ request: Request, _ now: Instant
    ) -> Failure? {
        switch check {
        case .client: code.client == request.client ? nil : .otherClient(code.client)
        case .unused: code.usedBy.map { .used(by: $0) }
        case .unexpired: code.expires > now ? nil : .expired(now - code.expires)
        case .redirectURI:
            redirectURIFits(request.redirectURI, code.redirectURI)
                ? nil : .redirectURIMismatch(expected: code.redirectURI)
        case .codeVerifierForm:
            code.challenge.flatMap { _ in CodeChallenge.fault(inFormOf: request.codeVerifier) }.map {
                .codeVerifier($0)
            }
        case .codeVerifier: code.challenge?.fault(of: request.codeVerifier).map { .codeVerifier($0) }
        case .noStrayVerifier:
            code.challenge == nil && request.codeVerifier != nil
                ? .codeVerifier("there is a code_verifier, but the authorization request had no code_challenge") : nil
        }
    }
}

/// A provider's additional data about a token. They record whether a refresh token has been used, so that it can be
/// limited to a single use: <https://datatracker.ietf.org/doc/html/rfc9700#section-4.14.2>.
package protocol RotatingDetails: Codable, Sendable {
    /// The ID of the HTTP request that has used up the refresh token; `nil` for a token that isn't used up.
    var usedBy: String? { get set }
}

extension Transaction {
    /// Uses a client's refresh token. If `rotates` is true, the refresh token works only once, and a second use ends
    /// the grant. A failure is returned and not thrown, because the transaction that ends the grant must be committed.
    /// `name` returns how an error message names a client.
    package mutating func use<Grant: OAuthGrant>(
        refreshToken text: String, of client: String, _ type: Grant.Type, rotates: Bool, by exchange: String,
        naming name: (_ client: String) -> String
    ) -> Result<(token: Token<Grant>, grant: Grant, account: Account), OAuthRefusal>
    where Grant.TokenDetails: RotatingDetails {
        guard let found = working(text, .refresh, type) else {
            let reason = reason(againstUsing: text, .refresh, type)
            return .failure(OAuthRefusal("invalid_grant", Diagnosis("the refresh token is invalid: \(reason)")))
        }
        guard found.token.client == client else {
            let reason =
                "the refresh token was issued to \(name(found.token.client)), not to \(name(client)) that sent it"
            return .failure(OAuthRefusal("invalid_grant", Diagnosis(reason)))
        }
        if let user = found.token.details.usedBy {
            let reason = "request \(user) has already used this refresh token, so all tokens of the sign-in are revoked"
            end(found.grant, because: "request \(exchange) sent a refresh token that request \(user) had already used")
            return .failure(OAuthRefusal("invalid_grant", Diagnosis(reason)))
        }
        if rotates {
            _ = change(Token<Grant>.self, text) { $0.details.usedBy = exchange }
        }
        return .success(found)
    }

    /// Redeems an authorization code. If `reuseRevokes` is true, a second use ends the grant and the tokens that the
    /// first use returned: <https://datatracker.ietf.org/doc/html/rfc6749#section-4.1.2>. A failure is returned and not
    /// thrown, because the transaction that ends the grant must be committed. `name` returns how an error message names
    /// a client.
    package mutating func redeem<Grant: OAuthGrant>(
        _ type: Grant.Type, _ request: Redemption.Request, by redemption: Redemption, reuseRevokes: Bool,
        naming name: (_ client: String) -> String
    ) -> Result<Redemption.Redeemed<Grant>, OAuthRefusal> {
        do throws(Redemption.Failure) {
            return .success(try redemption.redeem(type, request, in: &self))
        } catch {
            if case .used = error, reuseRevokes, let code = find(AuthorizationCode<Grant>.self, request.code),
                let grant = find(Grant.self, code.grant)
            {
                // The code is kept, so that a further use gets the same answer.
                remove(Grant.self, grant.key)
                endTokens(
                    of: grant,
                    because: "request \(request.exchange) sent the authorization code of this sign-in a second time")
            }
            if case .otherClient(let owner) = error {
                let reason =
                    "the authorization code was issued to \(name(owner)), not to \(name(request.client)) that sent it"
                return .failure(OAuthRefusal("invalid_grant", Diagnosis(reason)))
            }
            if case .unknown = error, let ended = find(EndedCredential<Grant>.self, request.code) {
                return .failure(
                    OAuthRefusal("invalid_grant", Diagnosis("the authorization code is invalid: \(ended.reason)")))
            }
            return .failure(OAuthRefusal("invalid_grant", Diagnosis(error.reason)))
        }
    }
}
