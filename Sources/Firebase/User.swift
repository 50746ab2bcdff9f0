import JOSE
import Stage

/// A user of a project. Times are in milliseconds since 1970, but `validSince`.
struct User: Sendable {
    /// An identity at a provider.
    struct Link: Sendable, Equatable {
        let providerId: String
        let rawId: String
        var displayName: String?
        var photoUrl: String?
        var email: String?
        var screenName: String?
    }

    let localId: String
    var email: String?
    var emailVerified = false
    var displayName: String?
    var photoUrl: String?
    var phoneNumber: String?
    var password: Password?
    /// In the order in which they were linked.
    var links: [Link] = []
    var disabled = false
    var isCustom = false
    let createdAt: Int64
    var lastLoginAt: Int64
    var lastRefreshAt: Int64
    /// Sessions that began before are over. Seconds.
    var validSince: Int64
    var customClaims = JSONObject()

    init(localId: String, now: Int64) {
        self.localId = localId
        createdAt = now
        lastLoginAt = now
        lastRefreshAt = now
        validSince = now / 1000
    }

    init(_ seed: FirebaseSeed.User, now: Int64) {
        self.init(localId: seed.localId, now: now)
        email = seed.email.map { $0.lowercased() }
        emailVerified = seed.emailVerified
        displayName = seed.displayName
        photoUrl = seed.photoUrl
        phoneNumber = seed.phoneNumber
        disabled = seed.disabled
        if let text = seed.password { password = Password(text, salt: Array(seed.localId.utf8), now: now) }
    }

    func link(_ provider: String) -> Link? { links.first { $0.providerId == provider } }

    /// Providers whose word is enough for an address: <https://firebase.google.com/docs/auth/users#verified_email_addresses>
    static func isTrusted(_ provider: String, email: String?, isVerified: Bool) -> Bool {
        switch provider {
        case "apple.com": true
        case "google.com":
            isVerified && ["@gmail.com", "@googlemail.com"].contains { email?.lowercased().hasSuffix($0) ?? false }
        default: false
        }
    }

    // MARK: - Documents

    /// What lookup says of each way to sign in.
    var providerUserInfo: [JSONValue] {
        var list = links.map { link -> JSONValue in
            var info = JSONObject([("providerId", .string(link.providerId))])
            info["displayName"] = link.displayName.map { .string($0) }
            info["photoUrl"] = link.photoUrl.map { .string($0) }
            info["federatedId"] = .string(link.rawId)
            info["email"] = link.email.map { .string($0) }
            info["rawId"] = .string(link.rawId)
            info["screenName"] = link.screenName.map { .string($0) }
            return .object(info)
        }
        if let email, password != nil {
            var info = JSONObject([("providerId", "password")])
            info["displayName"] = displayName.map { .string($0) }
            info["photoUrl"] = photoUrl.map { .string($0) }
            info["federatedId"] = .string(email)
            info["email"] = .string(email)
            info["rawId"] = .string(email)
            list.append(.object(info))
        }
        if let phoneNumber {
            list.append(["providerId": "phone", "phoneNumber": .string(phoneNumber), "rawId": .string(phoneNumber)])
        }
        return list
    }

    var document: JSONValue {
        var user = JSONObject([("localId", .string(localId))])
        user["email"] = email.map { .string($0) }
        user["displayName"] = displayName.map { .string($0) }
        user["photoUrl"] = photoUrl.map { .string($0) }
        if let password {
            user["passwordHash"] = .string(Password.redacted)
            user["passwordUpdatedAt"] = .integer(password.updatedAt)
        }
        if email != nil { user["emailVerified"] = .bool(emailVerified) }
        let providers = providerUserInfo
        if !providers.isEmpty { user["providerUserInfo"] = .array(providers) }
        user["phoneNumber"] = phoneNumber.map { .string($0) }
        user["validSince"] = .string(String(validSince))
        if disabled { user["disabled"] = true }
        user["lastLoginAt"] = .string(String(lastLoginAt))
        user["createdAt"] = .string(String(createdAt))
        if isCustom { user["customAuth"] = true }
        if !customClaims.members.isEmpty { user["customAttributes"] = .string(JSONValue.object(customClaims).text) }
        user["lastRefreshAt"] = .string(Timestamps.text(milliseconds: lastRefreshAt))
        return .object(user)
    }
}

/// A password, hashed. Not a hash that is slow to guess: this is for tests.
struct Password: Sendable {
    /// Base64 of REDACTED, which is what callers without administrator's rights get.
    static let redacted = "UkVEQUNURUQ="
    static let minimumLength = 6

    private let salt: [UInt8]
    private let digest: [UInt8]
    let updatedAt: Int64

    init(_ text: String, salt: [UInt8], now: Int64) {
        self.salt = salt
        digest = Digest.sha256(salt + Array(text.utf8))
        updatedAt = now
    }

    func matches(_ text: String) -> Bool { constantTimeEquals(digest, Digest.sha256(salt + Array(text.utf8))) }
}
