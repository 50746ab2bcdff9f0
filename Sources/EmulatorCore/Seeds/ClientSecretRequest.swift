import Time

/// A request to sign a client secret in the place of a client, with a key of the seed.
package struct ClientSecretRequest: Sendable {
    /// The reason why none is made, in a sentence without a full stop.
    package struct Refusal: Error, CustomStringConvertible, Sendable {
        package let description: String

        package init(_ description: String) { self.description = description }
    }

    package let client: String
    /// The ID of the key that signs; `nil` for the first one that can.
    package let keyID: String?
    /// The time from `now` after which the secret expires. Zero or less makes an expired secret.
    package let lifetime: TimeSpan
    package let now: Instant

    package init(client: String, keyID: String? = nil, lifetime: TimeSpan = .hours(1), now: Instant) {
        self.client = client
        self.keyID = keyID
        self.lifetime = lifetime
        self.now = now
    }
}
