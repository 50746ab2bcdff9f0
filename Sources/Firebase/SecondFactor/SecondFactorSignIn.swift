import JSON
import EmulatorCore

// The methods v2 accounts/mfaSignIn:start and :finalize:
// https://cloud.google.com/identity-platform/docs/reference/rest/v2/accounts.mfaSignIn/start
//
// Quirks: the first factor is answered without a token, but with mfaPendingCredential and the list of second factors.
// That credential works for ten minutes, with an authenticator app for five, however often it is used. A code of an
// authenticator app works once, and no earlier one works after it. A test number's code works again. Production's
// answers were recorded in September 2026: https://github.com/t-k/fireemu, conformance/auth-mfa-production.json

extension FirebaseCall {
    /// Checks a code of an authenticator app with the given secret, and returns the code's time step.
    ///
    /// - Throws: `INVALID_CODE`.
    func step(ofCode code: String, _ secret: [UInt8]) throws(FirebaseError) -> Int64 {
        if let step = TOTP.step(of: code, secret, at: exchange.world.now, give: mfa.adjacentIntervals) { return step }
        throw FirebaseError(
            "INVALID_CODE",
            because:
                "the code is wrong: send the one that the authenticator app shows at the test world's time (codes up to \(mfa.adjacentIntervals) steps of 30 seconds earlier or later are accepted, too)"
        )
    }
}

extension FirebaseCall {
    /// Returns the error for a request that lacks a field. In emulator mode it has the error code `code`. Production
    /// has the same error for every missing field.
    func missing(_ code: String, because reason: String) -> FirebaseError {
        isInEmulatorMode ? FirebaseError(code, because: reason) : .invalidArgument(reason)
    }

    fileprivate func requiredPart(_ name: String) throws(FirebaseError) -> String {
        if let text = try text(name) { return text }
        throw isInEmulatorMode ? .missing(name) : .invalidArgument("\(name) is missing")
    }
}

extension FirebaseProvider {
    /// Returns the sign-in that the request continues (`mfaPendingCredential`), with its user. The sign-in has passed
    /// the first factor.
    private func pending(_ call: FirebaseCall) throws(FirebaseError) -> (PendingSecondFactor, User) {
        let text = try call.requiredPart("mfaPendingCredential")
        let (pending, user) = call.read { tables in
            let pending = tables.find(PendingSecondFactor.self, text)
            return (pending, pending.flatMap { tables.find(User.self, $0.user) })
        }
        // Recorded as `totp/sign-in#finalize-unknown-pending` and `interactions#finalize-y-deleted`.
        guard let pending, pending.pool == call.pool else {
            throw FirebaseError(
                "INVALID_PENDING_TOKEN",
                because: "no pending sign-in has this mfaPendingCredential: sign in with the first factor again")
        }
        guard let user else { throw .userIsGone }
        return (pending, user)
    }

    /// Checks that a sign-in that waits for its second factor hasn't expired. The error is from a recording of
    /// production (`lifetime-sms#sms-start-aged-m600`).
    private func checkAge(_ pending: PendingSecondFactor, _ call: FirebaseCall) throws(FirebaseError) {
        guard pending.expires <= call.exchange.world.now else { return }
        throw FirebaseError(
            "INVALID_MFA_PENDING_CREDENTIAL", "MFA pending credential is expired.",
            because: "mfaPendingCredential is older than ten minutes: sign in with the first factor again")
    }

    func startSecondFactor(_ call: FirebaseCall) async throws -> FirebaseAnswer {
        try requireAnyFactor(call)
        let (pending, user) = try pending(call)
        let id = try call.requiredPart("mfaEnrollmentId")
        // Recorded as `sms#sign-in-start-without-info`. The official emulator doesn't need it.
        guard call.isInEmulatorMode || call.has("phoneSignInInfo") else {
            throw FirebaseError.invalidArgument(
                "phoneSignInInfo is missing: for an authenticator app, call only mfaSignIn:finalize")
        }
        try checkAge(pending, call)
        guard let factor = user.factors.first(where: { $0.id == id }) else {
            throw FirebaseError("MFA_ENROLLMENT_NOT_FOUND", because: "the user has no second factor with this ID")
        }
        guard case .phone(let number) = factor.kind else {
            // Recorded as `totp/sign-in#start-totp-as-phone`.
            let reason = "for an authenticator app, call only mfaSignIn:finalize, with the app's code"
            throw call.isInEmulatorMode
                ? FirebaseError("INVALID_ARGUMENT", because: reason)
                : FirebaseError("INVALID_PHONE_NUMBER", "Invalid format.", because: reason)
        }
        try requireFactor("phone", call)
        let session = try await call.sendCode(to: number, for: .secondFactor)
        return FirebaseAnswer(["phoneResponseInfo": JSONObject(["sessionInfo": session])])
    }

