import JSON
import EmulatorCore
import Worlds

// The methods accounts:lookup (getAccountInfo), accounts:update (setAccountInfo) and accounts:delete (deleteAccount):
// https://cloud.google.com/identity-platform/docs/reference/rest/v1/accounts/update
//
// Quirks: deleteProvider unlinks a provider, even the last one. To change the address or password, or to delete the
// user, a recent sign-in is needed. With email enumeration protection, a new address must be verified before it
// replaces the old one.

extension FirebaseProvider {
    func lookup(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        if call.isAdmin { return try lookupAsAdmin(call) }
        // An empty text counts as given, except for the official emulator.
        let signedIn = try call.signedIn(call.isInEmulatorMode ? call.text("idToken") : call.given("idToken"))
        return FirebaseAnswer([
            "kind": "identitytoolkit#GetAccountInfoResponse",
            "users": [signedIn.user.document(.redacted, inEmulatorMode: call.isInEmulatorMode)],
        ])
    }

    // MARK: - Update

    /// The changes that a user asks for in accounts:update. The value of each field is checked when the request is
    /// read. Conflicts with other users are found when the changes are made.
    private struct Change: Sendable {
        var email: String?
        var password: String?
        var displayName: String?
        var photoUrl: String?
        var deletedAttributes: [String] = []
        var deletedProviders: [String] = []
        var link: User.Link?
        var endsSessions = false
        var deletedPasskeys: [String] = []

        init(_ call: FirebaseCall) throws(FirebaseError) {
            if !call.isInEmulatorMode { try Change.refuseForeign(call) }
            email = try call.text("email")
            password = try call.text("password")
            displayName = try call.given("displayName")
            photoUrl = try call.given("photoUrl")
            deletedAttributes = try call.deletedAttributes()
            deletedProviders = try call.texts("deleteProvider")
            link = try call.linkedProvider()
            // For a user's own request it only matters that the field is there.
            endsSessions = call.has("validSince")
            deletedPasskeys = try call.texts("deletePasskey")
            if let email { try FirebaseCall.checked(email: email) }
            if let password { try call.project.passwordPolicy.check(password) }
        }

        /// The part of an error message that says how an administrator calls accounts:update.
        private static let asAdministrator = "send Authorization: Bearer owner, and localId in place of idToken"

        /// Refuses `customAttributes`, `disableUser` and `linkProviderUserInfo` in accounts:update, because only
        /// administrators may send them. All other fields for administrators are ignored. The Firebase emulator ignores
        /// `customAttributes` and `disableUser`, and carries out `linkProviderUserInfo`.
        private static func refuseForeign(_ call: FirebaseCall) throws(FirebaseError) {
            if call.has("customAttributes") {
                throw FirebaseError(
                    "INSUFFICIENT_PERMISSION",
                    because: "only administrators may set customAttributes: \(Change.asAdministrator)")
            }
            if call.has("disableUser") {
                throw FirebaseError(
                    "OPERATION_NOT_ALLOWED",
                    because: "only administrators may set disableUser: \(Change.asAdministrator)")
            }
            if call.has("linkProviderUserInfo") {
                throw FirebaseError(
                    "UNEXPECTED_PARAMETER", "link_provider_user_info is not allowed with ID token.",
                    because: "only administrators may send linkProviderUserInfo: \(Change.asAdministrator), or link "
                        + "the identity with signInWithIdp")
            }
        }

        func apply(
            to user: inout User, _ hash: Password?, isAnonymous: Bool, _ tables: borrowing Transaction
        ) throws(FirebaseError) {
            if let displayName { user.displayName = displayName }
            if let photoUrl { user.photoUrl = photoUrl }
            if let email, email.lowercased() != user.email {
                if user.initialEmail == nil, !isAnonymous { user.initialEmail = user.email }
                user.email = email.lowercased()
                user.emailVerified = false
            }
            if let hash { user.password = hash }
            if let link { try user.add(link, tables) }
            user.delete(attributes: deletedAttributes, providers: deletedProviders)
        }
    }

