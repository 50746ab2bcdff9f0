import Time

/// The seed's section `apple`.
package struct AppleSeed: Codable, Sendable {
    package enum Issuer: String, Codable, Sendable {
        case provider
        case request
    }

    package enum BooleanClaims: String, Codable, Sendable {
        case boolean
        case string
    }

    package struct Team: Codable, Sendable {
        package struct Key: Codable, Sendable {
            package let id: String
            package let publicKey: String
        }

        package struct Transfer: Codable, Sendable {
            package let fromTeam: String
            package let at: Instant
        }

        package struct App: Codable, Sendable {
            package let bundleID: String
            package let primaryApp: String?
            package let transfer: Transfer?
            package let interaction: Interaction?
        }

        package struct Service: Codable, Sendable {
            package let id: String
            package let primaryApp: String
            package let returnURLs: [String]
            package let allowInsecureReturnURLs: Bool
            package let interaction: Interaction?
        }

        package struct Relay: Codable, Sendable {
            package let senders: [String]
            package let domains: [String]
        }

        package let id: String
        package let keys: [Key]
        package let apps: [App]
        package let services: [Service]
        package let relay: Relay
        package let notificationsURL: String?
    }

    package let issuer: Issuer
    package let booleanClaims: BooleanClaims
    package let accountDeletedEvent: String
    package let crossSiteFormPost: Bool
    package let codeLifetime: TimeSpan
    package let idTokenLifetime: TimeSpan
    package let keyRotation: TimeSpan?
    package let signingKeys: [SigningKey]
    package let teams: [Team]
}
