import JOSE
import JSON
import EmulatorCore
import Time

// v2 accounts/mfaEnrollment:start, :finalize, :withdraw
// https://cloud.google.com/identity-platform/docs/reference/rest/v2/accounts.mfaEnrollment/start
//
// Quirks: a user needs a verified address, may enrol at most five factors, and can't be anonymous or have signed in by
// phone. Withdrawing a factor ends the sessions that began before.

extension FirebaseProvider {
    private static let limit = 5
    private static let enrollmentWindow = TimeSpan.minutes(5)

    func startEnrollment(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        try requireAnyFactor(call)
        let signedIn = try enrolling(call)
        if let phone = try call.nested("phoneEnrollmentInfo") {
            try requireFactor("phone", call)
            let number = try phone.text("phoneNumber") ?? ""
            try checkFree(number, signedIn.user)
            let session = try call.sendCode(to: number)
            return FirebaseAnswer(body: JSONObject([("phoneSessionInfo", ["sessionInfo": .string(session)])]))
        }
        guard call.has("totpEnrollmentInfo") else {
            throw FirebaseError("INVALID_ARGUMENT", because: "send phoneEnrollmentInfo or totpEnrollmentInfo")
        }
        try requireFactor("totp", call)
        let pending = call.update { tables in
            let secret = tables.random.bytes(20)
            let pending = PendingSecret(
                token: Base64URL.encode(tables.random.bytes(48)), pool: call.pool, secret: secret,
                expires: tables.now + FirebaseProvider.enrollmentWindow)
            tables.put(pending)
            return pending
        }
        return FirebaseAnswer(
            body: JSONObject([
                (
                    "totpSessionInfo",
                    [
                        "sharedSecretKey": .string(Base32.encode(pending.secret)),
                        "verificationCodeLength": .integer(Int64(TOTP.digits)), "hashingAlgorithm": "SHA1",
                        "periodSec": .integer(TOTP.period), "sessionInfo": .string(pending.token),
                        "finalizeEnrollmentTime": .string(pending.expires.text),
                    ]
                )
            ]))
    }

    func finalizeEnrollment(_ call: FirebaseCall) async throws(FirebaseError) -> FirebaseAnswer {
        try requireAnyFactor(call)
        let signedIn = try enrolling(call)
        let enrolled: Enrolled
        if let phone = try call.nested("phoneVerificationInfo") {
            try requireFactor("phone", call)
            let number = try call.verifyCode(
                session: phone.text("sessionInfo"), code: phone.text("code"), isSecondFactor: true)
            enrolled = Enrolled(kind: .phone(number))
        } else if let totp = try call.nested("totpVerificationInfo") {
            try requireFactor("totp", call)
            enrolled = try enrolledApp(totp, call)
        } else {
            throw FirebaseError("INVALID_ARGUMENT", because: "send phoneVerificationInfo or totpVerificationInfo")
        }
        let displayName = try call.text("displayName")
        let (user, factor) = try call.update { (tables) throws(FirebaseError) -> (User, SecondFactor) in
            guard var user = tables.find(User.self, signedIn.user.key) else { throw .userIsGone }
            if case .phone(let number) = enrolled.kind { try checkFree(number, user) }
            if let session = enrolled.session, tables.pop(PendingSecret.self, session, in: call.pool) == nil {
                throw FirebaseProvider.invalidEnrollment()
            }
            try checkCount(user)
            let factor = SecondFactor(
                id: User.randomID(&tables.random), kind: enrolled.kind, displayName: displayName,
                enrolledAt: tables.now, usedStep: enrolled.step)
            user.factors.append(factor)
            tables.put(user)
            return (user, factor)
        }
        let use = SecondFactorUse(claim: factor.claim, id: factor.id)
        let tokens = try call.openSession(user, provider: signedIn.provider, secondFactor: use)
        return FirebaseAnswer(body: answer(tokens), diagnosis: await tell(call, of: factor, user))
    }

    /// What a factor is to be, and what was shown for it.
    private struct Enrolled: Sendable {
        let kind: SecondFactor.Kind
        /// For an authenticator app, the enrolment that ends with this, and the time step of the code.
        var session: String?
        var step: Int64?
    }

