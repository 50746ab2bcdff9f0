import EmulatorCore
import JOSE
import JSON
import Time
import Worlds

/// A Firebase user, in a project or in one of its tenants.
struct User: Codable, Sendable {
    /// The user's identity at an identity provider, such as a Google account.
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
    /// The user's e-mail address in lower case.
    var email: String?
    /// The first e-mail address that the user had, if the user has changed it. The owner of that address can take the
    /// account back (`RECOVER_EMAIL`).
    var initialEmail: String?
    var emailVerified = false
    /// Whether answers contain `emailVerified` even while the user has no e-mail address. They do so after an
    /// administrator has set `emailVerified`, after an import, or after a request has deleted the user's address.
    var statesEmailVerified: Bool?
    var displayName: String?
    var photoUrl: String?
    var phoneNumber: String?
    var password: Password? {
        didSet {
            if password == nil, let oldValue { formerPasswordUpdatedAt = oldValue.updatedAt }
        }
    }
    /// The time at which the user's last password was set, kept after the password is removed.
    var formerPasswordUpdatedAt: Instant?
    /// The user's identities at identity providers, in the order in which they were linked.
    var links: [Link] = []
    var disabled = false
    /// Whether answers contain `disabled` even while it is false. They do so once the seed, an administrator, an import
    /// or a blocking function has set it.
    var statesDisabled: Bool?
    var isCustom = false
    /// Whether a link sent by e-mail has signed the user in.
    var hasEmailLink = false
    var factors: [SecondFactor] = []
    /// Whether a second factor of the user was withdrawn in emulator mode or removed in the inspector. Answers then
    /// contain the list of second factors even if it is empty.
    var hasWithdrawnFactors = false
    var passkeys: [Passkey] = []
    let createdAt: Instant
    /// The time of the user's last sign-in. Both it and `lastRefreshAt` are `nil` before the first sign-in.
    var lastLoginAt: Instant?
    var lastRefreshAt: Instant?
    /// The time before which sessions count as ended. It is a whole second, like `auth_time` in ID tokens. It is `nil`
    /// for users who began anonymously or with a phone number, until a change ends their sessions, such as a new
    /// password.
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

    /// The ways to sign in with the user's e-mail address, as the API method `createAuthUri` lists them.
    var signInMethods: [String] {
        (password != nil ? ["password"] : []) + (hasEmailLink ? ["emailLink"] : []) + links.map(\.providerId)
    }

    /// Whether a session that began at `authTime` has been ended since, for example by a new password.
    func hasEnded(sessionOf authTime: Instant) -> Bool { validSince.map { authTime < $0 } ?? false }

    func link(_ provider: String) -> Link? { links.first { $0.providerId == provider } }

    /// Whether Firebase trusts an identity provider to have verified the person's e-mail address.
    static func isTrusted(_ provider: String, email: String?, isVerified: Bool) -> Bool {
        // Firebase believes the claim `email_verified` of OpenID providers.
        IdentitySources.source(provider)?.isTrusted(email: email, isVerified: isVerified)
            ?? (isVerified && provider.hasPrefix(OAuthIdpConfig.prefix))
    }

    mutating func set(disabled: Bool) {
        self.disabled = disabled
        statesDisabled = true
    }

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

    /// The user's ways to sign in, as answers list them: the identity providers in the order of linking, followed by
    /// the phone number and the e-mail address. That the number precedes the address was recorded; that the providers
    /// precede the number is from <https://github.com/firebase/firebase-admin-node/issues/481>.
    var providerUserInfo: [JSONValue] {
        var list = links.map { link -> JSONValue in
            .document([
                "providerId": link.providerId, "displayName": link.displayName, "photoUrl": link.photoUrl,
                "federatedId": link.rawId, "email": link.email, "rawId": link.rawId, "screenName": link.screenName,
            ])
        }
        if let phoneNumber {
            list.append(.document(["providerId": "phone", "rawId": phoneNumber, "phoneNumber": phoneNumber]))
        }
        // A user who signs in by a link in an e-mail has this provider, too.
        if let email, password != nil || hasEmailLink {
            list.append(
                .document([
                    "providerId": "password", "displayName": displayName, "photoUrl": photoUrl, "federatedId": email,
                    "email": email, "rawId": email,
                ]))
        }
        return list
    }

    /// The members of the answer to a request that has changed the user.
    var changed: JSONObject {
        let providers = providerUserInfo
        return JSONObject([
            "kind": "identitytoolkit#SetAccountInfoResponse", "localId": localId, "email": email,
            "displayName": displayName, "photoUrl": photoUrl,
            "providerUserInfo": providers.isEmpty ? nil : providers,
            "passwordHash": password == nil ? nil : Password.redacted,
            "emailVerified": statesVerification ? emailVerified : nil,
        ])
    }

