import Foundation

/// The result of a sign-in with Apple: the properties of `ASAuthorizationAppleIDCredential`, under the same names.
public struct AppleIDCredential: Sendable, Hashable {
    /// A piece of personal data that an app asks for.
    public enum Scope: String, Sendable, Hashable, CaseIterable, Codable {
        /// The person's name.
        case fullName
        /// The person's e-mail address, or a private relay address.
        case email
    }

    /// Apple's judgement whether the user is a real person: `ASUserDetectionStatus`.
    public enum RealUserStatus: Int, Sendable, Hashable, CaseIterable, Codable {
        /// Apple gives no judgement: this isn't the first sign-in, or there is no device.
        case unsupported = 0
        /// Apple can't tell.
        case unknown = 1
        /// The user is probably a person.
        case likelyReal = 2
    }

    /// The person's ID, the same in all apps of the team.
    public let user: String
    /// The text that the app put into the request.
    public let state: String?
    /// The scopes that the person granted.
    public let authorizedScopes: [Scope]
    /// The authorization code for your backend, as UTF-8.
    public let authorizationCode: Data?
    /// The ID token, a JSON Web Token, as UTF-8.
    public let identityToken: Data?
    /// The e-mail address; only at the first sign-in.
    public let email: String?
    /// The name; only at the first sign-in.
    public let fullName: PersonNameComponents?
    /// Apple's judgement whether the user is a real person.
    public let realUserStatus: RealUserStatus

    /// Makes a credential, for unit tests of an app.
    public init(
        user: String, state: String? = nil, authorizedScopes: [Scope] = [], authorizationCode: Data? = nil,
        identityToken: Data? = nil, email: String? = nil, fullName: PersonNameComponents? = nil,
        realUserStatus: RealUserStatus = .unsupported
    ) {
        self.user = user
        self.state = state
        self.authorizedScopes = authorizedScopes
        self.authorizationCode = authorizationCode
        self.identityToken = identityToken
        self.email = email
        self.fullName = fullName
        self.realUserStatus = realUserStatus
    }

    /// ``authorizationCode`` as a text.
    public var authorizationCodeText: String? { authorizationCode.map { String(decoding: $0, as: UTF8.self) } }

    /// ``identityToken`` as a text.
    public var identityTokenText: String? { identityToken.map { String(decoding: $0, as: UTF8.self) } }
}

extension AppleIDCredential: Decodable {
    private struct Name: Decodable {
        let givenName: String?
        let familyName: String?
    }

    private enum CodingKeys: String, CodingKey {
        case user, state, authorizedScopes, authorizationCode, identityToken, email, fullName, realUserStatus
    }

    /// Reads a credential in the control API's form.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let name = try container.decodeIfPresent(Name.self, forKey: .fullName)
        let status = try container.decodeIfPresent(Int.self, forKey: .realUserStatus)
        self.init(
            user: try container.decode(String.self, forKey: .user),
            state: try container.decodeIfPresent(String.self, forKey: .state),
            authorizedScopes: try container.decodeIfPresent([Scope].self, forKey: .authorizedScopes) ?? [],
            authorizationCode: try container.decodeIfPresent(String.self, forKey: .authorizationCode)
                .map { Data($0.utf8) },
            identityToken: try container.decodeIfPresent(String.self, forKey: .identityToken).map { Data($0.utf8) },
            email: try container.decodeIfPresent(String.self, forKey: .email),
            fullName: name.map { name in
                var components = PersonNameComponents()
                components.givenName = name.givenName
                components.familyName = name.familyName
                return components
            },
            realUserStatus: status.flatMap { RealUserStatus(rawValue: $0) } ?? .unsupported)
    }
}

/// A failed sign-in with Apple. It has the domain and the codes of `ASAuthorizationError`, so `(error as NSError).code`
/// is the same on systems with and without AuthenticationServices.
public struct AppleAuthorizationError: Error, Sendable, Hashable {
    /// `ASAuthorizationError.Code`: <https://developer.apple.com/documentation/authenticationservices/asauthorizationerror-swift.struct/code>.
    public struct Code: Sendable, Hashable, RawRepresentable {
        /// The number.
        public let rawValue: Int

        /// Makes the code with this number.
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
