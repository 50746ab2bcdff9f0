extension World {
    /// An identity provider.
    public struct Provider: Sendable, Hashable, Codable, RawRepresentable {
        /// The provider's name in the control API.
        public let rawValue: String

        /// Makes a provider of its name in the control API.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Sign in with Apple.
        public static let apple = Provider(rawValue: "apple")
        /// GitHub.
        public static let github = Provider(rawValue: "github")
        /// Google.
        public static let google = Provider(rawValue: "google")
        /// Facebook.
        public static let facebook = Provider(rawValue: "facebook")
        /// Firebase Authentication.
        public static let firebase = Provider(rawValue: "firebase")
        /// The OpenID Connect issuers of the seed.
        public static let openID = Provider(rawValue: "openid")
    }
}
