import Time

/// The seed's section `github`.
package struct GitHubSeed: Decodable, Sendable {
    package enum RedirectMismatch: String, Codable, Sendable {
        case page
        case redirect
    }

    package enum DevicePolling: String, Codable, Sendable {
        case tolerant
        case strict
    }

    package enum Checksum: String, Codable, Sendable {
        case valid
        case invalid
    }

    package struct OAuthApp: Decodable, Sendable {
        package let clientID: String
        package let name: String
        package let clientSecret: String
        package let url: String
        package let description: String?
        package let callbackURLs: [String]
        package let wildcardMatching: Bool
        package let exactCallbackURLs: [String]
        package let deviceFlow: Bool
        package let expiringTokens: Bool
        package let suspended: Bool
        package let interaction: Interaction?
    }

    /// What a GitHub App has beside what an OAuth app has.
    package struct GitHubApp: Decodable, Sendable {
        package let clientID: String
        package let id: Int?
        package let slug: String?
        package let permissions: [String: String]
        package let installations: [String]
        package let webhookURL: String?
        package let webhookSecret: String?
        /// The rest.
        package let common: OAuthApp

        private enum CodingKeys: String, CodingKey {
            case clientID, id, slug, permissions, installations, webhookURL, webhookSecret
        }

        package init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            clientID = try container.decode(String.self, forKey: .clientID)
            id = try container.decodeIfPresent(Int.self, forKey: .id)
            slug = try container.decodeIfPresent(String.self, forKey: .slug)
            permissions = try container.decode([String: String].self, forKey: .permissions)
            installations = try container.decode([String].self, forKey: .installations)
            webhookURL = try container.decodeIfPresent(String.self, forKey: .webhookURL)
            webhookSecret = try container.decodeIfPresent(String.self, forKey: .webhookSecret)
            common = try OAuthApp(from: decoder)
        }
    }

    package struct Organization: Decodable, Sendable {
        package struct Team: Decodable, Sendable {
            package let slug: String
            package let id: Int?
            package let name: String?
            package let description: String?
            package let privacy: String
            package let members: [String]
            package let maintainers: [String]
        }

        package let login: String
        package let id: Int?
        package let name: String?
        package let description: String?
        package let company: String?
        package let blog: String?
        package let location: String?
        package let email: String?
        package let twitterUsername: String?
        package let isVerified: Bool
        package let publicRepos: Int
        package let createdAt: String
        package let updatedAt: String
        package let owners: [String]
        package let publicMembers: [String]
        package let pendingMembers: [String]
        package let oauthAppRestrictions: Bool
        package let approvedApps: [String]
        package let samlEnforced: Bool
        package let teams: [Team]
    }

    package let callbackIssuer: Bool
    package let redirectMismatch: RedirectMismatch
    package let devicePolling: DevicePolling
    package let deviceErrorStatus: String
    package let tokenChecksum: Checksum
    package let codeLifetime: TimeSpan
    package let deviceCodeLifetime: TimeSpan
    package let accessTokenLifetime: TimeSpan
    package let refreshTokenLifetime: TimeSpan
    package let rateLimit: Int
    package let anonymousRateLimit: Int
    package let oauthApps: [OAuthApp]
    package let githubApps: [GitHubApp]
    package let orgs: [Organization]
}
