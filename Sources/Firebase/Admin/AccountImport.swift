import EmulatorCore
import JOSE
import JSON
import Time
import Worlds

// The method projects/P/accounts:batchCreate, or uploadAccount:
// https://cloud.google.com/identity-platform/docs/reference/rest/v1/projects.accounts/batchCreate
//
// Quirks: a wrong account is reported by its index in the list, and the others are imported. Duplicate addresses and
// identities are only looked for with sanityCheck. Users imported with a hash can sign in if the request says how it
// was made (`ImportedHash`), and at an emulator's address also with the official emulator's hashes (`fakeHash:…`).

extension FirebaseProvider {
    func batchCreate(_ call: FirebaseCall) throws -> FirebaseAnswer {
        let list = try call.list("users")
        guard !list.isEmpty else {
            throw FirebaseError("MISSING_USER_ACCOUNT", because: "users is missing or empty: send at least one user")
        }
        // The limit of 1,000 accounts is checked by the Admin SDKs, not by the service:
        // https://firebase.google.com/docs/auth/admin/import-users. The official emulator ignores the parameters of the
        // hashes, and keeps the hashes.
        let scheme = try call.isInEmulatorMode ? nil : ImportedHash(call)
        if !call.isInEmulatorMode { for item in list { try AccountImport.checkTypes(item) } }
        try call.checkRoom(for: list.count)
        let allowsOverwrite = try call.flag("allowOverwrite") ?? false
        let upload = AccountImport(
            isChecked: try call.flag("sanityCheck") ?? false, overwrites: allowsOverwrite || !call.isInEmulatorMode,
            oneAccountPerEmail: call.project.oneAccountPerEmail)
        try upload.checkDuplicates(list)
        var errors: [JSONValue] = []
        for (place, item) in list.enumerated() {
            do {
                try call.update { tables in
                    let user = try User(
                        importing: item, in: call.pool, now: tables.now,
                        from: call.isInEmulatorMode ? .emulator : .production, hashed: scheme, &tables.random)
                    let count = tables.find(User.self, user.key) == nil ? 1 : 0
                    try tables.checkRoom(for: count, in: call.exchange.world)
                    try upload.put(user, &tables)
                }
            } catch let error as FirebaseError {
                let message = AccountImport.message(of: error)
                errors.append(["index": .integer(Int64(place)), "message": .string(message)])
            }
        }
        return FirebaseAnswer([
            "kind": "identitytoolkit#UploadAccountResponse",
            "error": !errors.isEmpty || call.isInEmulatorMode ? errors : nil,
        ])
    }
}

/// The options of a request that imports users (`accounts:batchCreate`).
private struct AccountImport: Sendable {
    /// Whether the import looks for duplicate e-mail addresses and identities (the request's field `sanityCheck`).
    let isChecked: Bool
    /// Whether an imported user replaces an existing one with the same ID. In production it always does, whatever the
    /// request's field `allowOverwrite` says.
    let overwrites: Bool
    let oneAccountPerEmail: Bool

    /// Checks the types of a user's times, password hash and salt before an import. One wrong type fails the whole
    /// import.
    static func checkTypes(_ item: MessageFields) throws(FirebaseError) {
        for name in ["createdAt", "lastLoginAt", "validSince"] { _ = try item.integer(name) }
        for (name, field) in [("passwordHash", "password"), ("salt", "salt")] {
            guard let text = try item.text(name), ImportedHash.bytes(text) == nil else { continue }
            throw .wrongType(item.place(field), "TYPE_BYTES", .string(text), because: "Base64 decoding failed for")
        }
    }

    /// Checks the list of users to import for duplicates. User IDs are compared only if `overwrites` is false. E-mail
    /// addresses and identities are compared only if `isChecked` is true, and addresses only if the project doesn't let
    /// several users have the same one.
    ///
    /// - Throws: `DUPLICATE_EMAIL`, `DUPLICATE_RAW_ID` or `DUPLICATE_LOCAL_ID`. Then no user of the list is imported.
    func checkDuplicates(_ list: [MessageFields]) throws(FirebaseError) {
        var (emails, identities, ids) = (Set<String>(), Set<[String]>(), Set<String>())
        for item in list {
            if isChecked, oneAccountPerEmail, let email = try item.text("email") {
                guard emails.insert(email.lowercased()).inserted else {
                    throw FirebaseError(
                        "DUPLICATE_EMAIL", email, because: "two of the imported users have this e-mail address")
                }
            }
            for info in try isChecked ? item.list("providerUserInfo") : [] {
                let (provider, rawId) = (try info.text("providerId") ?? "", try info.text("rawId") ?? "")
                guard identities.insert([provider, rawId]).inserted else {
                    throw FirebaseError(
                        "DUPLICATE_RAW_ID", "Provider id(\(provider)), Raw id(\(rawId))",
                        because: "two of the imported users have this identity at a provider")
                }
            }
            let localId = try item.text("localId") ?? ""
            guard overwrites || ids.insert(localId).inserted else {
                throw FirebaseError(
                    "DUPLICATE_LOCAL_ID", localId,
                    because: "two of the imported users have this localId: send allowOverwrite to keep the last user")
            }
        }
    }

