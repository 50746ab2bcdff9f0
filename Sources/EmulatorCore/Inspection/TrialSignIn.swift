/// A sign-in that the inspector begins and finishes itself, in the role of one of the seed's clients, so that users can
/// try the provider's sign-in page.
package struct TrialSignIn: Sendable {
    /// The way in which the client of a trial sign-in authenticates at the token endpoint.
    package enum Authentication: Sendable {
        case form
        case basic
        /// The client is a public client and doesn't authenticate.
        case none
    }

    /// The name of the provider, or of the OpenID issuer, at which the trial sign-in takes place.
    package let title: String
    package let client: String
    /// The path of the authorization endpoint at the daemon's address, and the fields of the authorization request
    /// besides the client, the redirect URI, the state and the code challenge.
    package let authorization: (path: String, fields: [(String, String)])
    /// The path of the token endpoint at the daemon's address.
    package let tokenPath: String
    /// The path of the endpoint that returns data about the person for an access token; `nil` for a provider whose
    /// tokens identify the person.
    package let personPath: String?
    package let authentication: Authentication
    /// Whether the authorization request must have a `code_challenge`.
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
    /// Returns trial sign-ins, in which the inspector takes a client's role, for the seed's clients that have
    /// registered `redirectURI`. A client whose role the inspector can't take, such as one with a private key, is left
    /// out.
    func trials(returningTo redirectURI: String) -> [TrialSignIn]
}