    private var statesVerification: Bool { email != nil || statesEmailVerified ?? false }

    /// The user as JSON for answers to the user and to administrators. It shows the whole phone numbers of second
    /// factors, which are masked only for callers who have passed just the first factor.
    var document: JSONValue { document(in: nil) }

    /// Returns the user as JSON for the answer to `call`. In emulator mode it contains the password's hash, as in the
    /// Firebase emulator.
    func document(in call: FirebaseCall?) -> JSONValue {
        let isInEmulatorMode = call?.isInEmulatorMode ?? false
        return document(isInEmulatorMode ? .shown : .redacted, inEmulatorMode: isInEmulatorMode)
    }

    /// The forms in which answers show a password's hash.
    enum Hash: Sendable {
        case redacted
        /// The answer contains the password's hash as it is stored. Unless the hash was imported, it has the Firebase
        /// emulator's readable form.
        case shown
        /// The answer contains the password's hash in base64, and the member `version`, like production's answer to
        /// `accounts:batchGet`.
        case encoded

        fileprivate func document(of password: Password) -> JSONObject {
            switch self {
            case .redacted: JSONObject(["passwordHash": Password.redacted])
            case .shown: JSONObject(["passwordHash": password.hash, "salt": password.salt])
            case .encoded:
                JSONObject([
                    "passwordHash": password.encoded(password.hash), "salt": password.salt.map(password.encoded),
                    "version": 0,
                ])
            }
        }
    }

    func document(_ hash: Hash, inEmulatorMode isInEmulatorMode: Bool) -> JSONValue {
        let providers = providerUserInfo
        // The official emulator lists none when the last one has been withdrawn.
        let listsFactors = !factors.isEmpty || hasWithdrawnFactors
        var user = JSONObject([
            "localId": localId, "email": email, "initialEmail": initialEmail, "displayName": displayName,
            "photoUrl": photoUrl, "screenName": links.lazy.compactMap(\.screenName).first,
        ])
        if let password { user.merge(hash.document(of: password)) }
        user.merge(
            JSONObject([
                "passwordUpdatedAt": (password?.updatedAt ?? formerPasswordUpdatedAt)?.milliseconds,
                "emailVerified": statesVerification ? emailVerified : nil,
                "providerUserInfo": providers.isEmpty ? nil : providers, "phoneNumber": phoneNumber,
                "validSince": validSince.map { String($0.seconds) },
                "disabled": disabled || statesDisabled ?? false ? disabled : nil,
                "lastLoginAt": lastLoginAt.map { String($0.milliseconds) },
                "createdAt": String(createdAt.milliseconds), "customAuth": isCustom ? true : nil,
                "customAttributes": customClaims.text, "tenantId": pool.tenant,
                "mfaInfo": listsFactors
                    ? factors.map { $0.document(isMasked: false, inEmulatorMode: isInEmulatorMode) } : nil,
                "emailLinkSignin": hasEmailLink ? true : nil,
                "passkeyInfo": passkeys.isEmpty ? nil : passkeys.map(\.document),
                "lastRefreshAt": lastRefreshAt?.textWithMilliseconds,
            ]))
        return .object(user)
    }
}

extension Instant {
    /// The time with milliseconds, as Google's API writes it. Firebase's SDK for Apple platforms can't read any
    /// other form.
    var textWithMilliseconds: String { text.dropLast() + ".\(String(1000 + milliseconds % 1000).dropFirst())Z" }

    /// The time with six digits after the second if it isn't a whole second, a form that protobuf allows.
    /// <https://protobuf.dev/reference/protobuf/google.protobuf/#timestamp>
    var textOfTimestamp: String {
        milliseconds % 1000 == 0 ? text : text.dropLast() + ".\(String(1000 + milliseconds % 1000).dropFirst())000Z"
    }
}

extension User: PoolRow {
    struct Key: TableKey {
        let pool: UserPool
        let localId: String

        var keyText: String { String(keyParts: pool.project, pool.tenant, localId) }
    }

    /// The key for finding a user by an identity, such as a Google account. It begins with the project or tenant, so
    /// that each has its own users.
    struct Identity: TableKey {
        let pool: UserPool
        let providerId: String
        let rawId: String

        var keyText: String { String(keyParts: pool.project, pool.tenant, providerId, rawId) }
    }

    static let table = Table<User>(
        "firebase.user", indexes: [byPool, byIdentity, byPasskey], sortedBy: order, size: { $0.size })

