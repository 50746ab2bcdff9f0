import JSON
import EmulatorCore
import Time

/// A user of a project, or of one of its tenants.
struct User: Codable, Sendable {
    /// An identity at a provider.
    struct Link: Codable, Equatable, Sendable {
        let providerId: String
        let rawId: String
        var displayName: String?
        var photoUrl: String?
        var email: String?
        var screenName: String?
    }

    let pool: UserPool
    let localId: String
    /// In lower case.
    var email: String?
    /// The first address that the user had. Whoever has it can take the account back (`RECOVER_EMAIL`).
    var initialEmail: String?
    var emailVerified = false
    var displayName: String?
    var photoUrl: String?
    var phoneNumber: String?
    var password: Password?
    /// In the order in which they were linked.
    var links: [Link] = []
    var disabled = false
    var isCustom = false
    /// Whether a link sent by e-mail has signed the user in.
    var hasEmailLink = false
    var factors: [SecondFactor] = []
    /// Whether there were factors once.
    var hasWithdrawnFactors = false
    var passkeys: [Passkey] = []
    let createdAt: Instant
    var lastLoginAt: Instant
    var lastRefreshAt: Instant
    /// Sessions that began before are over. A whole second, as the tokens' `auth_time` is.
    var validSince: Instant
    var customClaims = CustomClaims()

    init(localId: String, in pool: UserPool, now: Instant) {
        self.pool = pool
        self.localId = localId
        createdAt = now
        lastLoginAt = now
        lastRefreshAt = now
        validSince = now.wholeSecond
    }

    init(_ seed: SeededUser, in pool: UserPool, now: Instant) {
        self.init(localId: seed.localId, in: pool, now: now)
        email = seed.email.map { $0.lowercased() }
        emailVerified = seed.emailVerified
        displayName = seed.displayName
        photoUrl = seed.photoUrl
        phoneNumber = seed.phoneNumber
        disabled = seed.disabled
        if let text = seed.password { password = Password(text, salt: seed.localId, now: now) }
        customClaims = CustomClaims(seed.customClaims)
        links = seed.links
        factors = seed.factors.compactMap { factor in
            factor.kind.map {
                SecondFactor(id: factor.id, kind: $0, displayName: factor.displayName, enrolledAt: now)
            }
        }
    }

    /// Ways of signing in with the address, as createAuthUri lists them.
    var signInMethods: [String] {
        (password != nil ? ["password"] : []) + (hasEmailLink ? ["emailLink"] : []) + links.map(\.providerId)
    }

    func link(_ provider: String) -> Link? { links.first { $0.providerId == provider } }

    /// Whether Firebase trusts the provider to have verified the address.
    static func isTrusted(_ provider: String, email: String?, isVerified: Bool) -> Bool {
        // Of OpenID providers Firebase takes the claim `email_verified`.
        IdentitySources.source(provider)?.isTrusted(email: email, isVerified: isVerified)
            ?? (isVerified && provider.hasPrefix(OAuthIdpConfig.prefix))
    }

    /// Takes away what `deleteAttribute` and `deleteProvider` name.
    mutating func delete(attributes: [String], providers: [String]) {
        for attribute in attributes {
            switch attribute {
            case "EMAIL", "1": (email, emailVerified) = (nil, false)
            case "DISPLAY_NAME", "2": displayName = nil
            case "PROVIDER", "3": links = []
            case "PHOTO_URL", "4": photoUrl = nil
            case "PASSWORD", "5": password = nil
            default: continue
            }
        }
        for provider in providers {
            switch provider {
            case "password": password = nil
            case "phone": phoneNumber = nil
            case "emailLink": hasEmailLink = false
            default: links.removeAll { $0.providerId == provider }
            }
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

    /// What lookup says, to the user and to administrators. Numbers of second factors are hidden only from those who have
    /// shown no more than a first one.
    var document: JSONValue { document(in: nil) }

    /// The same for an administrator's call. At an emulator's address it has the password's hash, as at the official emulator.
    func document(in call: FirebaseCall?) -> JSONValue {
        let isInEmulatorMode = call?.isInEmulatorMode ?? false
        return document(showsHash: isInEmulatorMode, inEmulatorMode: isInEmulatorMode)
    }

    func document(showsHash: Bool, inEmulatorMode isInEmulatorMode: Bool) -> JSONValue {
        var user = JSONObject([("localId", .string(localId))])
        user["email"] = email.map { .string($0) }
        user["initialEmail"] = initialEmail.map { .string($0) }
        user["displayName"] = displayName.map { .string($0) }
        user["photoUrl"] = photoUrl.map { .string($0) }
        user["screenName"] = links.lazy.compactMap(\.screenName).first.map { .string($0) }
        if let password {
            let showsHash = showsHash || password.isForeign
            user["passwordHash"] = .string(showsHash ? password.hash : Password.redacted)
            if showsHash { user["salt"] = password.salt.map { .string($0) } }
            user["passwordUpdatedAt"] = .integer(password.updatedAt.milliseconds)
        }
        if email != nil { user["emailVerified"] = .bool(emailVerified) }
        let providers = providerUserInfo
        if !providers.isEmpty { user["providerUserInfo"] = .array(providers) }
        user["phoneNumber"] = phoneNumber.map { .string($0) }
        user["validSince"] = .string(String(validSince.seconds))
        if disabled { user["disabled"] = true }
        user["lastLoginAt"] = .string(String(lastLoginAt.milliseconds))
        user["createdAt"] = .string(String(createdAt.milliseconds))
        if isCustom { user["customAuth"] = true }
        if !customClaims.object.isEmpty {
            user["customAttributes"] = .string(JSONValue.object(customClaims.object).text)
        }
        user["tenantId"] = pool.tenant.map { .string($0) }
        // The official emulator says so when the last one has been withdrawn.
        if !factors.isEmpty || hasWithdrawnFactors {
            user["mfaInfo"] = .array(factors.map { $0.document(isMasked: false, inEmulatorMode: isInEmulatorMode) })
        }
        if hasEmailLink { user["emailLinkSignin"] = true }
        if !passkeys.isEmpty { user["passkeyInfo"] = .array(passkeys.map(\.document)) }
        user["lastRefreshAt"] = .string(lastRefreshAt.textWithMilliseconds)
        return .object(user)
    }
}

extension Instant {
    /// With three digits after the second, as Google writes times: Apple's SDK reads no others.
    var textWithMilliseconds: String { text.dropLast() + ".\(String(1000 + milliseconds % 1000).dropFirst())Z" }

    /// As protobuf writes a time with microseconds: with six digits after the second, or none.
    /// <https://protobuf.dev/reference/protobuf/google.protobuf/#timestamp>
    var textOfTimestamp: String {
        milliseconds % 1000 == 0 ? text : text.dropLast() + ".\(String(1000 + milliseconds % 1000).dropFirst())000Z"
    }
}
