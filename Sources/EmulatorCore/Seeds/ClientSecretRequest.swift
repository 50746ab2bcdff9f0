import Time

/// A client secret that a client signs itself, to be made with a key of the seed.
package struct ClientSecretRequest: Sendable {
    /// Why none is made, in a sentence without a full stop.
    package struct Refusal: Error, CustomStringConvertible, Sendable {
        package let description: String

        package init(_ description: String) { self.description = description }
    }

    package let client: String
    /// The key that signs; `nil` is the first one that can.
    package let keyID: String?
    /// How long it lasts from `now` on. Zero or less makes a secret that has expired.
    package let lifetime: TimeSpan
    package let now: Instant

    package init(client: String, keyID: String? = nil, lifetime: TimeSpan = .hours(1), now: Instant) {
        self.client = client
        self.keyID = keyID
        self.lifetime = lifetime
        self.now = now
    }
}
