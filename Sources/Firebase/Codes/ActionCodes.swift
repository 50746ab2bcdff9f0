import JOSE
import JSON
import EmulatorCore
import Time

// accounts:resetPassword, the oobCode of accounts:update, accounts:signInWithEmailLink (emailLinkSignin)
// https://cloud.google.com/identity-platform/docs/reference/rest/v1/accounts/resetPassword
//
// Quirks: resetPassword without a new password only says what a code is for. A code works once.

extension FirebaseCall {
    /// A code that works now; `EXPIRED_OOB_CODE` or `INVALID_OOB_CODE` otherwise.
    func mail(_ code: String?, _ kinds: [Outbox.Mail.Kind]) throws(FirebaseError) -> Outbox.Mail {
        guard let code else { throw FirebaseError("MISSING_OOB_CODE", because: "oobCode is missing") }
        let (mail, now) = update { state, context in (state.outbox.mail(code), context.now) }
        guard let mail, kinds.contains(mail.kind) else {
            let reason =
                mail.map { "the code is for \($0.kind.rawValue)" }
                ?? "no such code was given out, or the world was reset"
            throw FirebaseError("INVALID_OOB_CODE", because: reason)
        }
        guard !mail.isUsed else { throw FirebaseError("INVALID_OOB_CODE", because: "the code was used already") }
        guard mail.expires > now else {
            throw FirebaseError(
                "EXPIRED_OOB_CODE",
                because: "the code expired \((now - mail.expires).seconds) seconds ago: advance the clock less")
        }
        return mail
    }
}

extension FirebaseProvider {
    func resetPassword(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let code = try call.text("oobCode")
        let password = try call.text("newPassword")
        let kinds = password == nil ? Outbox.Mail.Kind.allCases : [.passwordReset]
        let mail = try call.mail(code, kinds)
        var body = JSONObject([
            ("kind", "identitytoolkit#ResetPasswordResponse"), ("email", .string(mail.email)),
        ])
        body["newEmail"] = mail.newEmail.map { .string($0) }
        body["requestType"] = .string(mail.kind.rawValue)
        guard let password else { return FirebaseAnswer(body: body) }
        try FirebaseProvider.checkStrength(password)
        let isDone = call.update { state, context -> Bool in
            guard var user = state.user(email: mail.email) else { return false }
            user.password = Password(password, salt: context.random.bytes(16), now: context.now)
            // Whoever has the code reads the mail.
            user.emailVerified = true
            user.validSince = context.now.wholeSecond
            state.insert(user)
            state.outbox.use(mail: mail.code)
            return true
        }
        guard isDone else { throw FirebaseError("USER_NOT_FOUND", because: "the user was deleted meanwhile") }
        return FirebaseAnswer(body: body)
    }

    /// `accounts:update` with a code and nothing else: it verifies, changes or recovers the address.
    func applyCode(_ call: FirebaseCall, _ code: String) throws(FirebaseError) -> FirebaseAnswer {
        let mail = try call.mail(code, [.verifyEmail, .verifyAndChangeEmail, .recoverEmail])
        let user = call.update { state, context -> User? in
            guard var user = state.user(email: mail.kind == .recoverEmail ? mail.newEmail ?? mail.email : mail.email)
            else {
                return nil
            }
            switch mail.kind {
            case .verifyAndChangeEmail:
                guard let newEmail = mail.newEmail, state.user(email: newEmail) == nil else { return nil }
                user.email = newEmail
                user.validSince = context.now.wholeSecond
            case .recoverEmail:
                user.email = mail.email
                user.validSince = context.now.wholeSecond
            default: break
            }
            user.emailVerified = true
            state.insert(user)
            state.outbox.use(mail: mail.code)
            return user
        }
        guard let user else {
            throw FirebaseError("USER_NOT_FOUND", because: "the user is gone, or another has the new address")
        }
        if mail.kind == .verifyAndChangeEmail { offerRecovery(call, from: mail.email, to: user.email ?? "") }
        return FirebaseAnswer(
            body: JSONObject([
                ("kind", "identitytoolkit#SetAccountInfoResponse"), ("localId", .string(user.localId)),
                ("email", .string(user.email ?? "")), ("emailVerified", true),
                ("providerUserInfo", .array(user.providerUserInfo)),
            ]))
    }

    /// The old address is told how to undo a change.
    func offerRecovery(_ call: FirebaseCall, from old: String, to new: String) {
        call.update { state, context in
            let code = Base64URL.encode(context.random.bytes(40))
            let apiKey = call.project.apiKeys.first ?? call.project.id
            state.outbox.add(
                Outbox.Mail(
                    kind: .recoverEmail, code: code, email: old, newEmail: new,
                    link: "\(call.actionPage)?mode=recoverEmail&lang=en&oobCode=\(code)&apiKey=\(apiKey)",
                    expires: context.now + Outbox.Mail.Kind.recoverEmail.lifetime))
        }
    }

    // MARK: - Signing in with a link

    func signInWithEmailLink(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        try call.checkRoom()
        guard call.project.isEnabled("password") == true else {
            throw FirebaseError("OPERATION_NOT_ALLOWED", because: "the project's provider \"password\" isn't enabled")
        }
        guard let email = try call.text("email")?.lowercased() else {
            throw FirebaseError("MISSING_EMAIL", because: "email is missing")
        }
        let mail = try call.mail(call.text("oobCode"), [.emailSignIn])
        guard mail.email == email else {
            throw FirebaseError(
                "INVALID_EMAIL", "The email provided does not match the sign-in email address.",
                because: "the link was sent to \(Diagnosis.quote(mail.email))")
        }
        let idToken = try call.text("idToken")
        let signedIn: FirebaseCall.SignedIn? = idToken == nil ? nil : try call.signedIn(idToken)
        let outcome = call.update { state, context -> Result<(User, Bool), FirebaseError> in
            let owner = state.user(email: email)
            if let signedIn, let owner, owner.localId != signedIn.user.localId {
                return .failure(FirebaseError("EMAIL_EXISTS", because: "another user has the address"))
            }
            if let owner, owner.disabled {
                return .failure(FirebaseError("USER_DISABLED", because: "the user \"\(owner.localId)\" is disabled"))
            }
            var user =
                owner ?? signedIn.flatMap { state.users[$0.user.localId] }
                ?? User(localId: ProjectState.localId(&context.random), now: context.now)
            if owner != nil, !user.emailVerified {
                // As with any trusted way in: what was linked before the address was shown to be theirs goes.
                user.password = nil
                user.links.removeAll { !User.isTrusted($0.providerId, email: $0.email, isVerified: true) }
            }
            user.email = email
            user.emailVerified = true
            user.hasEmailLink = true
            state.insert(user)
            state.outbox.use(mail: mail.code)
            return .success((user, owner == nil && signedIn == nil))
        }
        let (user, isNew) = try outcome.get()
        var body = JSONObject([
            ("kind", "identitytoolkit#EmailLinkSigninResponse"), ("localId", .string(user.localId)),
            ("email", .string(email)),
        ])
        body["isNewUser"] = .bool(isNew)
        try call.signIn(user, provider: "password").add(to: &body)
        return FirebaseAnswer(body: body)
    }
}
