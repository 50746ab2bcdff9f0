import EmulatorCore
import JSON

// The methods accounts:signUp (signupNewUser) and accounts:signInWithPassword (verifyPassword):
// https://cloud.google.com/identity-platform/docs/reference/rest/v1/accounts/signUp
//
// Quirks: without an address it makes an anonymous user; with idToken it gives the signed-in user a password, which is
// how the iOS SDK links one. With email enumeration protection a wrong password and an unknown address are answered
// alike.

extension FirebaseProvider {
    func signUp(_ call: FirebaseCall) async throws -> FirebaseAnswer {
        // An empty address isn't a missing one: it makes no anonymous user.
        let email = try call.given("email")
        let password = try call.text("password")
        let idToken = try call.text("idToken")
        guard !call.has("localId") else {
            throw FirebaseError(
                "UNEXPECTED_PARAMETER", "User ID",
                because: "only administrators may choose localId: leave it out, or send Authorization: Bearer owner")
        }
        // The official emulator takes factors from every caller.
        let factors = try call.project.takesFakes ? FactorRequest.list(call.list("mfaInfo"), .made, in: call) : []
        guard email != nil || call.has("password") || idToken != nil else { return try signUpAnonymously(call) }
        try call.require("password", or: "OPERATION_NOT_ALLOWED")
        // The official emulator answers that an empty text isn't an address.
        guard let email, !email.isEmpty || call.isInEmulatorMode else {
            throw FirebaseError.missing("email")
        }
        try FirebaseCall.checked(email: email)
        guard let password else { throw FirebaseError.missing("password") }
        try call.project.passwordPolicy.check(password)
        if idToken == nil {
            try call.requireSignUp()
            try call.checkRoom()
        }
        let signedIn = try call.signedInIfGiven()
        let displayName = try call.text("displayName")
        let hash = try call.hashed(password)
        // No function is asked about a user who adds a password to another way to sign in.
        let (made, agreed) = try await call.decide(SignInEvent(method: "password"), asksForFactor: false) {
            tables, creation -> User in
            let owner = tables.user(email: email, in: call.pool)
            guard owner == nil || owner?.localId == signedIn?.user.localId else {
                throw FirebaseError(
                    "EMAIL_EXISTS", because: "another user already has the e-mail address \(Diagnosis.quote(email))")
            }
            let known = try signedIn.map { (signedIn) throws(FirebaseError) in try signedIn.user(in: tables) }
            var user = known ?? creation.user(in: call.pool, &tables)
            if user.email != email.lowercased() { user.emailVerified = false }
            user.email = email.lowercased()
            user.password = hash
            // The signed-in user continues with new tokens.
            user.validSince = tables.now.wholeSecond
            if let displayName { user.displayName = displayName }
            for factor in factors { user.factors.append(try factor.factor(among: [:], &tables)) }
            creation.finish(&user)
            tables.put(user)
            return user
        } who: {
            signedIn == nil ? (user: $0, isNew: true) : nil
        }
        let user = agreed?.user ?? made
        let tokens = try call.openSession(
            user, provider: "password", secondFactor: signedIn?.secondFactor,
            customClaims: agreed?.claims ?? JSONObject())
        return FirebaseAnswer(
            [
                "kind": "identitytoolkit#SignupNewUserResponse", "localId": user.localId,
                "email": user.email ?? email, "displayName": user.displayName,
            ], and: tokens.members)
    }

    private func signUpAnonymously(_ call: FirebaseCall) throws -> FirebaseAnswer {
        try call.require("anonymous", or: "ADMIN_ONLY_OPERATION")
        try call.requireSignUp()
        try call.checkRoom()
        let user = try call.update { tables in
            try tables.checkRoom(in: call.exchange.world)
            var user = User(localId: User.randomID(&tables.random), in: call.pool, now: tables.now)
            user.validSince = nil
            tables.put(user)
            return user
        }
        call.postEvent(.create, about: user)
        let tokens = try call.openSession(user, provider: "anonymous")
        return FirebaseAnswer(
            ["kind": "identitytoolkit#SignupNewUserResponse", "localId": user.localId], and: tokens.members)
    }

    /// Returns the reason for which nobody can sign in with an e-mail address that no user of the call has. If the call
    /// names no tenant, and a user of exactly one tenant has the address, the reason names this tenant.
    private func noUser(with email: String, _ call: FirebaseCall) -> String {
        let reason = "no user has the e-mail address \(Diagnosis.quote(email))"
        if let tenant = call.tenant { return "\(reason) in the tenant \(Diagnosis.quote(tenant))" }
        let place = Tenant.place(of: call.project.id)
        let owner = call.read { tables -> String? in
            var owner: String?
            for entry in tables.rows(Tenant.order, prefix: place, limit: 1_000) {
                guard tables.user(email: email, in: entry.row.key) != nil else { continue }
                guard owner == nil else { return nil }
                owner = entry.row.id
            }
            return owner
        }
        guard let owner else { return reason }
        return "\(reason) outside the tenants, but one of the tenant \(Diagnosis.quote(owner)) has it: send tenantId"
    }

