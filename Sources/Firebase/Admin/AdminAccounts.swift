import JSON
import EmulatorCore
import Time

// What an administrator does with users: projects/P/accounts, :lookup, :update, :delete
// https://cloud.google.com/identity-platform/docs/reference/rest/v1/projects.accounts
//
// Quirks: an administrator needs no recent sign-in. Custom claims come as a JSON text of at most 1,000 characters.

extension FirebaseProvider {
    func createAsAdmin(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        try call.checkRoom()
        let change = try AdminChange(call)
        let wanted = try call.text("localId")
        let outcome = call.update { state, context -> Result<User, FirebaseError> in
            if let wanted, state.users[wanted] != nil {
                return .failure(FirebaseError("DUPLICATE_LOCAL_ID", because: "a user has the ID \"\(wanted)\" already"))
            }
            var user = User(localId: wanted ?? ProjectState.localId(&context.random), now: context.now)
            user.tenantId = call.tenant
            if let error = change.apply(to: &user, &state, &context, call.project) { return .failure(error) }
            state.insert(user)
            return .success(user)
        }
        let user = try outcome.get()
        var body = JSONObject([
            ("kind", "identitytoolkit#SignupNewUserResponse"), ("localId", .string(user.localId)),
        ])
        body["email"] = user.email.map { .string($0) }
        body["displayName"] = user.displayName.map { .string($0) }
        return FirebaseAnswer(body: body)
    }

    func lookupAsAdmin(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let ids = try call.texts("localId")
        let emails = try call.texts("email")
        let numbers = try call.texts("phoneNumber")
        var identities: [ProjectState.IdentityKey] = []
        for item in try call.list("federatedUserId") {
            identities.append(
                ProjectState.IdentityKey(
                    provider: try item.text("providerId") ?? "", rawId: try item.text("rawId") ?? ""))
        }
        // https://firebase.google.com/docs/auth/admin/manage-users#bulk_retrieve_user_data: at most 100 at once, which the
        // Admin SDKs see to. What the service itself answers to more isn't documented.
        let count = ids.count + emails.count + numbers.count + identities.count
        guard count <= 100 else {
            throw .invalidArgument("\(count) identifiers are asked for; at most 100 are looked up at once")
        }
        let wanted = identities
        let users = call.update { state, _ -> [User] in
            let found =
                ids.compactMap { state.users[$0] } + emails.compactMap { state.user(email: $0) }
                + numbers.compactMap { state.user(phoneNumber: $0) } + wanted.compactMap { state.user(identity: $0) }
            var seen: Set<String> = []
            return found.filter { seen.insert($0.localId).inserted }
        }
        var body = JSONObject([("kind", "identitytoolkit#GetAccountInfoResponse")])
        if !users.isEmpty { body["users"] = .array(users.map { $0.document(forAdmin: true) }) }
        return FirebaseAnswer(body: body)
    }

    func updateAsAdmin(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        guard let localId = try call.text("localId") else {
            throw FirebaseError("MISSING_LOCAL_ID", because: "localId is missing")
        }
        let change = try AdminChange(call)
        let outcome = call.update { state, context -> Result<User, FirebaseError> in
            guard var user = state.users[localId] else {
                return .failure(
                    FirebaseError("USER_NOT_FOUND", because: "no user has the ID \(Diagnosis.quote(localId))"))
            }
            if let error = change.apply(to: &user, &state, &context, call.project) { return .failure(error) }
            state.insert(user)
            return .success(user)
        }
        let user = try outcome.get()
        var body = JSONObject([
            ("kind", "identitytoolkit#SetAccountInfoResponse"), ("localId", .string(user.localId)),
        ])
        body["email"] = user.email.map { .string($0) }
        body["displayName"] = user.displayName.map { .string($0) }
        body["photoUrl"] = user.photoUrl.map { .string($0) }
        body["emailVerified"] = .bool(user.emailVerified)
        body["providerUserInfo"] = .array(user.providerUserInfo)
        return FirebaseAnswer(body: body)
    }

    func deleteAsAdmin(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        guard let localId = try call.text("localId") else {
            throw FirebaseError("MISSING_LOCAL_ID", because: "localId is missing")
        }
        let isKnown = call.update { state, _ -> Bool in
            guard state.users[localId] != nil else { return false }
            state.remove(localId)
            return true
        }
        guard isKnown else {
            throw FirebaseError("USER_NOT_FOUND", because: "no user has the ID \(Diagnosis.quote(localId))")
        }
        return FirebaseAnswer(body: JSONObject([("kind", "identitytoolkit#DeleteAccountResponse")]))
    }
}

/// What an administrator wants set, checked for itself.
struct AdminChange: Sendable {
    private let email: String?
    private let password: String?
    private let displayName: String?
    private let photoUrl: String?
    private let phoneNumber: String?
    private let emailVerified: Bool?
    private let disabled: Bool?
    private let validSince: Instant?
    private let claims: JSONObject?
    private let deletedAttributes: [String]
    private let deletedProviders: [String]
    private let link: User.Link?
    private let factors: [SecondFactor]?

