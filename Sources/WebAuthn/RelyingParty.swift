import JOSE

/// The site or app for which credentials are made: <https://www.w3.org/TR/webauthn-3/#relying-party>.
package struct RelyingParty: Sendable {
    /// The party's ID, a domain.
    package let id: String
    let hash: [UInt8]
    private let takesOrigin: @Sendable (String) -> Bool

    /// Makes a relying party.
    ///
    /// - Parameter takesOrigin: returns whether pages or apps of an origin may use the credentials.
    package init(id: String, takesOrigin: @escaping @Sendable (String) -> Bool) {
        self.id = id
        self.takesOrigin = takesOrigin
        hash = Digest.sha256(id)
    }

    func takes(_ origin: String) -> Bool { takesOrigin(origin) }
}
