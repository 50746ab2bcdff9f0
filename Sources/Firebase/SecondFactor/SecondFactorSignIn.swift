import JSON
import EmulatorCore

// v2 accounts/mfaSignIn:start, :finalize
// https://cloud.google.com/identity-platform/docs/reference/rest/v2/accounts.mfaSignIn/start
//
// Quirks: after the first factor there is no token, but mfaPendingCredential and the list of second factors. The credential works
// for ten minutes, however often it is shown. A code of an authenticator app works once, and no earlier one works after it. A
// test number's code works again.

extension FirebaseCall {
    /// The time step whose code it is.
    ///
    /// - Throws: `INVALID_CODE`.
    func step(ofCode code: String, _ secret: [UInt8]) throws(FirebaseError) -> Int64 {
        if let step = TOTP.step(of: code, secret, at: exchange.world.now) { return step }
        throw FirebaseError(
            "INVALID_CODE",
            because: "the code isn't this secret's at the world's time, give or take five steps of 30 seconds")
    }
}

extension FirebaseProvider {
    /// The first factor that the request goes on from, and its user.
    private func pending(_ call: FirebaseCall) throws(FirebaseError) -> (PendingSecondFactor, User) {
        guard let text = try call.text("mfaPendingCredential") else {
            throw FirebaseError("MISSING_MFA_PENDING_CREDENTIAL", because: "mfaPendingCredential is missing")
        }
        let found = call.read { tables -> (PendingSecondFactor, User)? in
            guard let pending = tables.valid(PendingSecondFactor.self, text, in: call.pool),
                let user = tables.find(User.self, pending.user)
            else { return nil }
            return (pending, user)
        }
        guard let found else {
            throw FirebaseError(
                "INVALID_MFA_PENDING_CREDENTIAL",
                because: "mfaPendingCredential is unknown or older than ten minutes")
        }
        return found
    }

    func startSecondFactor(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        try requireAnyFactor(call)
        let (_, user) = try pending(call)
        guard let id = try call.text("mfaEnrollmentId") else {
            throw FirebaseError("MISSING_MFA_ENROLLMENT_ID", because: "mfaEnrollmentId is missing")
        }
        guard let factor = user.factors.first(where: { $0.id == id }) else {
            throw FirebaseError("MFA_ENROLLMENT_NOT_FOUND", because: "the user has no second factor of this ID")
        }
        guard case .phone(let number) = factor.kind else {
            throw FirebaseError(
                "INVALID_ARGUMENT", because: "an authenticator app needs no start: finalize with its code")
        }
        try requireFactor("phone", call)
        let session = try call.sendCode(to: number)
        return FirebaseAnswer(body: JSONObject([("phoneResponseInfo", ["sessionInfo": .string(session)])]))
    }

    func finalizeSecondFactor(_ call: FirebaseCall) async throws(FirebaseError) -> FirebaseAnswer {
        try requireAnyFactor(call)
        let (pending, user) = try pending(call)
        let factor: SecondFactor
        if let phone = try call.nested("phoneVerificationInfo") {
            let number = try call.verifyCode(
                session: phone.text("sessionInfo"), code: phone.text("code"), isSecondFactor: true)
            let match = user.factors.first { factor in
                if case .phone(number) = factor.kind { true } else { false }
            }
            guard let match else {
                throw FirebaseError("MFA_ENROLLMENT_NOT_FOUND", because: "the number isn't a second factor of the user")
            }
            factor = match
        } else if let totp = try call.nested("totpVerificationInfo") {
            factor = try authenticator(user, call, totp)
        } else {
            throw FirebaseError("INVALID_ARGUMENT", because: "send phoneVerificationInfo or totpVerificationInfo")
        }
        let agreed = try await call.agreeing(
            user, SignInEvent(method: pending.provider, secondFactor: factor.claim))
        let use = SecondFactorUse(claim: factor.claim, id: factor.id)
        let tokens = try call.openSession(
            agreed.user, provider: pending.provider, secondFactor: use, customClaims: agreed.claims,
            attributes: pending.attributes)
        return FirebaseAnswer(
            body: JSONObject([("idToken", .string(tokens.idToken)), ("refreshToken", .string(tokens.refreshToken))]))
    }

    private func authenticator(
        _ user: User, _ call: FirebaseCall, _ totp: MessageFields
    ) throws(FirebaseError) -> SecondFactor {
        guard let id = try call.text("mfaEnrollmentId") else {
            throw FirebaseError("MISSING_MFA_ENROLLMENT_ID", because: "mfaEnrollmentId is missing")
        }
        guard let factor = user.factors.first(where: { $0.id == id }), case .totp(let secret) = factor.kind else {
            throw FirebaseError("MFA_ENROLLMENT_NOT_FOUND", because: "the user has no authenticator app of this ID")
        }
        try requireFactor("totp", call)
        let step = try call.step(ofCode: try totp.text("verificationCode") ?? "", secret)
        try call.update { (tables) throws(FirebaseError) in
            guard var user = tables.find(User.self, user.key),
                let place = user.factors.firstIndex(where: { $0.id == id })
            else {
                throw FirebaseError("MFA_ENROLLMENT_NOT_FOUND", because: "the authenticator app was removed meanwhile")
            }
            guard user.factors[place].takes(step, at: tables.now) else {
                throw FirebaseError(
                    "INVALID_CODE",
                    because:
                        "this code or a later one was accepted before: wait for the app's next code, or advance the clock by "
                        + "\(TOTP.period) seconds")
            }
            user.factors[place].usedStep = step
            tables.put(user)
        }
        return factor
    }
}
