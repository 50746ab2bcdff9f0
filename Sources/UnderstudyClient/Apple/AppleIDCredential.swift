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
