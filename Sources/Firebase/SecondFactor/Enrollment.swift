import EmulatorCore
import JOSE
import JSON
import Time
import Worlds

// The methods v2 accounts/mfaEnrollment:start, :finalize and :withdraw:
// https://cloud.google.com/identity-platform/docs/reference/rest/v2/accounts.mfaEnrollment/start
//
// Quirks: a user needs a verified address, may enrol five numbers and one authenticator app, and can't be anonymous or
// have signed in by phone. An authenticator app needs a name. Withdrawing a factor ends the sessions that began before.
// Production's answers were recorded in September 2026: https://github.com/t-k/fireemu,
// conformance/auth-mfa-production.json

extension FirebaseProvider {
    /// The greatest number of phone numbers that a user may enrol as second factors. Authenticator apps don't count.
    /// The limit is from recordings of production (`interactions#phone-start-at-limit`,
    /// `interactions#totp-start-at-limit`).
    static let largestNumberOfPhones = 5
    /// The time within which the enrolment of an authenticator app must be completed. In a recording of production
    /// (`lifetime`), an enrolment succeeds 870 seconds after its beginning and fails after 930 seconds, and
    /// `finalizeDeadline` is 900 seconds after the beginning.
    private static let enrollmentWindow = TimeSpan.minutes(15)
    /// The time for which the one-time code in the text message of an enrolment works. In a recording of production
    /// (`lifetime#aged-session-s1800`), the code still works after 1,800 seconds. The exact time isn't documented.
    private static let textWindow = TimeSpan.hours(1)

    func startEnrollment(_ call: FirebaseCall) async throws -> FirebaseAnswer {
        try call.fields.checkOneOf("enrollment_info", ["phoneEnrollmentInfo", "totpEnrollmentInfo"])
        let signedIn = try enrolling(call)
        if let phone = try call.nested("phoneEnrollmentInfo") {
            try requireFactor("phone", call)
            let number = try phone.text("phoneNumber") ?? ""
            try checkFree(number, signedIn.user)
            try checkCount(.phone(number), of: signedIn.user)
            let session = try await call.sendCode(to: number, for: .enrollment, lifetime: FirebaseProvider.textWindow)
            return FirebaseAnswer(["phoneSessionInfo": JSONObject(["sessionInfo": session])])
        }
        guard call.has("totpEnrollmentInfo") else {
            throw call.missing(
                "INVALID_ARGUMENT",
                because: "the second factor is missing: send phoneEnrollmentInfo or totpEnrollmentInfo")
        }
        try requireFactor("totp", call)
        try checkCount(.totp([]), of: signedIn.user)
        let pending = try call.update { tables in
            let secret = tables.random.bytes(20)
            let pending = PendingSecret(
                token: Base64URL.encode(tables.random.bytes(48)), pool: call.pool, secret: secret,
                expires: tables.now + FirebaseProvider.enrollmentWindow)
            tables.put(pending)
            return pending
        }
        return FirebaseAnswer([
            "totpSessionInfo": [
                "sharedSecretKey": .string(Base32.encode(pending.secret)),
                "verificationCodeLength": .integer(Int64(TOTP.digits)), "hashingAlgorithm": "SHA1",
                "periodSec": .integer(TOTP.period), "sessionInfo": .string(pending.token),
                "finalizeEnrollmentTime": .string(pending.expires.text),
            ] as JSONValue
        ])
    }

    func finalizeEnrollment(_ call: FirebaseCall) async throws -> FirebaseAnswer {
        try call.fields.checkOneOf("verification_info", ["phoneVerificationInfo", "totpVerificationInfo"])
        let signedIn = try enrolling(call)
        let displayName = try call.text("displayName")
        let enrolled: Enrolled
        if let phone = try call.nested("phoneVerificationInfo") {
            try requireFactor("phone", call)
            let number = try call.verifyCode(
                session: phone.text("sessionInfo"), code: phone.text("code"), isSecondFactor: true)
            enrolled = Enrolled(kind: .phone(number))
        } else if let totp = try call.nested("totpVerificationInfo") {
            try requireFactor("totp", call)
            enrolled = try enrolledApp(totp, named: displayName, call)
        } else {
            throw call.missing(
                "INVALID_ARGUMENT",
                because: "the second factor's code is missing: send phoneVerificationInfo or totpVerificationInfo")
        }
        let (user, factor) = try call.update { tables -> (User, SecondFactor) in
            var user = try signedIn.user(in: tables)
            if case .phone(let number) = enrolled.kind { try checkFree(number, user) }
            if let session = enrolled.session {
                var pending = try FirebaseProvider.pendingSecret(session, call, tables)
                pending.isUsed = true
                tables.put(pending)
            }
            try checkCount(enrolled.kind, of: user)
            let factor = SecondFactor(
                id: User.randomID(&tables.random), kind: enrolled.kind, displayName: displayName,
                enrolledAt: tables.now, usedStep: enrolled.step)
            user.factors.append(factor)
            tables.put(user)
            try tables.checkRoom(for: 0, in: call.exchange.world)
            return (user, factor)
        }
        let use = SecondFactorUse(claim: factor.claim, id: factor.id)
        let tokens = try call.openSession(user, provider: signedIn.provider, secondFactor: use)
        var body = answer(tokens)
        if case .totp = factor.kind { body["totpAuthInfo"] = [:] }
        return FirebaseAnswer(body: body, diagnosis: try await sendNotice(call, ofAdded: factor, to: user))
    }

