import JOSE
import JSON
import EmulatorCore
import Time
import Worlds

// The methods accounts:resetPassword, accounts:update with an oobCode, and accounts:signInWithEmailLink
// (emailLinkSignin):
// https://cloud.google.com/identity-platform/docs/reference/rest/v1/accounts/resetPassword
//
// Quirks: resetPassword without a new password only tells the purpose of a code. A code works once, for the user for
// whom it was made. It is used up even if it can't be applied, because the user is disabled. If the user's address has
// changed since, only a code that changes the address still works: production's answers are recorded in
// https://github.com/t-k/fireemu, conformance/auth-action-production.json (`password-reset`, `verify-email`,
// `change-email`).

extension FirebaseCall {
    /// Returns the mail to which a code (`oobCode`) belongs, if the code is still valid and of one of the given kinds.
    ///
    /// - Throws: `MISSING_OOB_CODE`, `EXPIRED_OOB_CODE` or `INVALID_OOB_CODE`.
    func mail(_ code: String?, _ kinds: [OutOfBandCode.Kind]) throws(FirebaseError) -> OutOfBandCode {
        guard let code else { throw .missing("oobCode") }
        return try read { (tables) throws(FirebaseError) in try tables.mail(code, kinds, in: pool) }
    }
}

extension TableReading where Self: ~Copyable {
    fileprivate func mail(
        _ code: String, _ kinds: [OutOfBandCode.Kind], in pool: UserPool
    ) throws(FirebaseError) -> OutOfBandCode {
        let found = find(OutOfBandCode.self, code)
        guard let mail = found, mail.pool == pool else {
            throw FirebaseError(
                "INVALID_OOB_CODE", because: "no mail with this code was sent since the test world was last reset")
        }
        guard kinds.contains(mail.kind) else {
            throw FirebaseError(
                "INVALID_OOB_CODE", because: "the code from the mail is for another action, \(mail.kind.rawValue)")
        }
        guard !mail.isUsed else {
            throw FirebaseError("INVALID_OOB_CODE", because: "the code from the mail was used already")
        }
        guard mail.localId.map({ user($0, in: pool) != nil }) ?? true else {
            throw FirebaseError("INVALID_OOB_CODE", because: "the user to whom the code was sent was deleted")
        }
        guard mail.expires > now else {
            throw FirebaseError(
                "EXPIRED_OOB_CODE",
                because:
                    "the code expired \((now - mail.expires).inWords) ago: request a new mail, or advance the test world's clock less"
            )
        }
        return mail
    }
}

extension OutOfBandCode.Kind {
    /// The kinds of mailed codes (`oobCode`) that take effect without further input. A password reset isn't one of
    /// them, because it needs a new password.
    static let applied: [OutOfBandCode.Kind] = [
        .verifyEmail, .verifyAndChangeEmail, .recoverEmail, .revertSecondFactorAddition,
    ]

    /// Production's error code for a mailed one-time code if the user's e-mail address has changed since the mail was
    /// sent; `nil` for kinds of codes that still work after such a change.
    fileprivate var errorAfterMove: String? {
        switch self {
        case .passwordReset: "USER_NOT_FOUND"
        case .verifyEmail: "EMAIL_NOT_FOUND"
        case .emailSignIn, .verifyAndChangeEmail, .recoverEmail, .revertSecondFactorAddition: nil
        }
    }
}

extension TableReading where Self: ~Copyable {
    /// Returns the second factor that a mailed code removes; `nil` if the user doesn't have the factor any more.
    fileprivate func factor(of mail: OutOfBandCode) -> SecondFactor? {
        guard let id = mail.factor, let localId = mail.localId else { return nil }
        return user(localId, in: mail.pool)?.factors.first { $0.id == id }
    }
}

extension Transaction {
    fileprivate mutating func use(_ code: String, _ kind: OutOfBandCode.Kind, in pool: UserPool) throws(FirebaseError) {
        var mail = try mail(code, [kind], in: pool)
        mail.isUsed = true
        put(mail)
    }
}

