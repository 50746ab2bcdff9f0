/// A sign-in that the inspector begins and ends itself, in place of a client of the seed, for people who want to try
/// it.
package struct TrialSignIn: Sendable {
    /// The way in which the client authenticates at the token endpoint.
    package enum Authentication: Sendable {
        case form
        case basic
        /// No authentication, for a public client.
        case none
    }

    /// The name of the provider, or of an issuer.
    package let title: String
    package let client: String
    /// The authorization endpoint, below the daemon's address, and the fields of the request beside the client, the
    /// redirect URI and the state.
    package let authorization: (path: String, fields: [(String, String)])
    /// The token endpoint, below the daemon's address.
    package let tokenPath: String
    /// The path that returns the person for an access token, for a provider whose tokens don't name the person.
    package let personPath: String?
    package let authentication: Authentication
    /// Whether a `code_challenge` is required.
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
    /// Returns sign-ins of the seed's clients that have registered `redirectURI`.
    func trials(returningTo redirectURI: String) -> [TrialSignIn]
}