    /// A second factor whose code was checked, so that it can be enrolled.
    private struct Enrolled: Sendable {
        let kind: SecondFactor.Kind
        /// The `sessionInfo` of an authenticator app's enrolment; `nil` if the second factor is a phone number.
        var session: String?
        /// The time step to which the authenticator app's code belongs; `nil` if the second factor is a phone number.
        var step: Int64?
    }

    func withdrawEnrollment(_ call: FirebaseCall) throws -> FirebaseAnswer {
        let signedIn = try call.signedIn(call.text("idToken"), missing: "INVALID_ID_TOKEN")
        let id = try call.text("mfaEnrollmentId") ?? ""
        let user = try call.update { tables -> User in
            var user = try signedIn.user(in: tables)
            guard user.factors.contains(where: { $0.id == id }) else {
                throw FirebaseError("MFA_ENROLLMENT_NOT_FOUND", because: "the user has no second factor with this ID")
            }
            user.factors.removeAll { $0.id == id }
            user.hasWithdrawnFactors = call.isInEmulatorMode
            user.validSince = tables.now.wholeSecond
            tables.put(user)
            return user
        }
        // Recorded as `sms#withdraw-first-phone`: a session that began with another factor keeps it.
        let use = signedIn.secondFactor.flatMap { $0.id == id ? nil : $0 }
        return FirebaseAnswer(body: answer(try call.openSession(user, provider: signedIn.provider, secondFactor: use)))
    }

    private func answer(_ tokens: FirebaseCall.Tokens) -> JSONObject {
        JSONObject(["idToken": tokens.idToken, "refreshToken": tokens.refreshToken])
    }

    // MARK: - Checks