    func update(_ call: FirebaseCall) async throws -> FirebaseAnswer {
        // A request with an ID token is about the token's user, and its code is ignored. The official emulator goes by
        // the code.
        if let code = try call.text("oobCode"), call.isInEmulatorMode || !call.has("idToken") {
            return try applyCode(call, code)
        }
        // An administrator who sends an ID token and names no user may do what the user may.
        if call.isAdmin, call.has("localId") || !call.has("idToken") { return try updateAsAdmin(call) }
        let signedIn = try call.signedIn(call.text("idToken"))
        let change = try Change(call)
        let isNewEmail = change.email.map { $0.lowercased() != signedIn.user.email } ?? false
        if isNewEmail || change.password != nil { try call.requireRecent(signedIn) }
        // This goes for a first address, too: an anonymous user gets one by signUp.
        if isNewEmail, call.project.hidesEmails {
            throw FirebaseError(
                "OPERATION_NOT_ALLOWED", "Please verify the new email before changing email.",
                because:
                    "email enumeration protection is on: verify the new address first, or set "
                    + "emailEnumerationProtection to false in the seed")
        }
        // Recorded as `tenant/settings#password-off-update-password`: a password can be changed even if nobody may sign
        // in with one.
        if change.password != nil && call.isInEmulatorMode || isNewEmail {
            try call.require("password", or: "OPERATION_NOT_ALLOWED")
        }
        let hash = try change.password.map { try call.hashed($0) }
        let needsTokens = change.password != nil || isNewEmail || change.endsSessions
        let changed = try call.update { tables -> User in
            var user = try signedIn.user(in: tables)
            // Another user may have got the address since the token was checked.
            if let email = change.email, email.lowercased() != user.email,
                tables.user(email: email, in: call.pool) != nil
            {
                throw FirebaseError("EMAIL_EXISTS", because: "another user already has this e-mail address")
            }
            try change.apply(to: &user, hash, isAnonymous: signedIn.provider == "anonymous", tables)
            if !user.delete(passkeys: change.deletedPasskeys), let error = call.missingPasskey() { throw error }
            // A new password ends every other session; the session that changed it continues with new tokens.
            if needsTokens { user.validSince = tables.now.wholeSecond }
            tables.put(user)
            try tables.checkRoom(for: 0, in: call.exchange.world)
            return user
        }
        var diagnosis: Diagnosis?
        if isNewEmail, signedIn.provider != "anonymous", let initial = changed.initialEmail {
            diagnosis = try await offerRecovery(call, of: changed, to: initial)
        }
        var body = changed.changed
        if change.email != nil { body["newEmail"] = changed.email.map { .string($0) } }
        // An anonymous user has now signed in with the new password.
        let provider =
            change.password != nil && signedIn.provider == "anonymous" ? "password" : signedIn.provider
        // In a tenant, too. Recorded as `tenant/settings#password-off-update-password`.
        let wantsSession = try call.isInEmulatorMode ? true : call.flag("returnSecureToken") ?? false
        if needsTokens, !wantsSession {
            body["idToken"] = .string(try call.legacyToken(changed, provider: provider))
        } else if needsTokens || !change.deletedPasskeys.isEmpty {
            // Apple's SDK reads tokens from the answer to the deletion of a passkey, too. A new name or picture is
            // answered without tokens: the next token has it.
            let tokens = try call.openSession(
                changed, provider: provider, secondFactor: signedIn.secondFactor,
                authTime: needsTokens ? nil : signedIn.authTime, attributes: signedIn.attributes)
            body.merge(tokens.members)
        }
        return FirebaseAnswer(body: body, diagnosis: diagnosis)
    }

    // MARK: - Delete

    func delete(_ call: FirebaseCall) throws -> FirebaseAnswer {
        if call.isAdmin { return try deleteAsAdmin(call) }
        let signedIn = try call.signedIn(call.text("idToken"))
        try call.requireDeletion()
        try call.requireRecent(signedIn)
        let deleted = try call.update { tables -> User in
            let user = try signedIn.user(in: tables)
            tables.delete(user)
            return user
        }
        call.postEvent(.delete, about: deleted)
        return FirebaseAnswer(["kind": "identitytoolkit#DeleteAccountResponse"])
    }
}