    /// The approximate memory in bytes of an identity's link, beside its texts.
    private static let linkSize = 250

    /// The approximate memory in bytes of the texts that clients have chosen.
    private var size: Int {
        let texts = [
            email, initialEmail, displayName, photoUrl, phoneNumber, password?.hash, password?.salt,
        ]
        let linked = links.flatMap { [$0.rawId, $0.displayName, $0.photoUrl, $0.email, $0.screenName] }
        return (texts + linked + factors.map(\.displayName) + passkeys.flatMap { [$0.id, $0.name, $0.publicKey] })
            .reduce(localId.utf8.count + customClaims.size + User.linkSize * links.count) { $0 + ($1?.utf8.count ?? 0) }
    }

    var key: Key { Key(pool: pool, localId: localId) }

    static let byPool = Index<User, UserPool>("pool") { $0.pool }
    static let byIdentity = Index<User, Identity>(
        "identity",
        each: { user in
            user.links.map { Identity(pool: user.pool, providerId: $0.providerId, rawId: $0.rawId) }
        })
    /// The sorted index of users in a project or tenant: by ID, and by e-mail address, phone number and identity
    /// provider. Of users with the same value, the oldest comes first.
    static let order = SortedIndex<User>("order") { user in
        let age = "\(String(user.createdAt.milliseconds + 1_000_000_000_000_000))\(user.localId)"
        var texts = [place(.localId, user.pool) + user.localId]
        if let email = user.email { texts.append(place(.email, user.pool, email) + age) }
        for email in Set(user.links.compactMap { $0.email?.lowercased() }).sorted() where email != user.email {
            texts.append(place(.providerEmail, user.pool, email) + age)
        }
        if let number = user.phoneNumber { texts.append(place(.phoneNumber, user.pool, number) + age) }
        for provider in Set(user.links.map(\.providerId)).sorted() {
            texts.append(place(.provider, user.pool, provider) + age)
        }
        return texts
    }

    enum Field: String {
        case localId
        case email
        /// The e-mail address that the user has at an identity provider, if it isn't also the user's address in
        /// Firebase.
        case providerEmail
        case phoneNumber
        /// The ID of an identity provider to which the user is linked.
        case provider
    }

    /// Returns the text with which a user's sort key for a field begins if the field has the value `value`. If `value`
    /// is `nil`, the field may have any value.
    static func place(_ field: Field, _ pool: UserPool, _ value: String? = nil) -> String {
        value.map { "\(place(field, pool, beginningWith: $0))\0\u{1}" } ?? place(field, pool, beginningWith: "")
    }

    /// Returns the text with which a user's sort key for a field begins if the field's value begins with `value`.
    static func place(_ field: Field, _ pool: UserPool, beginningWith value: String) -> String {
        // A zero within the value must not be taken for its end.
        let escaped = value.utf8.contains(0) ? value.replacing("\0", with: "\0\u{2}") : value
        return "\(field.rawValue)\0\(pool.project)\0\(pool.tenant ?? "")\0\(escaped)"
    }

    static func randomID(_ random: inout Randomness) -> String {
        random.text(28, from: Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8))
    }
}

extension TableReading where Self: ~Copyable {
    func user(_ localId: String, in pool: UserPool) -> User? { find(User.self, User.Key(pool: pool, localId: localId)) }

    /// Returns the oldest users who have this value in a field, at most `limit` of them.
    func users(_ field: User.Field, _ value: String, in pool: UserPool, limit: Int = .max) -> [User] {
        rows(User.order, prefix: User.place(field, pool, value), limit: limit).map(\.row)
    }

    /// Returns the user with this e-mail address; the oldest one if several users have it.
    func user(email: String, in pool: UserPool) -> User? {
        users(.email, email.lowercased(), in: pool, limit: 1).first
    }

    /// Returns the user with this phone number; the oldest one if several users have it.
    func user(phoneNumber: String, in pool: UserPool) -> User? {
        users(.phoneNumber, phoneNumber, in: pool, limit: 1).first
    }

    /// Returns the user with this identity at an identity provider. If imports gave it to several users, the one who
    /// got it last is returned.
    func user(_ identity: User.Identity) -> User? { last(User.byIdentity, identity) }

    /// Returns at most `limit` users of a project or tenant, in the order of their IDs, beginning after the ID
    /// `localId`.
    func users(of pool: UserPool, after localId: String, limit: Int) -> [User] {
        let prefix = User.place(.localId, pool)
        return rows(User.order, prefix: prefix, after: prefix + localId, limit: limit).map(\.row)
    }
}