    func signInWithPassword(_ call: FirebaseCall) async throws -> FirebaseAnswer {
        try call.require("password", or: "PASSWORD_LOGIN_DISABLED")
        guard let email = try call.given("email") else { throw FirebaseError.missing("email") }
        try FirebaseCall.checked(email: email)
        let password = try call.required("password")
        let user = call.read { $0.user(email: email, in: call.pool) }
        if user?.password?.scheme?.isBroken ?? false, !call.isInEmulatorMode {
            throw FirebaseError.internalError(
                because:
                    "the user's password can't be checked: its hash was imported as HMAC_SHA512 without a signerKey")
        }
        let mismatch: String? =
            if user == nil {
                noUser(with: email, call)
            } else if let known = user?.password {
                // An imported hash may take a second to compare.
                known.isForeign
                    ? try await call.exchange.onWorkThread(.hashing) { known.mismatch(password) }
                    : known.mismatch(password)
            } else {
                "the user has no password"
            }
        guard let user, mismatch == nil else {
            let code =
                call.project.hidesEmails
                ? "INVALID_LOGIN_CREDENTIALS" : user == nil ? "EMAIL_NOT_FOUND" : "INVALID_PASSWORD"
            throw FirebaseError(code, because: mismatch ?? "")
        }
        guard !user.disabled else { throw FirebaseError.userIsDisabled(user) }
        let unmet = try call.project.passwordPolicy.checkAtSignIn(password)
        let agreed = try await call.agreeing(user, SignInEvent(method: "password"))
        var body = JSONObject([
            "kind": "identitytoolkit#VerifyPasswordResponse", "localId": user.localId, "email": user.email ?? email,
            "displayName": agreed.user.displayName ?? "", "registered": true, "profilePicture": agreed.user.photoUrl,
        ])
        if !unmet.isEmpty {
            body["userNotifications"] = .array(
                unmet.map { ["notificationCode": .string($0.code), "notificationMessage": .string($0.message)] })
        }
        let wantsSession = try call.wantsSession()
        if wantsSession || !call.secondFactors(of: agreed.user, after: "password").isEmpty {
            body.merge(try call.signIn(agreed.user, provider: "password", customClaims: agreed.claims).members)
        } else {
            body["idToken"] = .string(
                try call.signInWithoutSession(agreed.user, provider: "password", customClaims: agreed.claims))
        }
        return FirebaseAnswer(body: body)
    }
}

/// The permissions that the seed denies to the end users of a project or tenant, but not to administrators.
/// <https://cloud.google.com/identity-platform/docs/reference/rest/v2/ClientConfig#permissions>
struct SeededClientPermissions: SchemaObject {
    /// The permissions in the form of `client.permissions` in Google's API.
    let permissions: JSONObject

    init(_ fields: inout Fields) {
        var permissions = JSONObject()
        for (name, action) in [("disabledUserSignup", "sign up"), ("disabledUserDeletion", "delete their account")]
        where fields(name, .boolean, default: false, "Whether only administrators may \(action).") {
            permissions[name] = true
        }
        self.permissions = permissions
    }
}

// Recorded in September 2026 as `config/client-permissions`, `client-permissions` and `tenant/settings`:
// https://github.com/t-k/fireemu, conformance.
extension FirebaseCall {
    /// Checks that the project or tenant lets end users create accounts.
    ///
    /// - Throws: `ADMIN_ONLY_OPERATION`.
    func requireSignUp() throws(FirebaseError) { try requirePermission(without: "disabledUserSignup") }

    /// Checks that the project or tenant lets end users delete their accounts.
    ///
    /// - Throws: `ADMIN_ONLY_OPERATION`.
    func requireDeletion() throws(FirebaseError) { try requirePermission(without: "disabledUserDeletion") }

    private func requirePermission(without name: String) throws(FirebaseError) {
        guard project.otherSettings["client"]?["permissions"]?[name]?.bool ?? false else { return }
        throw FirebaseError(
            "ADMIN_ONLY_OPERATION",
            because: "client.permissions.\(name) of the \(tenant == nil ? "project" : "tenant") is true, so only "
                + "administrators may send this request: send it as an administrator, or set the permission to false")
    }
}