extension FirebaseProvider {
    func resetPassword(_ call: FirebaseCall) throws -> FirebaseAnswer {
        try call.require("password", or: "PASSWORD_LOGIN_DISABLED")
        let code = try call.text("oobCode")
        let password = try call.isInEmulatorMode ? call.text("newPassword") : call.given("newPassword")
        // For a sign-in link, production only tells its purpose, whatever else is sent.
        let withPassword: [OutOfBandCode.Kind] =
            call.isInEmulatorMode ? [.passwordReset] : [.passwordReset, .emailSignIn]
        let mail = try call.mail(code, password == nil ? OutOfBandCode.Kind.allCases : withPassword)
        var body = JSONObject(["kind": "identitytoolkit#ResetPasswordResponse"])
        // A user who signs in by a link must know the address.
        // https://firebase.google.com/docs/auth/web/email-link-auth#security_concerns
        if mail.kind != .emailSignIn { body["email"] = .string(mail.email) }
        body["newEmail"] = mail.newEmail.map { .string($0) }
        body["requestType"] = .string(mail.kind.rawValue)
        if let factor = call.read({ $0.factor(of: mail) }) {
            body["mfaInfo"] = factor.document(isMasked: false, inEmulatorMode: call.isInEmulatorMode)
        }
        guard let password, mail.kind == .passwordReset else { return FirebaseAnswer(body: body) }
        guard !password.isEmpty else { throw FirebaseError("WEAK_PASSWORD", because: "newPassword is empty") }
        try call.project.passwordPolicy.check(password)
        let hash = try call.hashed(password)
        _ = try apply(mail, call) { user, tables in
            user.password = hash
            // The code was sent to the address, so it proves that the address is the user's.
            user.emailVerified = true
            user.validSince = tables.now.wholeSecond
        }
        return FirebaseAnswer(body: body)
    }

    /// Applies the mailed code (`oobCode`) in a request to `accounts:update`. The code verifies, changes or recovers
    /// the user's address, or removes a second factor.
    func applyCode(_ call: FirebaseCall, _ code: String) throws -> FirebaseAnswer {
        let mail = try call.mail(code, OutOfBandCode.Kind.applied)
        let user = try apply(mail, call) { user, tables in
            switch mail.kind {
            case .revertSecondFactorAddition:
                user.factors.removeAll { $0.id == mail.factor }
                // The user's sessions end, so a person who added the factor without right is signed out. What
                // production does isn't documented.
                user.validSince = tables.now.wholeSecond
                return
            case .verifyAndChangeEmail, .recoverEmail:
                let wanted = mail.kind == .recoverEmail ? mail.email : mail.newEmail ?? mail.email
                let other = tables.user(email: wanted, in: call.pool)
                guard other == nil || other?.key == user.key else {
                    throw FirebaseError(
                        "EMAIL_EXISTS", because: "another user has taken the e-mail address since the mail was sent")
                }
                if mail.kind == .verifyAndChangeEmail, user.initialEmail == nil { user.initialEmail = user.email }
                user.email = wanted
                user.validSince = tables.now.wholeSecond
            case .passwordReset, .verifyEmail, .emailSignIn: break
            }
            user.emailVerified = true
        }
        var body = user.changed
        if mail.kind == .verifyAndChangeEmail { body["newEmail"] = user.email.map { .string($0) } }
        return FirebaseAnswer(body: body)
    }

    /// Marks a mailed code (`oobCode`) as used, and carries out the change that the code stands for, such as a new
    /// address. The code is used up even if the change fails.
    private func apply(
        _ mail: OutOfBandCode, _ call: FirebaseCall,
        _ change: (inout User, borrowing Transaction) throws -> Void
    ) throws -> User {
        try call.update { tables in try tables.use(mail.code, mail.kind, in: call.pool) }
        return try call.update { tables -> User in
            guard var user = mail.localId.flatMap({ tables.user($0, in: call.pool) }) else {
                throw FirebaseError("INVALID_OOB_CODE", because: "the user to whom the code was sent was deleted")
            }
            // The official emulator applies the code even then.
            guard !user.disabled || call.isInEmulatorMode else { throw FirebaseError.userIsDisabled(user) }
            if let code = mail.kind.errorAfterMove, user.email != mail.email {
                throw FirebaseError(
                    call.isInEmulatorMode ? "INVALID_OOB_CODE" : code,
                    because: "the user's e-mail address has changed since the code was sent")
            }
            try change(&user, tables)
            tables.put(user)
            return user
        }
    }

