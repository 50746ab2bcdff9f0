/// A sign-in that the inspector begins and ends itself, in the place of a client of the seed, for people who look around.
package struct TrialSignIn: Sendable {
    /// How the client proves at the token endpoint who it is.
    package enum Authentication: Sendable {
        case form
        case basic
        /// A public client.
        case none
    }

    /// The provider's name, or an issuer's.
    package let title: String
    package let client: String
    /// The authorization endpoint, below the daemon's address, and what is sent to it beside the client, the redirect URI and the
    /// state.
    package let authorization: (path: String, fields: [(String, String)])
    /// The token endpoint, below the daemon's address.
    package let tokenPath: String
    /// Where an access token says who has signed in, for a provider whose tokens don't.
    package let personPath: String?
    package let authentication: Authentication
    /// Whether a `code_challenge` is wanted.
    package let needsPKCE: Bool

    package init(
        _ title: String, client: String, authorization: String, _ fields: [(String, String)], token: String,
        person: String? = nil, authentication: Authentication = .form, needsPKCE: Bool = false
    ) {
        self.title = title
        self.client = client
        self.authorization = (authorization, [("response_type", "code")] + fields)
        tokenPath = token
        personPath = person
        self.authentication = authentication
        self.needsPKCE = needsPKCE
    }
}

/// A provider whose sign-in can be tried in a browser.
package protocol OffersTrials {
    /// The sign-ins of the seed's clients that have registered `redirectURI`.
    func trials(returningTo redirectURI: String) -> [TrialSignIn]
}