    func put(_ user: User, _ tables: inout Transaction) throws(FirebaseError) {
        if isChecked {
            for link in user.links {
                let identity = User.Identity(pool: user.pool, providerId: link.providerId, rawId: link.rawId)
                guard let owner = tables.user(identity), owner.key != user.key else { continue }
                throw FirebaseError(
                    "raw id exists in other account in database",
                    because: "the user \"\(owner.localId)\" already has this identity at the provider")
            }
            if oneAccountPerEmail, let email = user.email, let owner = tables.user(email: email, in: user.pool),
                owner.key != user.key
            {
                throw FirebaseError(
                    "email exists in other account in database",
                    because: "the user \"\(owner.localId)\" already has this e-mail address")
            }
        }
        guard overwrites || tables.find(User.self, user.key) == nil else {
            throw FirebaseError(
                "localId belongs to an existing account - can not overwrite.", because: "send allowOverwrite")
        }
        tables.put(user)
    }

    /// Returns an error's text for the answer to an import. In such answers, three of the error codes are replaced by
    /// sentences.
    static func message(of error: FirebaseError) -> String {
        switch error.code {
        case "INVALID_CLAIMS": "Invalid custom claims provided."
        case "CLAIMS_TOO_LARGE": "Custom claims provided are too large."
        case "FORBIDDEN_CLAIM": "Custom claims provided include a reserved claim."
        default: error.message
        }
    }
}

/// The source of an import. It decides which fields of the users are accepted.
enum ImportOrigin: Sendable {
    /// An import of users by a request to Google's host. A password hash in the Firebase emulator's form is treated
    /// like any other hash.
    case production
    /// An import of users by a request from a client in emulator mode. Users whose password hash has the Firebase
    /// emulator's form can sign in.
    case emulator
    /// An import of users from files that an emulator exported. A user may have a second factor without having a
    /// verified e-mail address.
    case export
}

extension User {
    /// Reads an imported user from the API's form `UserInfo`:
    /// <https://cloud.google.com/identity-platform/docs/reference/rest/v1/UserInfo>
    init(
        importing item: MessageFields, in pool: UserPool, now: Instant, from origin: ImportOrigin,
        hashed scheme: ImportedHash? = nil, _ random: inout Randomness
    ) throws(FirebaseError) {
        guard let localId = try item.text("localId") else {
            throw FirebaseError("localId is missing", because: "each imported user needs a localId")
        }
        self.init(localId: localId, in: pool, now: try item.instant("createdAt") { Instant(milliseconds: $0) } ?? now)
        if let tenant = try item.text("tenantId"), tenant != pool.tenant {
            throw FirebaseError(
                "Tenant id in userInfo does not match the tenant id in request.",
                because: "the imported user belongs to another tenant, \(Diagnosis.quote(tenant))")
        }
        try readContacts(item, origin)
        displayName = try item.text("displayName")
        photoUrl = try item.text("photoUrl")
        set(disabled: try item.flag("disabled") ?? false)
        hasEmailLink = try item.flag("emailLinkSignin") ?? false
        isCustom = try item.flag("customAuth") ?? false
        customClaims = try AdminChange.claims(item.given("customAttributes")) ?? CustomClaims()
        if let last = try item.instant("lastLoginAt", { Instant(milliseconds: $0) }) { lastLoginAt = last }
        if let since = try item.instant("validSince", { Instant(seconds: $0) }) { validSince = since }
        if let last = try item.text("lastRefreshAt").flatMap({ Instant(withMilliseconds: $0) }) { lastRefreshAt = last }
        let changed = try item.instant("passwordUpdatedAt") { Instant(milliseconds: $0) } ?? now
        let salt = try item.text("salt")
        if let hash = try item.text("passwordHash") {
            password = Password(
                importedHash: hash, salt: salt, now: changed, takesFakes: origin != .production, scheme: scheme)
        } else if let raw = try item.text("rawPassword") {
            password = Password(raw, salt: salt ?? Password.randomSalt(&random), now: changed)
        }
        try readLinks(item)
        try readFactors(item, origin, now: now, &random)
        // Only our own exports have these.
        if origin != .production { try readApps(item, now: now) }
    }

