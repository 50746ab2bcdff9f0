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
    /// Whether lookups say whether the address is verified when there is none: it was said, or there was one.
    var statesEmailVerified: Bool?
    var displayName: String?
    var photoUrl: String?
    var phoneNumber: String?
    var password: Password? {
        didSet {
            if password == nil, let oldValue { formerPasswordUpdatedAt = oldValue.updatedAt }
        }
    }
    /// When the password that the user had was set.
    var formerPasswordUpdatedAt: Instant?
    /// In the order in which they were linked.
    var links: [Link] = []
    var disabled = false
    /// Whether lookups say so when the user isn't disabled: an administrator, an import or a function has said it.
    var statesDisabled: Bool?
    var isCustom = false
    /// Whether a link sent by e-mail has signed the user in.
    var hasEmailLink = false
    var factors: [SecondFactor] = []
    /// Whether there were factors once.
    var hasWithdrawnFactors = false
    var passkeys: [Passkey] = []
    let createdAt: Instant
    /// `nil` until the first sign-in. The same goes for a refresh, which begins with one.
    var lastLoginAt: Instant?
    var lastRefreshAt: Instant?
    /// Sessions that began before are over. A whole second, as the tokens' `auth_time` is. Anonymous users, and those who
    /// began with a number, have none before they have an address.
    var validSince: Instant?
    var customClaims = CustomClaims()

    init(localId: String, in pool: UserPool, now: Instant) {
        self.pool = pool
        self.localId = localId
        createdAt = now
        validSince = now.wholeSecond
    }

    init(_ seed: SeededUser, in pool: UserPool, now: Instant) {
        self.init(localId: seed.localId, in: pool, now: now)
        email = seed.email.map { $0.lowercased() }
        emailVerified = seed.emailVerified
        displayName = seed.displayName
        photoUrl = seed.photoUrl
        phoneNumber = seed.phoneNumber
        set(disabled: seed.disabled)
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

    /// Whether a session that began then is over.
    func hasEnded(sessionOf authTime: Instant) -> Bool { validSince.map { authTime < $0 } ?? false }

    func link(_ provider: String) -> Link? { links.first { $0.providerId == provider } }

    /// Whether Firebase trusts the provider to have verified the address.
    static func isTrusted(_ provider: String, email: String?, isVerified: Bool) -> Bool {
        // Of OpenID providers Firebase takes the claim `email_verified`.
        IdentitySources.source(provider)?.isTrusted(email: email, isVerified: isVerified)
            ?? (isVerified && provider.hasPrefix(OAuthIdpConfig.prefix))
    }

    mutating func set(disabled: Bool) {
        self.disabled = disabled
        statesDisabled = true
    }

    /// Takes away what `deleteAttribute` and `deleteProvider` name.
    mutating func delete(attributes: [String], providers: [String]) {
        for attribute in attributes {
            switch attribute {
            // Production goes on to say whether it was verified.
            case "EMAIL", "1": (email, statesEmailVerified) = (nil, true)
            case "DISPLAY_NAME", "2": displayName = nil
            case "PROVIDER", "3": links = []
            case "PHOTO_URL", "4": photoUrl = nil
            case "PASSWORD", "5": password = nil
            default: continue
            }
        }
        var unwanted = Set(providers)
        if unwanted.remove("password") != nil { password = nil }
        if unwanted.remove("phone") != nil { phoneNumber = nil }
        if unwanted.remove("emailLink") != nil { hasEmailLink = false }
        links.removeAll { unwanted.contains($0.providerId) }
    }

    // MARK: - Documents

    /// What lookup says of each way to sign in: the providers in the order of linking, then the number, then the address. The number
    /// before the address was recorded; the providers before the number: <https://github.com/firebase/firebase-admin-node/issues/481>
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
        if let phoneNumber {
            list.append(["providerId": "phone", "rawId": .string(phoneNumber), "phoneNumber": .string(phoneNumber)])
        }
        // Who signs in by a link in an e-mail has this provider, too.
        if let email, password != nil || hasEmailLink {
            var info = JSONObject([("providerId", "password")])
            info["displayName"] = displayName.map { .string($0) }
            info["photoUrl"] = photoUrl.map { .string($0) }
            info["federatedId"] = .string(email)
            info["email"] = .string(email)
            info["rawId"] = .string(email)
            list.append(.object(info))
        }
        return list
    }

    /// What a change answers with.
    var changed: JSONObject {
        var body = JSONObject([("kind", "identitytoolkit#SetAccountInfoResponse"), ("localId", .string(localId))])
        body["email"] = email.map { .string($0) }
        body["displayName"] = displayName.map { .string($0) }
        body["photoUrl"] = photoUrl.map { .string($0) }
        let providers = providerUserInfo
        if !providers.isEmpty { body["providerUserInfo"] = .array(providers) }
        if password != nil { body["passwordHash"] = .string(Password.redacted) }
        if statesVerification { body["emailVerified"] = .bool(emailVerified) }
        return body
    }

    private var statesVerification: Bool { email != nil || statesEmailVerified ?? false }

    /// What lookup says, to the user and to administrators. Numbers of second factors are hidden only from those who have
    /// shown no more than a first one.
    var document: JSONValue { document(in: nil) }

    /// The same for an administrator's call. At an emulator's address it has the password's hash, as at the official emulator.
    func document(in call: FirebaseCall?) -> JSONValue {
        let isInEmulatorMode = call?.isInEmulatorMode ?? false
        return document(isInEmulatorMode ? .shown : .redacted, inEmulatorMode: isInEmulatorMode)
    }

    /// What is shown of a password's hash.
    enum Hash: Sendable {
        case redacted
        /// As it is kept.
        case shown
        /// In base64, with the version of the parameters: as production lists users for an export.
        case encoded
    }

    func document(_ hash: Hash, inEmulatorMode isInEmulatorMode: Bool) -> JSONValue {
        var user = JSONObject([("localId", .string(localId))])
        user["email"] = email.map { .string($0) }
        user["initialEmail"] = initialEmail.map { .string($0) }
        user["displayName"] = displayName.map { .string($0) }
        user["photoUrl"] = photoUrl.map { .string($0) }
        user["screenName"] = links.lazy.compactMap(\.screenName).first.map { .string($0) }
        if let password {
            switch hash {
            case .redacted: user["passwordHash"] = .string(Password.redacted)
            case .shown:
                user["passwordHash"] = .string(password.hash)
                user["salt"] = password.salt.map { .string($0) }
            case .encoded:
                user["passwordHash"] = .string(password.encoded(password.hash))
                user["salt"] = password.salt.map { .string(password.encoded($0)) }
                user["version"] = 0
            }
        }
        user["passwordUpdatedAt"] = (password?.updatedAt ?? formerPasswordUpdatedAt).map { .integer($0.milliseconds) }
        if statesVerification { user["emailVerified"] = .bool(emailVerified) }
        let providers = providerUserInfo
        if !providers.isEmpty { user["providerUserInfo"] = .array(providers) }
        user["phoneNumber"] = phoneNumber.map { .string($0) }
        user["validSince"] = validSince.map { .string(String($0.seconds)) }
        if disabled || statesDisabled ?? false { user["disabled"] = .bool(disabled) }
        user["lastLoginAt"] = lastLoginAt.map { .string(String($0.milliseconds)) }
        user["createdAt"] = .string(String(createdAt.milliseconds))
        if isCustom { user["customAuth"] = true }
        user["customAttributes"] = customClaims.text.map { .string($0) }
        user["tenantId"] = pool.tenant.map { .string($0) }
        // The official emulator says so when the last one has been withdrawn.
        if !factors.isEmpty || hasWithdrawnFactors {
            user["mfaInfo"] = .array(factors.map { $0.document(isMasked: false, inEmulatorMode: isInEmulatorMode) })
        }
        if hasEmailLink { user["emailLinkSignin"] = true }
        if !passkeys.isEmpty { user["passkeyInfo"] = .array(passkeys.map(\.document)) }
        user["lastRefreshAt"] = lastRefreshAt.map { .string($0.textWithMilliseconds) }
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