    func withdrawEnrollment(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let signedIn = try call.signedIn(call.text("idToken"), missing: "INVALID_ID_TOKEN")
        guard let id = try call.text("mfaEnrollmentId") else {
            throw FirebaseError("MISSING_MFA_ENROLLMENT_ID", because: "mfaEnrollmentId is missing")
        }
        let user = try call.update { (tables) throws(FirebaseError) -> User in
            guard var user = tables.find(User.self, signedIn.user.key), user.factors.contains(where: { $0.id == id })
            else {
                throw FirebaseError("MFA_ENROLLMENT_NOT_FOUND", because: "the user has no second factor of this ID")
            }
            user.factors.removeAll { $0.id == id }
            user.hasWithdrawnFactors = call.isInEmulatorMode
            user.validSince = tables.now.wholeSecond
            tables.put(user)
            return user
        }
        return FirebaseAnswer(body: answer(try call.openSession(user, provider: signedIn.provider)))
    }

    private func answer(_ tokens: FirebaseCall.Tokens) -> JSONObject {
        JSONObject([("idToken", .string(tokens.idToken)), ("refreshToken", .string(tokens.refreshToken))])
    }

    // MARK: - Checks

    private func enrolling(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseCall.SignedIn {
        let signedIn = try call.signedIn(call.text("idToken"), missing: "INVALID_ID_TOKEN")
        guard !["anonymous", "phone", "custom"].contains(signedIn.provider) else {
            throw FirebaseError(
                "UNSUPPORTED_FIRST_FACTOR", "MFA is not available for the given first factor.",
                because: "who signed in as \(signedIn.provider) can't enrol a second factor")
        }
        guard signedIn.user.emailVerified else {
            throw FirebaseError(
                "UNVERIFIED_EMAIL", "Need to verify email first before enrolling second factors.",
                because: "verify the user's address first")
        }
        try checkCount(signedIn.user)
        try call.requireRecent(signedIn)
        return signedIn
    }

    private func checkCount(_ user: User) throws(FirebaseError) {
        guard user.factors.count >= FirebaseProvider.limit else { return }
        throw FirebaseError(
            "SECOND_FACTOR_LIMIT_EXCEEDED", because: "a user has at most \(FirebaseProvider.limit) second factors")
    }

    private func checkFree(_ number: String, _ user: User) throws(FirebaseError) {
        let isTaken = user.factors.contains { factor in
            if case .phone(number) = factor.kind { true } else { false }
        }
        guard isTaken else { return }
        throw FirebaseError(
            "SECOND_FACTOR_EXISTS", "Phone number already enrolled as second factor for this account.",
            because: "the user has this number as a second factor already")
    }

    func requireFactor(_ name: String, _ call: FirebaseCall) throws(FirebaseError) {
        guard !call.mfa.allows(name) else { return }
        let place = call.tenant.map { "the tenant \(Diagnosis.quote($0))" } ?? "the project"
        throw FirebaseError(
            "OPERATION_NOT_ALLOWED", name == "totp" ? "TOTP based MFA not enabled." : "SMS based MFA not enabled.",
            because: "add \"\(name)\" to mfa.providers of \(place), and set mfa.state to ENABLED")
    }

    /// As in the official emulator, this comes before anything that the request says.
    func requireAnyFactor(_ call: FirebaseCall) throws(FirebaseError) {
        guard !["phone", "totp"].contains(where: { call.mfa.allows($0) }) else { return }
        let isTOTP = call.has("totpEnrollmentInfo") || call.has("totpVerificationInfo")
        try requireFactor(isTOTP ? "totp" : "phone", call)
    }

    private func enrolledApp(_ totp: MessageFields, _ call: FirebaseCall) throws(FirebaseError) -> Enrolled {
        let session = try totp.text("sessionInfo") ?? ""
        let code = try totp.text("verificationCode") ?? ""
        guard let pending = call.read({ $0.valid(PendingSecret.self, session, in: call.pool) }) else {
            throw FirebaseProvider.invalidEnrollment()
        }
        return Enrolled(
            kind: .totp(pending.secret), session: session, step: try call.step(ofCode: code, pending.secret))
    }

    private static func invalidEnrollment() -> FirebaseError {
        FirebaseError("INVALID_SESSION_INFO", because: "sessionInfo is unknown, used, or older than five minutes")
    }
}