    private mutating func readContacts(_ item: MessageFields, _ origin: ImportOrigin) throws(FirebaseError) {
        email = try item.text("email")?.lowercased()
        if let email, !TextRule.email.holds(email) {
            throw FirebaseError("email is invalid", because: "\(Diagnosis.quote(email)) isn't an e-mail address")
        }
        initialEmail = try item.text("initialEmail")?.lowercased()
        (emailVerified, statesEmailVerified) = (try item.flag("emailVerified") ?? false, true)
        if let text = try item.text("phoneNumber") {
            // The official emulator takes every text that begins with a plus sign.
            let lax = origin != .production && text.hasPrefix("+") ? text : nil
            guard let number = PhoneNumber.normalized(text) ?? lax else {
                throw FirebaseError(
                    "phone number format is invalid",
                    because: "\(Diagnosis.quote(text)) isn't a phone number in E.164 format")
            }
            phoneNumber = number
        }
    }

    private mutating func readLinks(_ item: MessageFields) throws(FirebaseError) {
        let list = try item.list("providerUserInfo")
        // The user's own address and number may be listed as two more.
        guard list.count <= User.linkLimit + 2 else { throw .tooManyLinks }
        for info in list {
            let (provider, rawId) = (try info.text("providerId"), try info.text("rawId"))
            // These two follow from the user's other fields.
            if ["password", "phone"].contains(provider) { continue }
            guard let provider, let rawId else {
                guard try info.text("federatedId") != nil else {
                    throw FirebaseError(
                        "federatedId or (providerId & rawId) is required",
                        because: "each item of providerUserInfo needs providerId and rawId")
                }
                // Production reads it. The message is the official emulator's, which doesn't read it, either.
                throw FirebaseError(
                    "((Parsing federatedId is not implemented in Auth Emulator; please specify providerId AND rawId as a "
                        + "workaround.))", because: "each item of providerUserInfo needs providerId and rawId")
            }
            links.append(try Link(info, providerId: provider, rawId: rawId))
        }
    }

    private mutating func readFactors(
        _ item: MessageFields, _ origin: ImportOrigin, now: Instant, _ random: inout Randomness
    ) throws(FirebaseError) {
        let list = try item.list("mfaInfo")
        guard !list.isEmpty else { return }
        guard list.count <= User.factorLimit else { throw .tooManyFactors(list.count) }
        guard email != nil || origin == .export else {
            throw FirebaseError(
                "Second factor account requires email to be presented.",
                because: "a user with second factors (mfaInfo) needs an email")
        }
        guard emailVerified || origin == .export else {
            throw FirebaseError(
                "Second factor account requires email to be verified.",
                because: "a user with second factors (mfaInfo) needs emailVerified: true")
        }
        var ids: Set<String> = []
        for info in list {
            let id = try info.text("mfaEnrollmentId") ?? User.randomID(&random)
            guard ids.insert(id).inserted else {
                throw FirebaseError(
                    "Enrollment id already exists.",
                    because: "two second factors have the ID \"\(id)\" (mfaEnrollmentId)")
            }
            factors.append(try SecondFactor(importing: info, id: id, origin, now: now))
        }
    }
}

extension User {
    /// Reads the field `authenticatorApps` of an exported user: the user's authenticator apps with their secrets.
    private mutating func readApps(_ item: MessageFields, now: Instant) throws(FirebaseError) {
        var known = Set(factors.map(\.id))
        let apps = try item.list("authenticatorApps")
        guard apps.count + known.count <= User.factorLimit else { throw .tooManyFactors(apps.count + known.count) }
        for app in apps {
            guard let id = try app.text("mfaEnrollmentId"), known.insert(id).inserted,
                let secret = try app.text("sharedSecretKey").flatMap({ Base32.decode($0) })
            else {
                throw FirebaseError(
                    "Second factor not supported.",
                    because: "each authenticator app needs a unique mfaEnrollmentId and a sharedSecretKey in base32")
            }
            factors.append(
                SecondFactor(
                    id: id, kind: .totp(secret), displayName: try app.text("displayName"),
                    enrolledAt: try app.text("enrolledAt").flatMap { Instant(withMilliseconds: $0) } ?? now))
        }
    }
}

extension SecondFactor {
    fileprivate init(
        importing info: MessageFields, id: String, _ origin: ImportOrigin, now: Instant
    ) throws(FirebaseError) {
        let (whole, shown) = (try info.text("unobfuscatedPhoneInfo"), try info.text("phoneInfo"))
        guard let number = whole ?? shown else {
            // Recorded as `admin-factors#batch-create`.
            let isApp = origin == .production && info.has("totpInfo")
            throw FirebaseError(
                isApp ? "Importing TOTP MFA is not supported." : "Second factor not supported.",
                because: "each second factor in mfaInfo needs phoneInfo")
        }
        guard TextRule.phoneNumber.holds(number) || origin == .export && number.hasPrefix("+") else {
            throw FirebaseError(
                "Phone number format is invalid", because: "phoneInfo isn't a phone number in E.164 format")
        }
        self.init(
            id: id, kind: .phone(number), displayName: try info.text("displayName"),
            enrolledAt: try info.text("enrolledAt").flatMap { Instant(withMilliseconds: $0) } ?? now)
    }
}
