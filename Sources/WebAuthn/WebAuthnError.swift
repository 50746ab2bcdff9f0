/// The reason why an authenticator's WebAuthn response is refused, as the second half of a sentence.
package struct WebAuthnError: Error, CustomStringConvertible, Sendable {
    package let description: String

    package init(_ description: String) { self.description = description }
}
