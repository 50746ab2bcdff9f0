import EmulatorCore
import JSON
import Time
import Worlds

// An administrator's methods for users: projects/P/accounts, :lookup, :update, :delete
// https://cloud.google.com/identity-platform/docs/reference/rest/v1/projects.accounts
//
// Quirks: an administrator needs no recent sign-in. Custom claims are sent as a JSON text of at most 1,000 characters.

extension FirebaseProvider {
    func createAsAdmin(_ call: FirebaseCall) throws -> FirebaseAnswer {
        try call.checkRoom()
        let wanted = try call.text("localId")
        guard wanted == nil || !call.has("idToken") else {
            throw FirebaseError(
                "UNEXPECTED_PARAMETER", "User ID", because: "idToken already names the user: leave localId out")
        }
        let change = try AdminChange(call)
        let user = try call.update { tables -> User in
            if let wanted, tables.user(wanted, in: call.pool) != nil {
                throw FirebaseError("DUPLICATE_LOCAL_ID", because: "a user with the ID \"\(wanted)\" already exists")
            }
            try tables.checkRoom(in: call.exchange.world)
            var user = User(localId: wanted ?? User.randomID(&tables.random), in: call.pool, now: tables.now)
            user.set(disabled: false)
            try change.apply(to: &user, &tables)
            tables.put(user)
            return user
        }
        call.postEvent(.create, about: user)
        return FirebaseAnswer([
            "kind": "identitytoolkit#SignupNewUserResponse", "localId": user.localId, "email": user.email ?? "",
            "displayName": call.isInEmulatorMode ? user.displayName : nil,
        ])
    }

    func lookupAsAdmin(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let ids = try call.texts("localId")
        let emails = try call.texts("email")
        let numbers = try call.texts("phoneNumber")
        var identities: [User.Identity] = []
        for item in try call.list("federatedUserId") {
            identities.append(
                User.Identity(
                    pool: call.pool, providerId: try item.text("providerId") ?? "",
                    rawId: try item.text("rawId") ?? ""))
        }
        let initialEmails = try call.texts("initialEmail")
        // The limit of 100 users is checked by the Admin SDKs, not by the service:
        // https://firebase.google.com/docs/auth/admin/manage-users#bulk_retrieve_user_data
        let isEmpty = ids.isEmpty && emails.isEmpty && numbers.isEmpty && identities.isEmpty && initialEmails.isEmpty
        guard !isEmpty || call.isInEmulatorMode else {
            throw FirebaseError(
                "MISSING_ID_TOKEN",
                because: "name a user: send idToken, localId, email, phoneNumber or federatedUserId")
        }
        let wanted = identities
        let users = call.read { tables in
            var (users, seen): ([User], Set<String>) = ([], [])
            func add(_ user: User?) {
                if let user, seen.insert(user.localId).inserted { users.append(user) }
            }
            for id in ids { add(tables.user(id, in: call.pool)) }
            // Each address is looked up once, because many users may share it.
            var asked: Set<String> = []
            for email in emails where asked.insert(email.lowercased()).inserted {
                for user in tables.users(.email, email.lowercased(), in: call.pool) { add(user) }
            }
            for number in numbers { add(tables.user(phoneNumber: number, in: call.pool)) }
            for identity in wanted { add(tables.user(identity)) }
            return users
        }
        return FirebaseAnswer([
            "kind": "identitytoolkit#GetAccountInfoResponse",
            "users": !users.isEmpty ? users.map { $0.document(in: call) } : nil,
        ])
    }

