import Foundation

/// A failed sign-in with Apple. It has the domain and the codes of `ASAuthorizationError`, so `(error as NSError).code`
/// is the same on systems with and without AuthenticationServices.
public struct AppleAuthorizationError: Error, Sendable, Hashable {
    /// `ASAuthorizationError.Code`: <https://developer.apple.com/documentation/authenticationservices/asauthorizationerror-swift.struct/code>.
    public struct Code: Sendable, Hashable, RawRepresentable {
        /// The number.
        public let rawValue: Int

        /// A code by its number.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The sign-in failed for an unknown reason.
        public static let unknown = Code(rawValue: 1000)
        /// The person cancelled.
        public static let canceled = Code(rawValue: 1001)
        /// Apple's answer can't be used.
        public static let invalidResponse = Code(rawValue: 1002)
        /// The request wasn't handled.
        public static let notHandled = Code(rawValue: 1003)
        /// The sign-in failed.
        public static let failed = Code(rawValue: 1004)
        /// The sign-in would have needed the person, and no interaction was allowed.
        public static let notInteractive = Code(rawValue: 1005)

        private static let names = [
            "unknown", "canceled", "invalidResponse", "notHandled", "failed", "notInteractive",
        ]

        /// The code's name, such as `canceled`, or else its number.
        public var name: String {
            let (place, overflow) = rawValue.subtractingReportingOverflow(Code.unknown.rawValue)
            return !overflow && Code.names.indices.contains(place) ? Code.names[place] : String(rawValue)
        }
    }

    /// The domain of these errors.
    public static let domain = "com.apple.AuthenticationServices.AuthorizationError"

    /// The code that says why the sign-in failed.
    public let code: Code
    /// The reason in words, if it is known: the daemon's diagnosis, or the system's description.
    public let reason: String?

    /// Makes an error with a code.
    public init(_ code: Code, reason: String? = nil) {
        self.code = code
        self.reason = reason
    }
}

extension AppleAuthorizationError: CustomNSError, LocalizedError, CustomStringConvertible {
    /// The domain of these errors.
    public static var errorDomain: String { domain }

    /// The code's number.
    public var errorCode: Int { code.rawValue }

    /// The description, for `NSError`.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: description] }

    /// The code, and the reason.
    public var errorDescription: String? { description }

    /// The code, and the reason.
    public var description: String { "\(code.name) (\(code.rawValue))\(reason.map { ": \($0)" } ?? "")" }
}

extension AppleIDCredential {
    /// The state of an earlier sign-in: `ASAuthorizationAppleIDProvider.CredentialState`.
    public enum State: Int, Sendable, Hashable, CaseIterable {
        /// The person has removed the app.
        case revoked = 0
        /// The person is signed in.
        case authorized = 1
        /// The person has never signed in.
        case notFound = 2
        /// The app was transferred to another team, and this person's account isn't migrated yet.
        case transferred = 3
    }
}
