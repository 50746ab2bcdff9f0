import EmulatorCore
import JOSE
import JSON
import Time
import Worlds

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

    /// The answer to a change of the user.
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
        /// The hash in the form in which it is stored.
        case shown
        /// The hash in base64, with the version of the parameters: as production lists users for an export.
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
    /// The time with three digits after the second, as Google writes it. Apple's SDK reads no other form.
    var textWithMilliseconds: String { text.dropLast() + ".\(String(1000 + milliseconds % 1000).dropFirst())Z" }

    /// The time with six digits after the second, or none, as protobuf writes it.
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

    /// An identity at a provider, within a pool.
    struct Identity: TableKey {
        let pool: UserPool
        let providerId: String
        let rawId: String

        var keyText: String { String(keyParts: pool.project, pool.tenant, providerId, rawId) }
    }

    static let table = Table<User>(
        "firebase.user", indexes: [byPool, byIdentity, byPasskey], sortedBy: order, size: { $0.size })

    /// The bytes of the user's texts.
    private var size: Int {
        let texts = [
            email, initialEmail, displayName, photoUrl, phoneNumber, password?.hash, password?.salt, customClaims.text,
        ]
        let linked = links.flatMap { [$0.rawId, $0.displayName, $0.photoUrl, $0.email, $0.screenName] }
        return (texts + linked + factors.map(\.displayName) + passkeys.flatMap { [$0.id, $0.name, $0.publicKey] })
            .reduce(localId.utf8.count) { $0 + ($1?.utf8.count ?? 0) }
    }

    var key: Key { Key(pool: pool, localId: localId) }

    static let byPool = Index<User, UserPool>("pool") { $0.pool }
    static let byIdentity = Index<User, Identity>(
        "identity",
        each: { user in
            user.links.map { Identity(pool: user.pool, providerId: $0.providerId, rawId: $0.rawId) }
        })
    /// The users of a pool by their IDs, and by age those who share an address, a number or a provider.
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
        /// The address at a provider, where it isn't the user's own.
        case providerEmail
        case phoneNumber
        /// The provider of one of the user's identities.
        case provider
    }

    /// Returns the common prefix of the texts of all users in a pool who have this value.
    static func place(_ field: Field, _ pool: UserPool, _ value: String? = nil) -> String {
        value.map { "\(place(field, pool, beginningWith: $0))\0\u{1}" } ?? place(field, pool, beginningWith: "")
    }

    /// Returns the common prefix of the texts of all users in a pool whose value begins so. An ID ends its text, and
    /// holds no zero.
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

    /// Returns at most `limit` users who have this value, the oldest first.
    func users(_ field: User.Field, _ value: String, in pool: UserPool, limit: Int = .max) -> [User] {
        rows(User.order, prefix: User.place(field, pool, value), limit: limit).map(\.row)
    }

    /// Returns the user with this address; the oldest, if there are several.
    func user(email: String, in pool: UserPool) -> User? {
        users(.email, email.lowercased(), in: pool, limit: 1).first
    }

    /// Returns the user with this phone number; the oldest, if there are several.
    func user(phoneNumber: String, in pool: UserPool) -> User? {
        users(.phoneNumber, phoneNumber, in: pool, limit: 1).first
    }

    /// Returns the user with this identity. An import can give it to several; then it is the one who got it last.
    func user(_ identity: User.Identity) -> User? { last(User.byIdentity, identity) }

    /// Returns at most `limit` users, ordered by their IDs, after the ID `localId`.
    func users(of pool: UserPool, after localId: String, limit: Int) -> [User] {
        let prefix = User.place(.localId, pool)
        return rows(User.order, prefix: prefix, after: prefix + localId, limit: limit).map(\.row)
    }
}

extension Transaction {
    /// Deletes a user. Their sessions end, and their codes stop working.
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

    /// Deletes at most `limit` users of a pool, and returns how many it deleted.
    mutating func deleteUsers(of pool: UserPool, limit: Int) -> Int {
        let users = rows(User.byPool, pool, limit: limit)
        for user in users { delete(user) }
        return users.count
    }
}

