import Time

/// The seed's section `google`.
package struct GoogleSeed: Decodable, Sendable {
    package struct Client: Decodable, Sendable {
        package let clientID: String
        package let clientSecret: String
        package let name: String
        package let redirectURIs: [String]
        package let interaction: Interaction?
    }

    package let signingKeys: [SigningKey]
    package let codeLifetime: TimeSpan
    package let clients: [Client]
}

/// The seed's section `facebook`.
package struct FacebookSeed: Decodable, Sendable {
    package struct App: Decodable, Sendable {
        package let appID: String
        package let appSecret: String
        package let name: String
        package let redirectURIs: [String]
        package let interaction: Interaction?
    }

    package let signingKeys: [SigningKey]
    package let apps: [App]
}
