import Foundation

/// A sign-in with Apple that came to nothing, with the domain and the codes of `ASAuthorizationError`, also where there is no
/// AuthenticationServices: `(error as NSError).code` is the same.
public struct AppleAuthorizationError: Error, Sendable, Hashable {
    /// `ASAuthorizationError.Code`: <https://developer.apple.com/documentation/authenticationservices/asauthorizationerror-swift.struct/code>.
    public struct Code: Sendable, Hashable, RawRepresentable {
        /// The number.
        public let rawValue: Int

        /// A code by its number.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// It failed, and nobody says why.
        public static let unknown = Code(rawValue: 1000)
        /// The person cancelled.
        public static let canceled = Code(rawValue: 1001)
        /// Apple's answer can't be used.
        public static let invalidResponse = Code(rawValue: 1002)
        /// Nobody handled the request.
        public static let notHandled = Code(rawValue: 1003)
        /// It failed.
        public static let failed = Code(rawValue: 1004)
        /// It would have had to ask the person, and may not.
        public static let notInteractive = Code(rawValue: 1005)

        private static let names = [
            "unknown", "canceled", "invalidResponse", "notHandled", "failed", "notInteractive",
        ]

        /// The code's name, such as `canceled`; the number of a code without one.
        public var name: String {
            let (place, overflow) = rawValue.subtractingReportingOverflow(Code.unknown.rawValue)
            return !overflow && Code.names.indices.contains(place) ? Code.names[place] : String(rawValue)
        }
    }

    /// The domain of such errors.
    public static let domain = "com.apple.AuthenticationServices.AuthorizationError"

    /// Why it came to nothing.
    public let code: Code
    /// The reason in words, where there is one: the daemon's diagnosis, or what the system says.
    public let reason: String?

    /// An error with a code.
    public init(_ code: Code, reason: String? = nil) {
        self.code = code
        self.reason = reason
    }
}

extension AppleAuthorizationError: CustomNSError, LocalizedError, CustomStringConvertible {
    /// The domain of such errors.
    public static var errorDomain: String { domain }

    /// The code's number.
    public var errorCode: Int { code.rawValue }

    /// What `NSError` says of it.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: description] }

    /// The code, and the reason.
    public var errorDescription: String? { description }

    /// The code, and the reason.
    public var description: String { "\(code.name) (\(code.rawValue))\(reason.map { ": \($0)" } ?? "")" }
}

extension AppleIDCredential {
    /// Whether an app may still count on a sign-in: `ASAuthorizationAppleIDProvider.CredentialState`.
    public enum State: Int, Sendable, Hashable, CaseIterable {
        /// The person has removed the app.
        case revoked = 0
        /// The sign-in holds.
        case authorized = 1
        /// The person never signed in.
        case notFound = 2
        /// The app went to another team, and the person isn't moved yet.
        case transferred = 3
    }
}