    private func enrolling(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseCall.SignedIn {
        // As in the official emulator, this is checked before anything in the request.
        if call.isInEmulatorMode { try requireAnyFactor(call) }
        let signedIn = try call.signedIn(call.text("idToken"), missing: "INVALID_ID_TOKEN")
        try requireAnyFactor(call)
        guard !["anonymous", "phone", "custom"].contains(signedIn.provider) else {
            throw FirebaseError(
                "UNSUPPORTED_FIRST_FACTOR", "MFA is not available for the given first factor.",
                because: "a user who signed in by \(signedIn.provider) can't enrol a second factor")
        }
        guard signedIn.user.emailVerified else {
            throw FirebaseError(
                "UNVERIFIED_EMAIL", "Need to verify email first before enrolling second factors.",
                because: "the user's e-mail address isn't verified: verify it before adding a second factor")
        }
        try call.requireRecent(signedIn)
        return signedIn
    }

    /// Checks that the user may have one more second factor of this kind. The errors are from recordings of production
    /// (`interactions#phone-start-at-limit`, `totp/enroll#start-second-totp`).
    private func checkCount(_ kind: SecondFactor.Kind, of user: User) throws(FirebaseError) {
        var phones = 0
        var apps = 0
        for factor in user.factors {
            switch factor.kind {
            case .phone: phones += 1
            case .totp: apps += 1
            }
        }
        switch kind {
        case .phone where phones >= FirebaseProvider.largestNumberOfPhones:
            throw FirebaseError(
                "SECOND_FACTOR_LIMIT_EXCEEDED", "Too many second factors enrolled for this account.",
                because:
                    "the user already has \(FirebaseProvider.largestNumberOfPhones) phone numbers as second factors, the limit"
            )
        case .totp where apps > 0:
            throw FirebaseError(
                "SECOND_FACTOR_LIMIT_EXCEEDED", "Too many TOTP based second factors enrolled for this account.",
                because: "the user already has an authenticator app, and may have only one: withdraw it first")
        default: return
        }
    }

    private func checkFree(_ number: String, _ user: User) throws(FirebaseError) {
        let isTaken = user.factors.contains { factor in
            if case .phone(number) = factor.kind { true } else { false }
        }
        guard isTaken else { return }
        throw FirebaseError(
            "SECOND_FACTOR_EXISTS", "Phone number already enrolled as second factor for this account.",
            because: "the user already has this phone number as a second factor")
    }

    func requireFactor(_ name: String, _ call: FirebaseCall) throws(FirebaseError) {
        guard !call.mfa.allows(name) else { return }
        let place = call.tenant.map { "the tenant \(Diagnosis.quote($0))" } ?? "the project"
        throw FirebaseError(
            "OPERATION_NOT_ALLOWED", name == "totp" ? "TOTP based MFA not enabled." : "SMS based MFA not enabled.",
            because:
                "the second factor isn't enabled: add \"\(name)\" to mfa.providers of \(place), and set mfa.state to ENABLED"
        )
    }

    func requireAnyFactor(_ call: FirebaseCall) throws(FirebaseError) {
        guard !["phone", "totp"].contains(where: { call.mfa.allows($0) }) else { return }
        let isTOTP = call.has("totpEnrollmentInfo") || call.has("totpVerificationInfo")
        try requireFactor(isTOTP ? "totp" : "phone", call)
    }

    private func enrolledApp(
        _ totp: MessageFields, named displayName: String?, _ call: FirebaseCall
    ) throws(FirebaseError) -> Enrolled {
        let session = try totp.text("sessionInfo") ?? ""
        let code = try totp.text("verificationCode") ?? ""
        let pending = try call.read { (tables) throws(FirebaseError) in
            try FirebaseProvider.pendingSecret(session, call, tables)
        }
        // Recorded as `totp/enroll#finalize-missing-code`: the name is checked before the code.
        guard displayName != nil else {
            throw FirebaseError(
                "MISSING_DISPLAY_NAME", "display name cannot be empty",
                because: "displayName is missing: an authenticator app needs one")
        }
        return Enrolled(
            kind: .totp(pending.secret), session: session, step: try call.step(ofCode: code, pending.secret))
    }

    /// Returns the pending enrolment of an authenticator app. `session` is the enrolment's `sessionInfo`.
    ///
    /// - Throws: An error if the enrolment can't be completed any more. The errors are from recordings of production
    ///   (`totp/enroll#finalize-again`, `lifetime#aged-session-t930`).
    private static func pendingSecret(
        _ session: String, _ call: FirebaseCall, _ tables: borrowing some TableReading & ~Copyable
    ) throws(FirebaseError) -> PendingSecret {
        guard let pending = tables.find(PendingSecret.self, session), pending.pool == call.pool else {
            throw FirebaseError("INVALID_SESSION_INFO", because: "no enrolment of a second factor has this sessionInfo")
        }
        guard !pending.isUsed else {
            throw FirebaseError(
                "TOO_MANY_ENROLLMENT_ATTEMPTS", "restart enrollment",
                because: "this enrolment of a second factor was completed already: start a new one")
        }
        guard pending.expires > tables.now else {
            throw FirebaseError(
                "SESSION_EXPIRED",
                because: "sessionInfo is older than \(enrollmentWindow.inWords): start the enrolment again")
        }
        return pending
    }
}

/// A second factor that an administrator's request gives to a user.
/// <https://cloud.google.com/identity-platform/docs/reference/rest/v1/accounts/update#MfaInfo>
struct FactorRequest: Sendable {
    /// The enrolment ID of the second factor; `nil` if a new ID is to be made.
    let id: String?
    /// The phone number of the second factor; `nil` for an authenticator app. The app must already be one of the user's
    /// second factors, because a request doesn't contain an app's secret.
    let phoneNumber: String?
    let displayName: String?
    let enrolledAt: Instant?

    /// Whether an administrator's request chooses the enrolment IDs of a user's second factors.
    enum IDs {
        /// New enrolment IDs are made, whatever IDs the request has. This is for the field `mfaInfo`, by which new
        /// users get second factors.
        case made
        /// The user's second factors get the enrolment IDs in the request. If the request has no ID for a second
        /// factor, a new ID is made. In emulator mode, a missing ID is an error.
        case given
    }

