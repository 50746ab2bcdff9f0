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
    /// The address in lower case.
    var email: String?
    /// The first address that the user had. The owner of that address can take the account back (`RECOVER_EMAIL`).
    var initialEmail: String?
    var emailVerified = false
    /// Whether lookups have `emailVerified` even if there is no address: because it was set once, or there was an
    /// address.
    var statesEmailVerified: Bool?
    var displayName: String?
    var photoUrl: String?
    var phoneNumber: String?
    var password: Password? {
        didSet {
            if password == nil, let oldValue { formerPasswordUpdatedAt = oldValue.updatedAt }
        }
    }
    /// The time when the user's last password was set, after the password was removed.
    var formerPasswordUpdatedAt: Instant?
    /// The identities, in the order in which they were linked.
    var links: [Link] = []
    var disabled = false
    /// Whether lookups have `disabled` even if it is false: because an administrator, an import or a function has set
    /// it.
    var statesDisabled: Bool?
    var isCustom = false
    /// Whether a link sent by e-mail has signed the user in.
    var hasEmailLink = false
    var factors: [SecondFactor] = []
    /// Whether a second factor has been withdrawn. Lookups then list the factors even if none is left.
    var hasWithdrawnFactors = false
    var passkeys: [Passkey] = []
    let createdAt: Instant
    /// The time of the last sign-in; `nil` before the first, and so is `lastRefreshAt`.
    var lastLoginAt: Instant?
    var lastRefreshAt: Instant?
    /// The time before which sessions have ended: a whole second, as the tokens' `auth_time` is. Anonymous users, and
    /// those who began with a number, have none until they have an address.
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

    /// The ways of signing in with the address, as createAuthUri lists them.
    var signInMethods: [String] {
        (password != nil ? ["password"] : []) + (hasEmailLink ? ["emailLink"] : []) + links.map(\.providerId)
    }

    /// Whether a session that began at this time has ended.
    func hasEnded(sessionOf authTime: Instant) -> Bool { validSince.map { authTime < $0 } ?? false }

    func link(_ provider: String) -> Link? { links.first { $0.providerId == provider } }

    /// Whether Firebase trusts the provider to have verified the address.
    static func isTrusted(_ provider: String, email: String?, isVerified: Bool) -> Bool {
        // Firebase believes the claim `email_verified` of OpenID providers.
        IdentitySources.source(provider)?.isTrusted(email: email, isVerified: isVerified)
            ?? (isVerified && provider.hasPrefix(OAuthIdpConfig.prefix))
    }

    mutating func set(disabled: Bool) {
        self.disabled = disabled
        statesDisabled = true
    }

    /// Removes what `deleteAttribute` and `deleteProvider` name.
    mutating func delete(attributes: [String], providers: [String]) {
        for attribute in attributes {
            switch attribute {
            // Production still says then whether it was verified.
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

    /// The ways to sign in, as lookups list them: the providers in the order of linking, then the number, then the
    /// address. The number before the address was recorded; the providers before the number:
    /// <https://github.com/firebase/firebase-admin-node/issues/481>
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
        // A user who signs in by a link in an e-mail has this provider, too.
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

    /// The answer to a change of the user.
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

    /// The user as lookups show them, to the user and to administrators. Numbers of second factors are masked only for
    /// callers who have passed just the first factor.
    var document: JSONValue { document(in: nil) }

    /// Returns the user as lookups show them in this call. At an emulator's address that includes the password's hash,
    /// as in the official emulator.
    func document(in call: FirebaseCall?) -> JSONValue {
        let isInEmulatorMode = call?.isInEmulatorMode ?? false
        return document(isInEmulatorMode ? .shown : .redacted, inEmulatorMode: isInEmulatorMode)
    }

    /// The forms in which a password's hash is shown.
    enum Hash: Sendable {
        case redacted
        /// The hash as it is stored.
        case shown
        /// The hash in base64, with the version of the parameters: as production lists users for an export.
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
        // The official emulator lists none when the last one has been withdrawn.
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
    /// The time with three digits after the second, as Google writes it. Apple's SDK reads no other form.
    var textWithMilliseconds: String { text.dropLast() + ".\(String(1000 + milliseconds % 1000).dropFirst())Z" }

    /// The time with six digits after the second, or none, as protobuf writes it.
    /// <https://protobuf.dev/reference/protobuf/google.protobuf/#timestamp>
    var textOfTimestamp: String {
        milliseconds % 1000 == 0 ? text : text.dropLast() + ".\(String(1000 + milliseconds % 1000).dropFirst())000Z"
    }
}