extension Transaction {
    /// Deletes a user. The user's sessions end, and mailed codes of the user stop working.
    mutating func delete(_ user: User) {
        remove(User.self, user.key)
        for session in rows(Session.byUser, user.key) {
            put(EndedSession(refreshToken: session.refreshToken, user: user.key))
        }
        remove(Session.byUser, user.key)
        remove(OutOfBandCode.byUser, user.key)
        guard count(User.byPool, user.pool) == 0 else { return }
        change(UnseededPool.self, user.pool) { $0.mayBeEmpty = true }
    }

    /// Deletes at most `limit` users of a project or tenant, and returns how many were deleted.
    mutating func deleteUsers(of pool: UserPool, limit: Int) -> Int {
        let users = rows(User.byPool, pool, limit: limit)
        for user in users { delete(user) }
        return users.count
    }
}

/// A set of users: a project's own users, or the users of one of its tenants. A user is found by an e-mail address, a
/// phone number or an identity only within one set. <https://cloud.google.com/identity-platform/docs/multi-tenancy>
struct UserPool: TableKey {
    let project: String
    /// The ID of the tenant to which the users belong; `nil` for a project's own users.
    let tenant: String?

    var keyText: String { String(keyParts: project, tenant) }
}

/// A stored row that belongs to the users of a project or tenant. It is deleted when the project or tenant is.
protocol PoolRow: Row {
    static var byPool: Index<Self, UserPool> { get }
    var pool: UserPool { get }
}

/// A stored row with the data for a token that a client holds. After `expires`, the token doesn't work any more.
protocol TokenRow: PoolRow where Key == String {
    var token: String { get }
    var expires: Instant { get }
}

extension TokenRow {
    var key: String { token }
}

extension UserPool {
    /// The types of the stored rows that are deleted with a project or tenant. Sessions aren't in the list: they belong
    /// to single users, and are deleted with these.
    static var rowTypes: [any PoolRow.Type] {
        [
            User.self, SpentNonce.self, PendingCredential.self, WebFlow.self, KeptAnswer.self, OutOfBandCode.self,
            PhoneCode.self, TemporaryProof.self, PendingSecondFactor.self, PendingSecret.self, OAuthIdpConfig.self,
            ProviderConfig.self, PasskeyChallenge.self,
        ]
    }

    func isEmpty(_ tables: borrowing Transaction) -> Bool {
        for type in UserPool.rowTypes where holdsRows(type, tables) { return false }
        return true
    }

    private func holdsRows<R: PoolRow>(_ type: R.Type, _ tables: borrowing Transaction) -> Bool {
        tables.count(R.byPool, self) > 0
    }

    func removeAll(_ tables: inout Transaction) {
        for type in UserPool.rowTypes { removeRows(type, &tables) }
    }

    private func removeRows<R: PoolRow>(_ type: R.Type, _ tables: inout Transaction) {
        tables.remove(R.byPool, self)
    }
}

extension TableReading where Self: ~Copyable {
    /// Returns the stored row of a token in a project or tenant; `nil` if the token is unknown or has expired.
    func valid<R: TokenRow>(_ type: R.Type, _ token: String, in pool: UserPool) -> R? {
        guard let row = find(type, token), row.pool == pool, row.expires > now else { return nil }
        return row
    }
}

extension Transaction {
    /// Stores a row that belongs to a project or tenant. It does nothing if the tenant has been deleted.
    mutating func put<R: PoolRow>(_ row: R) {
        guard row.pool.tenant == nil || find(Tenant.self, row.pool) != nil else { return }
        tables.put(row)
    }

    /// Deletes the stored row of a token in a project or tenant, and returns the row; `nil` if the token is unknown or
    /// has expired.
    mutating func pop<R: TokenRow>(_ type: R.Type, _ token: String, in pool: UserPool) -> R? {
        let now = self.now
        return pop(type, token) { $0.pool == pool && $0.expires > now }
    }
}