    func updateAsAdmin(_ call: FirebaseCall) throws -> FirebaseAnswer {
        try AdminChange.checkSchema(call)
        let localId = try call.required("localId")
        // A policy of the project's own is asked first. Recorded as `policy/enforce-custom#admin-update-weak` and
        // `policy/default/routes#admin-update-weak`.
        if call.project.otherSettings["passwordPolicyConfig"] != nil, let password = try call.text("password") {
            try call.project.passwordPolicy.check(password)
        }
        guard call.read({ $0.user(localId, in: call.pool) != nil }) else { throw FirebaseError.noUser(localId) }
        let change = try AdminChange(call)
        let user = try call.update { tables -> User in
            guard var user = tables.user(localId, in: call.pool) else { throw FirebaseError.noUser(localId) }
            try change.apply(to: &user, &tables)
            tables.put(user)
            try tables.checkRoom(for: 0, in: call.exchange.world)
            return user
        }
        return FirebaseAnswer(body: user.changed)
    }

    /// Ends all sessions of a user: the method `signOutUser` of Identity Toolkit v3.
    func signOut(_ call: FirebaseCall) throws -> FirebaseAnswer {
        let localId = try call.required("localId")
        try call.update { tables in
            guard var user = tables.user(localId, in: call.pool) else { throw FirebaseError.noUser(localId) }
            user.validSince = tables.now.wholeSecond
            tables.put(user)
            tables.remove(Session.byUser, user.key)
        }
        return FirebaseAnswer(["localId": localId])
    }

    func deleteAsAdmin(_ call: FirebaseCall) throws -> FirebaseAnswer {
        let localId = try call.required("localId")
        let deleted = try call.update { tables -> User in
            guard let user = tables.user(localId, in: call.pool) else { throw FirebaseError.noUser(localId) }
            tables.delete(user)
            return user
        }
        call.postEvent(.delete, about: deleted)
        return FirebaseAnswer(["kind": "identitytoolkit#DeleteAccountResponse"])
    }
}

extension FirebaseError {
    fileprivate static func noUser(_ localId: String) -> FirebaseError {
        FirebaseError("USER_NOT_FOUND", because: "no user has the ID \(Diagnosis.quote(localId))")
    }
}

/// The changes to a user that an administrator asks for. The value of each field is checked when the request is read.
/// Conflicts with other users are found when the changes are made.
struct AdminChange: Sendable {
    private let email: String?
    private let password: Password?
    private let displayName: String?
    private let photoUrl: String?
    private let phoneNumber: String?
    private let emailVerified: Bool?
    /// Whether a new e-mail address counts as unverified, as in the Firebase emulator. In production, a new address
    /// doesn't change `emailVerified`.
    private let unverifiesEmail: Bool
    private let disabled: Bool?
    private let validSince: Instant?
    private let claims: CustomClaims?
    private let deletedAttributes: [String]
    private let deletedProviders: [String]
    private let deletedPasskeys: [String]
    private let link: User.Link?
    private let factors: [FactorRequest]?

    init(_ call: FirebaseCall) throws {
        email = try call.text("email")?.lowercased()
        let password = try call.text("password")
        displayName = try call.given("displayName")
        photoUrl = try call.given("photoUrl")
        phoneNumber = try call.text("phoneNumber").map { (text) throws(FirebaseError) in try PhoneNumber.checked(text) }
        emailVerified = try call.flag("emailVerified")
        unverifiesEmail = call.isInEmulatorMode
        let disableUser = try call.flag("disableUser")
        disabled = try call.flag("disabled") ?? disableUser
        validSince = try call.instant("validSince") { Instant(seconds: $0) }
        deletedAttributes = try call.deletedAttributes()
        deletedProviders = try call.texts("deleteProvider")
        deletedPasskeys = try call.texts("deletePasskey")
        claims = try AdminChange.claims(call.given("customAttributes"), explains: !call.isInEmulatorMode)
        link = try call.linkedProvider()
        if let mfa = try call.nested("mfa") {
            factors = try FactorRequest.list(mfa.list("enrollments"), .given, in: call)
        } else {
            factors = try call.has("mfaInfo") ? FactorRequest.list(call.list("mfaInfo"), .made, in: call) : nil
        }
        if let email { try FirebaseCall.checked(email: email) }
        if let password { try call.project.passwordPolicy.check(password) }
        self.password = try password.map { try call.hashed($0) }
    }