    init(_ call: FirebaseCall) throws(FirebaseError) {
        email = try call.text("email")?.lowercased()
        password = try call.text("password")
        displayName = try call.given("displayName")
        photoUrl = try call.given("photoUrl")
        phoneNumber = try call.text("phoneNumber")
        emailVerified = try call.flag("emailVerified")
        let disableUser = try call.flag("disableUser")
        disabled = try call.flag("disabled") ?? disableUser
        validSince = try call.instant("validSince") { Instant(seconds: $0) }
        deletedAttributes = try call.texts("deleteAttribute")
        deletedProviders = try call.texts("deleteProvider")
        claims = try AdminChange.claims(call.given("customAttributes"))
        if let info = try call.nested("linkProviderUserInfo") {
            guard let provider = try info.text("providerId"), let rawId = try info.text("rawId") else {
                throw FirebaseError("INVALID_PROVIDER_ID", because: "linkProviderUserInfo needs providerId and rawId")
            }
            link = User.Link(
                providerId: provider, rawId: rawId, displayName: try info.text("displayName"),
                photoUrl: try info.text("photoUrl"), email: try info.text("email"),
                screenName: try info.text("screenName"))
        } else {
            link = nil
        }
        let mfa = try call.nested("mfa")
        if let mfa {
            factors = try AdminChange.factors(mfa.list("enrollments"), call)
        } else if call.has("mfaInfo") {
            factors = try AdminChange.factors(call.list("mfaInfo"), call)
        } else {
            factors = nil
        }
        if let email, !TextRule.email.holds(email) {
            throw FirebaseError("INVALID_EMAIL", because: "\(Diagnosis.quote(email)) isn't an e-mail address")
        }
        if let phoneNumber, !TextRule.phoneNumber.holds(phoneNumber) {
            throw FirebaseError(
                "INVALID_PHONE_NUMBER", "Invalid format.", because: "\(Diagnosis.quote(phoneNumber)) isn't in E.164")
        }
        if let password { try FirebaseProvider.checkStrength(password) }
    }

    static func claims(_ text: String?) throws(FirebaseError) -> JSONObject? {
        guard let text else { return nil }
        guard text.utf8.count <= 1000 else {
            throw FirebaseError(
                "CLAIMS_TOO_LARGE", because: "customAttributes has \(text.utf8.count) characters; 1,000 are allowed")
        }
        guard !text.isEmpty else { return JSONObject() }
        guard let object = (try? JSONValue(parsing: text))?.object else {
            throw FirebaseError("INVALID_CLAIMS", because: "customAttributes isn't a JSON object")
        }
        if let name = object.keys.first(where: { FirebaseProvider.reservedClaims.contains($0) }) {
            throw FirebaseError("FORBIDDEN_CLAIM", name, because: "the claim \"\(name)\" is reserved")
        }
        return object
    }

    private static func factors(_ list: [FirebaseCall], _ call: FirebaseCall) throws(FirebaseError) -> [SecondFactor] {
        var factors: [SecondFactor] = []
        for item in list {
            guard let number = try item.text("phoneInfo"), TextRule.phoneNumber.holds(number) else {
                throw FirebaseError(
                    "INVALID_MFA_PHONE_NUMBER", "Invalid format.", because: "phoneInfo isn't a number in E.164")
            }
            let made = call.update { _, context in ProjectState.localId(&context.random) }
            let id = try item.text("mfaEnrollmentId") ?? made
            let now = call.exchange.world.now
            factors.append(
                SecondFactor(id: id, kind: .phone(number), displayName: try item.text("displayName"), enrolledAt: now))
        }
        return factors
    }

    /// Changes `user`; the refusal, if something of it is another's already.
    func apply(
        to user: inout User, _ state: inout ProjectState, _ context: inout FirebaseCall.Context, _ project: Project
    ) -> FirebaseError? {
        if let email, email != user.email {
            if project.oneAccountPerEmail, let owner = state.user(email: email), owner.localId != user.localId {
                return FirebaseError("EMAIL_EXISTS", because: "another user has the address")
            }
            user.email = email
            user.emailVerified = false
        }
        if let phoneNumber {
            if let owner = state.user(phoneNumber: phoneNumber), owner.localId != user.localId {
                return FirebaseError("PHONE_NUMBER_EXISTS", because: "another user has the number")
            }
            user.phoneNumber = phoneNumber
        }
        if let link {
            let key = ProjectState.IdentityKey(provider: link.providerId, rawId: link.rawId)
            if let owner = state.user(identity: key), owner.localId != user.localId {
                return FirebaseError("FEDERATED_USER_ID_ALREADY_LINKED", because: "another user has this identity")
            }
            user.links.removeAll { $0.providerId == link.providerId }
            user.links.append(link)
        }
        if let password {
            user.password = Password(password, salt: context.random.bytes(16), now: context.now)
            user.validSince = context.now.wholeSecond
        }
        if let displayName { user.displayName = displayName.isEmpty ? nil : displayName }
        if let photoUrl { user.photoUrl = photoUrl.isEmpty ? nil : photoUrl }
        if let emailVerified { user.emailVerified = emailVerified }
        if let disabled { user.disabled = disabled }
        if let validSince { user.validSince = validSince }
        if let claims { user.customClaims = claims }
        if let factors { user.factors = factors }
        user.delete(attributes: deletedAttributes, providers: deletedProviders)
        return nil
    }
}