package struct SeededUser: SchemaObject {
    struct Factor: SchemaObject {
        let id: String
        let displayName: String?
        /// The second factor's phone number or secret; `nil` if the seed has no valid one.
        let kind: SecondFactor.Kind?

        init(_ fields: inout Fields) {
            id = fields("id", .text(.nonEmpty), "The enrolment ID.")
            displayName = fields.optional("displayName", .text(.any), "The user's name for the second factor.")
            let number = fields.optional("phoneNumber", .text(.phoneNumber), "The number, for a factor by SMS.")
            let secret = fields.optional(
                "totpSecret", .text(.base32), "The secret in base32, for an authenticator app.")
            kind = number.map { .phone($0) } ?? secret.flatMap { Base32.decode($0) }.map { .totp($0) }
        }
    }

    let localId: String
    let email: String?
    let emailVerified: Bool
    let password: String?
    let displayName: String?
    let photoUrl: String?
    let phoneNumber: String?
    let disabled: Bool
    let customClaims: JSONObject
    let links: [User.Link]
    let factors: [Factor]

    package init(_ fields: inout Fields) {
        localId = fields("localId", .text(.nonEmpty), "The user ID.")
        let email = fields.optional("email", .text(.email), "The address.")
        self.email = email
        emailVerified = fields("emailVerified", .boolean, default: false, "Whether the address is verified.")
        password = fields.optional("password", .text(.nonEmpty), "The password.")
        displayName = fields.optional("displayName", .text(.any), "The name.")
        photoUrl = fields.optional("photoUrl", .text(.any), "The picture's address.")
        phoneNumber = fields.optional("phoneNumber", .text(.phoneNumber), "The phone number.")
        disabled = fields("disabled", .boolean, default: false, "Whether the user may not sign in.")
        let claims = fields.nullable("customClaims", .text(.any), "A JSON object, as a text.")
        customClaims = claims.flatMap { try? JSONValue(parsing: $0) }?.object ?? JSONObject()
        links = fields.list(
            "links", of: ComposedRule { User.Link(&$0, of: email) }, key: "providerId", "Identities at providers.")
        factors = fields.list("factors", of: Factor.self, key: "id", "Second factors, enrolled.")
    }
}

extension User.Link {
    /// Reads a user's identity at an identity provider from the seed. An identity without an address in the seed gets
    /// `email`, the user's own address.
    fileprivate init(_ fields: inout Fields, of email: String?) {
        let providerId = fields("providerId", .text(.nonEmpty), "Such as github.com.")
        let rawId = fields("rawId", .text(.nonEmpty), "The provider's identifier of the person.")
        let own = fields.optional("email", .text(.email), "The address at the provider; the user's by default.")
        self.init(
            providerId: providerId, rawId: rawId,
            displayName: fields.optional("displayName", .text(.any), "The name at the provider."),
            photoUrl: fields.optional("photoUrl", .text(.any), "The picture's address."), email: own ?? email,
            screenName: fields.optional("screenName", .text(.any), "The user name at the provider."))
    }
}

/// The greatest lengths of the texts in a request.
///
/// Three are documented: 256 characters of `displayName`
/// (<https://cloud.google.com/identity-platform/docs/reference/rest/v1/accounts/update>), 4,096 of a password
/// (<https://cloud.google.com/identity-platform/docs/password-policy>), and 1,000 of `customAttributes`
/// (`AdminChange.claims`). As was recorded, production counts the first two in UTF-16 code units, and accepts user IDs
/// longer than the 128 characters that custom tokens may have. An e-mail address has at most 254 bytes
/// (`TextRule.email`). The other limits, and the answers to longer texts, aren't documented.
enum TextLimits {
    /// Returns the greatest length of the text in a field, in bytes; for names and passwords, in UTF-16 code units.
    private static func limit(of field: String) -> Int {
        switch field {
        case "displayName": 256
        case "mfaEnrollmentId", "tenantId", "providerId": 128
        case "email", "newEmail", "identifier", "phoneNumber", "phoneInfo", "clientId", "clientSecret": 1_024
        case "localId", "localIds", "rawId", "federatedId", "screenName": 1_024
        case "photoUrl", "continueUri", "continueUrl", "requestUri", "issuer": 8_192
        case "password", "newPassword", "oldPassword", "rawPassword": 4_096
        default: RequestBudget.value
        }
    }

    static func check(_ text: String, _ field: String) throws(FirebaseError) {
        let limit = limit(of: field)
        // No text has more characters than bytes.
        guard text.utf8.count > limit else { return }
        let isInCharacters = field == "displayName" || field.lowercased().hasSuffix("password")
        guard !isInCharacters || text.utf16.count > limit else { return }
        let reason =
            isInCharacters
            ? "\(field) has \(text.utf16.count) characters; at most \(limit) are taken"
            : "\(field) has \(text.utf8.count) bytes; at most \(limit) are taken"
        if field == "displayName" {
            throw FirebaseError("INVALID_PROFILE_ATTRIBUTE", "Display name too long.", because: reason)
        }
        if isInCharacters {
            throw FirebaseError(
                "PASSWORD_DOES_NOT_MEET_REQUIREMENTS", "Password cannot be longer than \(limit) characters",
                because: reason)
        }
        throw .invalidArgument(reason)
    }
}
