import Time

/// A code or a token that a provider has given out in a world and still remembers.
package struct IssuedValue: Sendable {
    package enum Kind: String, Sendable {
        case code = "authorization code"
        case accessToken = "access token"
        case refreshToken = "refresh token"
    }

    package let kind: Kind
    /// The ID of the client to which the code or token was given.
    package let client: String
    /// The ID of the person's account; empty if the client acts for itself.
    package let account: String
    /// The redirect URI of the authorization request, for a code; `nil` if it had none.
    package let redirectURI: String?
    /// Whether the authorization request had a `code_challenge`.
    package let hasChallenge: Bool
    /// The time when the code or token expires; `nil` when it lasts until it is revoked.
    package let expires: Instant?
    /// The exchange that redeemed a code.
    package let usedBy: String?

    package init(
        _ kind: Kind, client: String, account: String, redirectURI: String? = nil, hasChallenge: Bool = false,
        expires: Instant?, usedBy: String? = nil
    ) {
        self.kind = kind
        self.client = client
        self.account = account
        self.redirectURI = redirectURI
        self.hasChallenge = hasChallenge
        self.expires = expires
        self.usedBy = usedBy
    }
}

/// The person with a `sub` of an ID token.
package struct KnownSubject: Sendable {
    /// The ID of the person's account; `nil` for a user of an app.
    package let account: String?
    /// A phrase about the person, such as "Ada Lovelace".
    package let about: String

    package init(account: String? = nil, about: String) {
        self.account = account
        self.about = about
    }

    package init(_ account: Account) { self.init(account: account.id, about: account.fullName) }
}

extension World {
    /// Returns the person with this identifier at a provider, in the form of `AccountProfile.identifiers`.
    package func subject(identifier: String) -> KnownSubject? {
        read { $0.first(Account.byIdentifier, identifier) }.map { KnownSubject($0) }
    }
}
