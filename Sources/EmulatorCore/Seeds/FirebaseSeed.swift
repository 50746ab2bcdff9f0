import Time

/// The seed's section `firebase`.
package struct FirebaseSeed: Decodable, Sendable {
    package enum IDTokenSignature: String, Decodable, Sendable {
        /// RS256 for requests that named a real host, none for those in emulator mode.
        case auto
        case rs256 = "RS256"
        case none
    }

    package struct Switch: Decodable, Sendable {
        package let enabled: Bool
    }

    package struct ApplePart: Decodable, Sendable {
        package let enabled: Bool
        package let bundleIDs: [String]
        package let servicesID: String?
        package let teamID: String?
        package let keyID: String?
        /// PEM.
        package let privateKey: String?
        package let revokeNativeCodes: Bool
    }

    package struct GitHubPart: Decodable, Sendable {
        package let enabled: Bool
        package let clientID: String
        package let clientSecret: String?
    }

    package struct GooglePart: Decodable, Sendable {
        package let enabled: Bool
        package let clientIDs: [String]
    }

    package struct FacebookPart: Decodable, Sendable {
        package let enabled: Bool
        package let appID: String
        package let appSecret: String?
    }

    package struct Phone: Decodable, Sendable {
        package let enabled: Bool
        package let testNumbers: [String: String]
    }

    package struct Providers: Decodable, Sendable {
        package let password: Switch?
        package let anonymous: Switch?
        package let phone: Phone?
        package let apple: ApplePart?
        package let github: GitHubPart?
        package let google: GooglePart?
        package let facebook: FacebookPart?

        private enum CodingKeys: String, CodingKey {
            case password, anonymous, phone
            case apple = "apple.com"
            case github = "github.com"
            case google = "google.com"
            case facebook = "facebook.com"
        }

        /// What a project that nobody seeded begins with: the methods that need no provider.
        package static let plain = Providers(
            password: Switch(enabled: true), anonymous: Switch(enabled: true),
            phone: Phone(enabled: true, testNumbers: [:]), apple: nil, github: nil, google: nil, facebook: nil)

        private init(
            password: Switch?, anonymous: Switch?, phone: Phone?, apple: ApplePart?, github: GitHubPart?,
            google: GooglePart?, facebook: FacebookPart?
        ) {
            self.password = password
            self.anonymous = anonymous
            self.phone = phone
            self.apple = apple
            self.github = github
            self.google = google
            self.facebook = facebook
        }
    }

    package struct Link: Decodable, Sendable {
        package let providerId: String
        package let rawId: String
        package let email: String?
        package let displayName: String?
        package let photoUrl: String?
        package let screenName: String?
    }

    package struct Factor: Decodable, Sendable {
        package let id: String
        package let displayName: String?
        package let phoneNumber: String?
        /// Base32.
        package let totpSecret: String?
    }

    package struct MFA: Decodable, Sendable {
        package let state: String
        package let providers: [String]

        package static let off = MFA(state: "DISABLED", providers: [])
        package static let all = MFA(state: "ENABLED", providers: ["phone", "totp"])

        package init(state: String, providers: [String]) {
            self.state = state
            self.providers = providers
        }

        package func allows(_ provider: String) -> Bool { state != "DISABLED" && providers.contains(provider) }
    }

    package struct User: Decodable, Sendable {
        package let localId: String
        package let email: String?
        package let emailVerified: Bool
        package let password: String?
        package let displayName: String?
        package let photoUrl: String?
        package let phoneNumber: String?
        package let disabled: Bool
        /// A JSON object, as text.
        package let customClaims: String?
        package let links: [Link]
        package let factors: [Factor]
    }

    package struct Project: Decodable, Sendable {
        package let id: String
        package let number: String?
        package let apiKeys: [String]
        package let authorizedDomains: [String]
        package let oneAccountPerEmail: Bool
        package let emailEnumerationProtection: Bool
        package let providers: Providers
        package let acceptFakeCredentials: Bool
        package let idTokenSignature: IDTokenSignature
        package let mfa: MFA
        package let users: [User]
    }

    package let signingKeys: [SigningKey]
    package let idTokenLifetime: TimeSpan
    package let recentLoginWindow: TimeSpan
    package let pendingTokenLifetime: TimeSpan
    package let projects: [Project]
}
