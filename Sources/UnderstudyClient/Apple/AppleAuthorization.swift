import Foundation

/// The result of a sign-in with Apple: the properties of `ASAuthorizationAppleIDCredential`, under the same names.
public struct AppleIDCredential: Sendable, Hashable {
    /// A piece of a user's data that an app requests at a sign-in with Apple: the full name or the e-mail address.
    public enum Scope: String, Sendable, Hashable, CaseIterable, Codable {
        /// The scope by which an app requests the user's full name.
        case fullName
        /// The scope by which an app requests the user's e-mail address. A user can choose to give an address of
        /// Apple's private relay in place of the real one.
        case email
    }

    /// Apple's judgement whether the user is a real person: `ASUserDetectionStatus`.
    public enum RealUserStatus: Int, Sendable, Hashable, CaseIterable, Codable {
        /// Apple can't judge whether the user is a real person: for example, because this isn't the user's first
        /// sign-in to the app.
        case unsupported = 0
        /// Apple can't tell whether the user is a real person.
        case unknown = 1
        /// Apple judges that the user is probably a real person.
        case likelyReal = 2
    }

    /// The user's ID at Apple, which is identical in all apps of a developer team.
    public let user: String
    /// The `state` that the app put into its sign-in request.
    public let state: String?
    /// The scopes (name, e-mail address) that the user granted to the app.
    public let authorizedScopes: [Scope]
    /// Apple's authorization code, which your backend redeems, as UTF-8.
    public let authorizationCode: Data?
    /// Apple's ID token, a JSON Web Token, as UTF-8.
    public let identityToken: Data?
    /// The user's e-mail address, which Apple gives to the app at the first sign-in only.
    public let email: String?
    /// The user's name, which Apple gives to the app at the first sign-in only.
    public let fullName: PersonNameComponents?
    /// Apple's judgement whether the user is a real person.
    public let realUserStatus: RealUserStatus

    /// Makes the result of a sign-in with Apple, for unit tests of an app.
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

    /// The authorization code of the sign-in with Apple, ``authorizationCode``, as a text.
    public var authorizationCodeText: String? { authorizationCode.map { String(decoding: $0, as: UTF8.self) } }

    /// The ID token of the sign-in with Apple, ``identityToken``, as a text.
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

    /// Reads the result of a sign-in with Apple from the JSON of Understudy's control API.
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

/// The error of a failed sign-in with Apple. It has the domain and the codes of `ASAuthorizationError`, so `(error as
/// NSError).code` is equal on systems with and without AuthenticationServices.
public struct AppleAuthorizationError: Error, Sendable, Hashable {
    /// The error code of a failed sign-in with Apple, as in `ASAuthorizationError.Code`:
    /// <https://developer.apple.com/documentation/authenticationservices/asauthorizationerror-swift.struct/code>.
    public struct Code: Sendable, Hashable, RawRepresentable {
        /// The number of an error code of Sign in with Apple, such as 1001 for `canceled`.
        public let rawValue: Int

        /// Makes the error code of Sign in with Apple that has the number `rawValue`.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The sign-in with Apple failed for an unknown reason.
        public static let unknown = Code(rawValue: 1000)
        /// The user cancelled the sign-in with Apple.
        public static let canceled = Code(rawValue: 1001)
        /// Apple's answer to the sign-in request can't be used.
        public static let invalidResponse = Code(rawValue: 1002)
        /// The operating system didn't handle the request for a sign-in with Apple.
        public static let notHandled = Code(rawValue: 1003)
        /// The sign-in with Apple failed for a reason that has no error code of its own.
        public static let failed = Code(rawValue: 1004)
        /// The sign-in needed an interaction with the user, but the request didn't allow any.
        public static let notInteractive = Code(rawValue: 1005)

        private static let names = [
            "unknown", "canceled", "invalidResponse", "notHandled", "failed", "notInteractive",
        ]

        /// The name of the error code, such as `canceled`, or its number if it has no name.
        public var name: String {
            let (place, overflow) = rawValue.subtractingReportingOverflow(Code.unknown.rawValue)
            return !overflow && Code.names.indices.contains(place) ? Code.names[place] : String(rawValue)
        }
    }

    /// The `NSError` domain of failed sign-ins with Apple.
    public static let domain = "com.apple.AuthenticationServices.AuthorizationError"

    /// The error code that says why the sign-in with Apple failed.
    public let code: Code
    /// The reason why the sign-in failed, in words; `nil` if none is known.
    public let reason: String?

    /// Makes the error of a failed sign-in with Apple, with a code and perhaps the reason in words.
    public init(_ code: Code, reason: String? = nil) {
        self.code = code
        self.reason = reason
    }
}

extension AppleAuthorizationError: CustomNSError, LocalizedError, CustomStringConvertible {
    /// The `NSError` domain of failed sign-ins with Apple.
    public static var errorDomain: String { domain }

    /// The number of the error code, for `NSError`.
    public var errorCode: Int { code.rawValue }

    /// The user info of an `NSError` for a failed sign-in with Apple: the error's description.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: description] }

    /// The error code and the reason why the sign-in with Apple failed, as a text.
    public var errorDescription: String? { description }

    /// The error code and the reason why the sign-in with Apple failed, as a text.
    public var description: String { "\(code.name) (\(code.rawValue))\(reason.map { ": \($0)" } ?? "")" }
}

extension AppleIDCredential {
    /// The state of a user's sign-in with Apple, such as authorized or revoked:
    /// `ASAuthorizationAppleIDProvider.CredentialState`.
    public enum State: Int, Sendable, Hashable, CaseIterable {
        /// The user has removed the app from the Apple account.
        case revoked = 0
        /// The user is signed in to the app with Apple.
        case authorized = 1
        /// The user has never signed in to the app with Apple.
        case notFound = 2
        /// The app was transferred to another developer team, and the user's account isn't migrated yet.
        case transferred = 3
    }
}