    /// Refuses `null` for the list of second factors (`mfa.enrollments`), as the Firebase emulator does before it looks
    /// for the user. In production, `null` is the same as a missing field.
    static func checkSchema(_ call: FirebaseCall) throws(FirebaseError) {
        guard call.isInEmulatorMode, let mfa = try call.nested("mfa"), mfa.isNull("enrollments") else { return }
        throw FirebaseError(
            "Invalid JSON payload received. /mfa/enrollments must be array",
            because: "mfa.enrollments is null: send a list, which may be empty")
    }

    /// Parses the JSON text of custom claims. If `explains` is true, the error for a JSON text that isn't an object has
    /// more detail, as in production.
    static func claims(_ text: String?, explains: Bool = false) throws(FirebaseError) -> CustomClaims? {
        guard let text else { return nil }
        guard text.utf8.count <= 1000 else {
            throw FirebaseError(
                "CLAIMS_TOO_LARGE",
                because: "customAttributes has \(text.utf8.count) bytes: at most 1,000 are allowed")
        }
        guard !text.isEmpty else { return CustomClaims() }
        guard let claims = CustomClaims(parsing: text) else {
            // The parser's own message for a text that isn't JSON is left out.
            let value = try? JSONValue(parsing: text)
            throw FirebaseError(
                "INVALID_CLAIMS", explains ? value.map { "Not a JSON Object: \($0.text)" } : nil,
                because: "customAttributes must be a JSON object")
        }
        if let name = claims.object.keys.first(where: { FirebaseProvider.reservedClaims.contains($0) }) {
            throw FirebaseError(
                "FORBIDDEN_CLAIM", name, because: "the custom claim \"\(name)\" is reserved: choose another name")
        }
        return claims
    }

    /// Makes the administrator's changes to `user`. Throws an error if the new e-mail address, phone number or identity
    /// belongs to a different user.
    func apply(to user: inout User, _ tables: inout Transaction) throws(FirebaseError) {
        if let email, email != user.email {
            // This holds even if users may share addresses: shared ones come from providers and imports.
            if let owner = tables.user(email: email, in: user.pool), owner.key != user.key {
                throw FirebaseError("EMAIL_EXISTS", because: "another user already has this e-mail address")
            }
            user.email = email
            // Production leaves the new address verified, on the administrator's word.
            if unverifiesEmail { user.emailVerified = false }
            // A new address ends the sessions: https://firebase.google.com/docs/auth/admin/manage-sessions
            user.validSince = tables.now.wholeSecond
        }
        if let phoneNumber {
            if let owner = tables.user(phoneNumber: phoneNumber, in: user.pool), owner.key != user.key {
                throw FirebaseError("PHONE_NUMBER_EXISTS", because: "another user already has this phone number")
            }
            user.phoneNumber = phoneNumber
        }
        if let link { try user.add(link, tables) }
        if let password {
            user.password = password
            user.validSince = tables.now.wholeSecond
        }
        if let displayName { user.displayName = displayName }
        if let photoUrl { user.photoUrl = photoUrl }
        if let emailVerified { (user.emailVerified, user.statesEmailVerified) = (emailVerified, true) }
        if let disabled { user.set(disabled: disabled) }
        if let validSince { user.validSince = validSince }
        if let claims { user.customClaims = claims }
        if let factors {
            let known = Dictionary(user.factors.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
            user.factors = []
            for factor in factors { user.factors.append(try factor.factor(among: known, &tables)) }
        }
        user.delete(attributes: deletedAttributes, providers: deletedProviders)
        _ = user.delete(passkeys: deletedPasskeys)
    }
}

extension FirebaseCall {
    /// Returns the names or numbers of the attributes that a request deletes from a user (`deleteAttribute`).
    func deletedAttributes() throws(FirebaseError) -> [String] {
        let names = try texts("deleteAttribute")
        let known = [
            "USER_ATTRIBUTE_NAME_UNSPECIFIED", "EMAIL", "DISPLAY_NAME", "PROVIDER", "PHOTO_URL", "PASSWORD",
            "RAW_USER_INFO",
        ]
        for (index, name) in names.enumerated() where !known.contains(name) {
            if let number = Int(name), known.indices.contains(number) { continue }
            throw .wrongType(
                "delete_attribute[\(index)]",
                "type.googleapis.com/google.cloud.identitytoolkit.v1.SetAccountInfoRequest.UserAttributeName",
                .string(name))
        }
        return names
    }