    /// Reads a request's list of second factors. A phone number that occurs twice counts once. Production's errors are
    /// from the recordings `admin-factors#admin-set-invalid-phone-ia` and `interactions#admin-set-six-factors`. The
    /// Firebase emulator has its own error codes and no limit.
    ///
    /// - Throws: `INVALID_PHONE_NUMBER`, `SECOND_FACTOR_LIMIT_EXCEEDED`, `DUPLICATE_MFA_ENROLLMENT_ID`; in emulator
    ///   mode `INVALID_MFA_PHONE_NUMBER`, `INVALID_MFA_ENROLLMENT_ID`.
    static func list(
        _ items: [MessageFields], _ ids: IDs, in call: FirebaseCall
    ) throws(FirebaseError) -> [FactorRequest] {
        guard !call.isInEmulatorMode || items.count <= User.factorLimit else { throw .tooManyFactors(items.count) }
        var (factors, numbers, known) = ([FactorRequest](), Set<String>(), Set<String>())
        for item in items {
            let number = try item.text("phoneInfo")
            let isApp = ids == .given && number == nil && item.has("totpInfo")
            guard isApp || number.map({ TextRule.phoneNumber.holds($0) }) ?? false else {
                throw FirebaseError(
                    call.isInEmulatorMode ? "INVALID_MFA_PHONE_NUMBER" : "INVALID_PHONE_NUMBER", "Invalid format.",
                    because: "phoneInfo isn't a phone number in E.164 format")
            }
            if let number, !numbers.insert(number).inserted { continue }
            let id = try ids == .given ? item.text("mfaEnrollmentId") : nil
            guard id != nil || ids == .made || !call.isInEmulatorMode else {
                throw FirebaseError(
                    "INVALID_MFA_ENROLLMENT_ID", "mfaEnrollmentId must be defined.",
                    because: "each second factor needs an mfaEnrollmentId")
            }
            if let id, !known.insert(id).inserted {
                throw FirebaseError(
                    "DUPLICATE_MFA_ENROLLMENT_ID",
                    because: "two second factors have the ID \(Diagnosis.quote(id)) (mfaEnrollmentId)")
            }
            factors.append(
                FactorRequest(
                    id: id, phoneNumber: number, displayName: try item.text("displayName"),
                    enrolledAt: try item.text("enrolledAt").flatMap { Instant(withMilliseconds: $0) }))
        }
        guard call.isInEmulatorMode || numbers.count <= FirebaseProvider.largestNumberOfPhones else {
            throw FirebaseError(
                "SECOND_FACTOR_LIMIT_EXCEEDED",
                because:
                    "the request has \(numbers.count) phone numbers: a user may have at most \(FirebaseProvider.largestNumberOfPhones)"
            )
        }
        return factors
    }

    /// Makes the second factor that the request describes. `known` are the user's present second factors by enrolment
    /// ID. A factor that the user already has keeps the time of its enrolment, unless the request has `enrolledAt`.
    func factor(
        among known: [String: SecondFactor], _ tables: inout Transaction
    ) throws(FirebaseError) -> SecondFactor {
        let former = id.flatMap { known[$0] }
        let id = id ?? User.randomID(&tables.random)
        let kind: SecondFactor.Kind
        if let phoneNumber {
            kind = .phone(phoneNumber)
        } else if let former, case .totp = former.kind {
            kind = former.kind
        } else {
            // Recorded as `admin-factors#admin-set-totp-factor-ia`.
            throw FirebaseError(
                "UNSUPPORTED_SECOND_FACTOR", "attempting to add a new TOTP enrollment",
                because:
                    "the user has no authenticator app with the ID \(Diagnosis.quote(id)): only the user can add one, since its secret is needed"
            )
        }
        return SecondFactor(
            id: id, kind: kind, displayName: displayName, enrolledAt: enrolledAt ?? former?.enrolledAt ?? tables.now,
            usedStep: former?.usedStep)
    }
}

extension Instant {
    /// Reads a time in the form of Google's API, `2026-01-02T03:04:05.678Z`. The fraction may be missing, or have up to
    /// nine digits, of which the first three count.
    init?(withMilliseconds text: String) {
        let parts = text.split(separator: ".", maxSplits: 1)
        guard parts.count == 2 else {
            self.init(text)
            return
        }
        let digits = parts[1].dropLast()
        guard parts[1].last == "Z", (1...9).contains(digits.count),
            digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let whole = Instant("\(parts[0])Z"), let count = Int64((digits + "000").prefix(3))
        else { return nil }
        self = whole + .milliseconds(count)
    }
}
