import JOSE

/// Whose credentials are made and used: <https://www.w3.org/TR/webauthn-3/#relying-party>.
package struct RelyingParty: Sendable {
    /// A domain.
    package let id: String
    let hash: [UInt8]
    private let takesOrigin: @Sendable (String) -> Bool

    /// - Parameter takesOrigin: whether pages or apps of an origin may use the credentials.
    package init(id: String, takesOrigin: @escaping @Sendable (String) -> Bool) {
        self.id = id
        self.takesOrigin = takesOrigin
        hash = Digest.sha256(id)
    }

    func takes(_ origin: String) -> Bool { takesOrigin(origin) }
}
