import EmulatorCore
import Time

/// How a provider redeems an authorization code: which checks it makes, and in which order.
/// <https://datatracker.ietf.org/doc/html/rfc6749#section-4.1.3>
package struct Redemption: Sendable {
    package enum Check: Sendable {
        /// The code was given to the client that sends it.
        case client
        /// Nobody has redeemed it.
        case unused
        case unexpired
        /// The redirect URI is the authorization request's.
        case redirectURI
        /// The verifier, if a challenge needs one, has the form of one: <https://datatracker.ietf.org/doc/html/rfc7636#section-4.1>.
        case codeVerifierForm
        /// The verifier meets the challenge of the authorization request, if that had one.
        case codeVerifier
        /// There is no verifier where the authorization request had no challenge:
        /// <https://datatracker.ietf.org/doc/html/rfc9700#section-4.8.2>.
        case noStrayVerifier
    }

    /// What was wrong with a code. A provider words it.
    package enum Failure: Error, Sendable {
        /// No such code: never given out, forgotten, or its grant has ended.
        case unknown
        /// It was given to the client that is named here.
        case otherClient(String)
        /// The exchange that redeemed it.
        case used(by: String)
        /// How long ago.
        case expired(TimeSpan)
        /// What the authorization request had.
        case redirectURIMismatch(expected: String?)
        /// In a sentence.
        case codeVerifier(String)
        /// The person is gone.
        case noAccount

        /// For those that have the same reason at every provider.
        package var reason: String {
            switch self {
            case .unknown: "this world has given out no such code, it is long gone, or its grant was revoked"
            case .otherClient(let client): "the code was given to \(Diagnosis.quote(client))"
            case .used(let exchange): "a code works once, and request \(exchange) redeemed this one"
            case .expired(let age): "the code expired \(age.inWords) ago"
            case .redirectURIMismatch(let expected):
                expected.map { "redirect_uri must be \(Diagnosis.quote($0))" }
                    ?? "the authorization had no redirect_uri"
            case .codeVerifier(let sentence): sentence
            case .noAccount: "the account is gone"
            }
        }
    }

    /// What the client sends.
    package struct Request: Sendable {
        package let code: String
        package let client: String
        package let redirectURI: String?
        package let codeVerifier: String?
        /// The exchange that redeems the code.
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

    /// The same redirect URI, character by character, unless `redirectURIFits` says otherwise.
    package init(
        checks: [Check],
        redirectURIFits: @escaping @Sendable (_ sent: String?, _ authorized: String?) -> Bool = { $0 == $1 }
    ) {
        self.checks = checks
        self.redirectURIFits = redirectURIFits
    }

    /// Redeems the code, which then has been used. A refusal leaves it as it was.
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
