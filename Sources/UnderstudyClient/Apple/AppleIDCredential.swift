import Foundation

/// What a sign-in with Apple delivers to an app: the properties of `ASAuthorizationAppleIDCredential`, under the same names.
public struct AppleIDCredential: Sendable, Hashable {
    /// What an app asks for.
    public enum Scope: String, Sendable, Hashable, CaseIterable, Codable {
        /// The person's name.
        case fullName
        /// The person's address, or one of the relay's.
        case email
    }

    /// How sure Apple is that it is a person: `ASUserDetectionStatus`.
    public enum RealUserStatus: Int, Sendable, Hashable, CaseIterable, Codable {
        /// Apple doesn't say: not the first sign-in, or no device.
        case unsupported = 0
        /// Apple can't tell.
        case unknown = 1
        /// It seems to be a person.
        case likelyReal = 2
    }

    /// The person's ID in the team's apps.
    public let user: String
    /// What the app put into the request.
    public let state: String?
    /// What the person granted.
    public let authorizedScopes: [Scope]
    /// A code for your backend: the text's UTF-8.
    public let authorizationCode: Data?
    /// The ID token, a JSON Web Token: the text's UTF-8.
    public let identityToken: Data?
    /// The address, the first time only.
    public let email: String?
    /// The name, the first time only.
    public let fullName: PersonNameComponents?
    /// How sure Apple is that it is a person.
    public let realUserStatus: RealUserStatus

    /// A credential, as a test of the app might make one.
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

    /// Reads what the control API writes.
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