/// A set of users in which addresses, numbers and identities are unique: a project's own users, or those of one of its
/// tenants. <https://cloud.google.com/identity-platform/docs/multi-tenancy>
struct UserPool: TableKey {
    let project: String
    /// The tenant's ID; `nil` for the project's own users.
    let tenant: String?

    var keyText: String { String(keyParts: project, tenant) }
}

/// A row that belongs to a pool of users, and is removed with it.
protocol PoolRow: Row {
    static var byPool: Index<Self, UserPool> { get }
    var pool: UserPool { get }
}

/// The data behind a token that a client has, until the token is used or expires.
protocol TokenRow: PoolRow where Key == String {
    var token: String { get }
    var expires: Instant { get }
}

extension TokenRow {
    var key: String { token }
}

extension UserPool {
    /// The types of the rows that belong to a pool. Sessions belong to their users.
    static var rowTypes: [any PoolRow.Type] {
        [
            User.self, SpentNonce.self, PendingCredential.self, WebFlow.self, KeptAnswer.self, OutOfBandCode.self,
            PhoneCode.self, TemporaryProof.self, PendingSecondFactor.self, PendingSecret.self, OAuthIdpConfig.self,
            ProviderConfig.self, PasskeyChallenge.self,
        ]
    }

    /// Whether the pool has no rows.
    func isEmpty(_ tables: borrowing Transaction) -> Bool {
        for type in UserPool.rowTypes where holdsRows(type, tables) { return false }
        return true
    }

    private func holdsRows<R: PoolRow>(_ type: R.Type, _ tables: borrowing Transaction) -> Bool {
        tables.count(R.byPool, self) > 0
    }

    /// Removes the pool's rows.
    func removeAll(_ tables: inout Transaction) {
        for type in UserPool.rowTypes { removeRows(type, &tables) }
    }

    private func removeRows<R: PoolRow>(_ type: R.Type, _ tables: inout Transaction) {
        tables.remove(R.byPool, self)
    }
}

extension TableReading where Self: ~Copyable {
    /// Returns the row of the token in this pool, unless it has expired.
    func valid<R: TokenRow>(_ type: R.Type, _ token: String, in pool: UserPool) -> R? {
        guard let row = find(type, token), row.pool == pool, row.expires > now else { return nil }
        return row
    }
}

extension Transaction {
    /// Adds a row of a pool, unless the pool's tenant has been deleted meanwhile.
    mutating func put<R: PoolRow>(_ row: R) {
        guard row.pool.tenant == nil || find(Tenant.self, row.pool) != nil else { return }
        tables.put(row)
    }

    /// Removes the row of the token in this pool and returns it, unless it has expired.
    mutating func pop<R: TokenRow>(_ type: R.Type, _ token: String, in pool: UserPool) -> R? {
        let now = self.now
        return pop(type, token) { $0.pool == pool && $0.expires > now }
    }
}

/// A user in a project's seed.
package struct SeededUser: SchemaObject {
    struct Factor: SchemaObject {
        let id: String
        let displayName: String?
        /// The kind of factor; `nil` if the seed has neither a valid number nor a valid secret.
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
    /// Reads a link to a provider's identity from the seed. Without an address of its own, it has `email`, the user's.
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

/// The greatest lengths of texts in a request.
///
/// Documented: 256 characters of `displayName`
/// (<https://cloud.google.com/identity-platform/docs/reference/rest/v1/accounts/update>), 4,096 of a password
/// (<https://cloud.google.com/identity-platform/docs/password-policy>), 1,000 of `customAttributes`
/// (`AdminChange.claims`). As recorded, production counts these in UTF-16 code units, and takes user IDs longer than
/// the 128 characters that custom tokens may have. An e-mail address has at most 254 bytes (`TextRule.email`). The
/// other limits and the answers to longer texts aren't documented.
enum TextLimits {
    /// Returns the limit in bytes; for names and passwords, in UTF-16 code units.
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
