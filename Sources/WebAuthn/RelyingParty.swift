import JOSE

/// The WebAuthn relying party: the site or app for which credentials are made.
/// <https://www.w3.org/TR/webauthn-3/#relying-party>
package struct RelyingParty: Sendable {
    /// The ID of the WebAuthn relying party, a domain.
    package let id: String
    let hash: [UInt8]
    private let acceptsOrigin: @Sendable (String) -> Bool

    /// Makes a WebAuthn relying party.
    ///
    /// - Parameter acceptsOrigin: returns whether the pages or apps of an origin may use the party's credentials.
    package init(id: String, acceptsOrigin: @escaping @Sendable (String) -> Bool) {
        self.id = id
        self.acceptsOrigin = acceptsOrigin
        hash = Digest.sha256(id)
    }

    func accepts(_ origin: String) -> Bool { acceptsOrigin(origin) }
}