    func finalizeSecondFactor(_ call: FirebaseCall) async throws -> FirebaseAnswer {
        try call.fields.checkOneOf("verification_info", ["phoneVerificationInfo", "totpVerificationInfo"])
        try requireAnyFactor(call)
        let (pending, user) = try pending(call)
        let factor: SecondFactor
        if let phone = try call.nested("phoneVerificationInfo") {
            try checkAge(pending, call)
            let number = try call.verifyCode(
                session: phone.text("sessionInfo"), code: phone.text("code"), isSecondFactor: true)
            let match = user.factors.first { factor in
                if case .phone(number) = factor.kind { true } else { false }
            }
            guard let match else {
                throw FirebaseError(
                    "MFA_ENROLLMENT_NOT_FOUND", because: "the phone number isn't a second factor of the user")
            }
            factor = match
        } else if let totp = try call.nested("totpVerificationInfo") {
            factor = try authenticator(pending, user, call, totp)
        } else {
            throw call.missing(
                "INVALID_ARGUMENT",
                because: "the second factor's code is missing: send phoneVerificationInfo or totpVerificationInfo")
        }
        let agreed = try await call.agreeing(user, SignInEvent(method: pending.provider, secondFactor: factor.claim))
        // Production signs in a user who was disabled, or got another password, after the first factor:
        // https://github.com/t-k/fireemu, conformance/auth-mfa-production.json, `interactions#finalize-x-disabled` and
        // `#finalize-x-after-password-change`. The official emulator checks again.
        if call.isInEmulatorMode, agreed.user.disabled { throw FirebaseError.userIsDisabled(agreed.user) }
        let use = SecondFactorUse(claim: factor.claim, id: factor.id)
        let tokens = try call.openSession(
            agreed.user, provider: pending.provider, secondFactor: use, customClaims: agreed.claims,
            attributes: pending.attributes)
        return FirebaseAnswer(["idToken": tokens.idToken, "refreshToken": tokens.refreshToken])
    }

    private func authenticator(
        _ pending: PendingSecondFactor, _ user: User, _ call: FirebaseCall, _ totp: MessageFields
    ) throws -> SecondFactor {
        // Recorded as `totp/sign-in#finalize-missing-code`, `#finalize-without-enrollment-id` and `#finalize-unknown-enrollment`.
        guard let code = try totp.text("verificationCode") else {
            throw call.missing("INVALID_CODE", because: "totpVerificationInfo.verificationCode is missing")
        }
        let id = try call.requiredPart("mfaEnrollmentId")
        guard pending.endOfTOTP > call.exchange.world.now else {
            throw FirebaseError(
                "TOTP_CHALLENGE_TIMEOUT", "TOTP challenge timeout, provide first factor again.",
                because:
                    "mfaPendingCredential is older than five minutes, too old for an authenticator app's code: sign in again"
            )
        }
        guard let factor = user.factors.first(where: { $0.id == id }), case .totp(let secret) = factor.kind else {
            throw FirebaseError("INVALID_MFA_ENROLLMENT_ID", because: "the user has no authenticator app with this ID")
        }
        try requireFactor("totp", call)
        let step = try call.step(ofCode: code, secret)
        try call.update { tables in
            guard var user = tables.find(User.self, user.key),
                let place = user.factors.firstIndex(where: { $0.id == id })
            else {
                throw FirebaseError(
                    "INVALID_MFA_ENROLLMENT_ID", because: "the authenticator app was removed during the sign-in")
            }
            guard user.factors[place].accepts(step, at: tables.now) else {
                throw FirebaseError(
                    "INVALID_CODE",
                    because:
                        "this code or a later one was already used: wait for the app's next code, or advance the clock "
                        + "by \(TOTP.period) seconds")
            }
            user.factors[place].usedStep = step
            tables.put(user)
        }
        return factor
    }
}