    /// Returns the identity at a provider that the request links to a user (`linkProviderUserInfo`).
    func linkedProvider() throws(FirebaseError) -> User.Link? {
        guard let info = try nested("linkProviderUserInfo") else { return nil }
        if !isInEmulatorMode {
            guard let provider = try info.text("providerId"), let rawId = try info.text("rawId") else {
                throw FirebaseError(
                    "MISSING_IDENTIFIER", "providerId & rawId are both required for provider linking",
                    because: "linkProviderUserInfo needs providerId and rawId")
            }
            // These follow from the user's address and number.
            guard !["password", "phone"].contains(provider) else {
                throw FirebaseError(
                    "INVALID_PROVIDER_ID",
                    because: "\(Diagnosis.quote(provider)) isn't an identity provider: set email or phoneNumber instead"
                )
            }
            return try User.Link(info, providerId: provider, rawId: rawId)
        }
        guard let provider = try info.text("providerId") else {
            throw FirebaseError("MISSING_PROVIDER_ID", because: "linkProviderUserInfo needs providerId")
        }
        guard let rawId = try info.text("rawId") else {
            throw FirebaseError("MISSING_RAW_ID", because: "linkProviderUserInfo needs rawId")
        }
        return try User.Link(info, providerId: provider, rawId: rawId)
    }
}

extension User.Link {
    /// Reads a user's identity at a provider from the API's form `ProviderUserInfo`:
    /// <https://cloud.google.com/identity-platform/docs/reference/rest/v1/ProviderUserInfo>
    init(_ info: MessageFields, providerId: String, rawId: String) throws(FirebaseError) {
        self.init(
            providerId: providerId, rawId: rawId, displayName: try info.text("displayName"),
            photoUrl: try info.text("photoUrl"), email: try info.text("email"),
            screenName: try info.text("screenName"))
    }
}

extension User {
    /// Links an identity at a provider to the user. It replaces the user's identity at the same provider.
    ///
    /// - Throws: `FEDERATED_USER_ID_ALREADY_LINKED` if the identity is linked to a different user; `INVALID_ARGUMENT`
    ///   if the user would have more than 100 identities.
    mutating func add(_ link: Link, _ tables: borrowing Transaction) throws(FirebaseError) {
        let identity = Identity(pool: pool, providerId: link.providerId, rawId: link.rawId)
        if let owner = tables.user(identity), owner.key != key {
            throw FirebaseError(
                "FEDERATED_USER_ID_ALREADY_LINKED", because: "another user already has this identity at the provider")
        }
        links.removeAll { $0.providerId == link.providerId }
        guard links.count < User.linkLimit else { throw .tooManyLinks }
        links.append(link)
    }
}

extension User {
    /// The greatest numbers of identities and of second factors that requests and imports may give a user. Outside
    /// emulator mode, an administrator's request has a lower limit for phone numbers as second factors. Production
    /// documents a limit only for such phone numbers. The Firebase emulator has no limits.
    static let (linkLimit, factorLimit) = (100, 100)
}

extension FirebaseError {
    static var tooManyLinks: FirebaseError {
        .invalidArgument("a user has at most \(User.linkLimit) identities")
    }

    static func tooManyFactors(_ count: Int) -> FirebaseError {
        FirebaseError(
            "SECOND_FACTOR_LIMIT_EXCEEDED",
            because: "the request has \(count) second factors: a user may have at most \(User.factorLimit)")
    }
}
