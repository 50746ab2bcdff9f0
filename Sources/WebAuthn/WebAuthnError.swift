/// Why an authenticator's answer isn't taken, in a sentence's second half.
package struct WebAuthnError: Error, CustomStringConvertible, Sendable {
    package let description: String

    package init(_ description: String) { self.description = description }
}