    /// Sends a mail to the user's original address when the address was changed. The mail has a link that restores the
    /// original address.
    func offerRecovery(_ call: FirebaseCall, of user: User, to address: String) async throws -> Diagnosis? {
        let mail = try call.update { tables in
            let mail = call.code(.recoverEmail, for: address, newEmail: user.email, owner: user.localId, &tables)
            tables.send(mail)
            return mail
        }
        return try await call.mail(mail)
    }

    /// Sends a mail to the user when a second factor was added. The mail has a link that removes the factor. No mail is
    /// documented for the removal of a factor.
    /// <https://cloud.google.com/identity-platform/docs/reference/rest/v2/Config#SendEmail>
    func sendNotice(_ call: FirebaseCall, ofAdded factor: SecondFactor, to user: User) async throws -> Diagnosis? {
        guard let email = user.email else { return nil }
        let mail = try call.update { tables in
            var mail = call.code(.revertSecondFactorAddition, for: email, owner: user.localId, &tables)
            mail.factor = factor.id
            tables.send(mail)
            return mail
        }
        return try await call.mail(mail, about: factor)
    }

    // MARK: - Signing in with a link

    func signInWithEmailLink(_ call: FirebaseCall) async throws -> FirebaseAnswer {
        try call.checkRoom()
        try call.require("emailLink", or: "OPERATION_NOT_ALLOWED")
        let email = try call.required("email").lowercased()
        let mail = try call.mail(call.text("oobCode"), [.emailSignIn])
        guard mail.email == email else {
            throw FirebaseError(
                "INVALID_EMAIL", "The email provided does not match the sign-in email address.",
                because: "the sign-in link was sent to another e-mail address, \(Diagnosis.quote(mail.email))")
        }
        let signedIn = try call.signedInIfGiven()
        // If a function refuses, the link can be used again; what production does isn't documented.
        let ((user, isNew), agreed) = try await call.decide(SignInEvent(method: "emailLink")) {
            tables, creation -> (User, Bool) in
            try tables.use(mail.code, mail.kind, in: call.pool)
            let owner = tables.user(email: email, in: call.pool)
            if let signedIn, let owner, owner.localId != signedIn.user.localId {
                throw FirebaseError("EMAIL_EXISTS", because: "another user already has this e-mail address")
            }
            if let owner, owner.disabled { throw FirebaseError.userIsDisabled(owner) }
            let linked = try signedIn.map { (signedIn) throws(FirebaseError) in try signedIn.user(in: tables) }
            let known = owner ?? linked
            var user = known ?? creation.user(in: call.pool, &tables)
            // The official emulator keeps the password; nothing public says what production does.
            if owner != nil, !user.emailVerified, !call.isInEmulatorMode {
                // The link proves who owns the address. Credentials linked before that are removed.
                user.password = nil
                user.links.removeAll { !User.isTrusted($0.providerId, email: $0.email, isVerified: true) }
            }
            user.email = email
            user.emailVerified = true
            user.hasEmailLink = true
            let isNew = owner == nil && signedIn == nil
            if isNew { creation.finish(&user) }
            tables.put(user)
            return (user, isNew)
        } who: {
            (user: $0.0, isNew: $0.1)
        }
        let result = try call.signIn(
            agreed?.user ?? user, provider: "password", customClaims: agreed?.claims ?? JSONObject()
        ).members
        // Recorded as `first-factor/email-link#sign-in-link-el`.
        let tellsNew = call.isInEmulatorMode || result["mfaPendingCredential"] == nil
        return FirebaseAnswer(
            [
                "kind": "identitytoolkit#EmailLinkSigninResponse", "localId": user.localId, "email": email,
                "isNewUser": tellsNew ? isNew : nil,
            ], and: result)
    }
}
