import JOSE
import JSON
import EmulatorCore
import Time

// The methods accounts:sendVerificationCode and accounts:signInWithPhoneNumber (verifyPhoneNumber):
// https://cloud.google.com/identity-platform/docs/reference/rest/v1/accounts/sendVerificationCode
//
// Quirks: nothing is sent: the text goes to the world's inbox, its code to the outbox. Test numbers have a code of
// their own. Linking a number that another user has is answered with a temporary proof, with which the SDK signs in as
// that user.

/// The purpose of a code by text message, as `beforeSendSms` gets it.
/// <https://firebase.google.com/docs/reference/functions/2nd-gen/node/firebase-functions.identity>
enum TextPurpose: String, Sendable {
    case signIn = "SIGN_IN_OR_SIGN_UP"
    case secondFactor = "MULTI_FACTOR_SIGN_IN"
    case enrollment = "MULTI_FACTOR_ENROLLMENT"
}

extension FirebaseCall {
    /// The time for which a sign-in code works; it isn't documented.
    static let lifetimeOfText = TimeSpan.minutes(10)

    /// Puts a code for the number into the outbox, and returns its session.
    func sendCode(
        to phoneNumber: String, for purpose: TextPurpose, lifetime: TimeSpan = FirebaseCall.lifetimeOfText
    ) async throws -> String {
        let phoneNumber = try PhoneNumber.checked(phoneNumber)
        try project.smsRegions.check(phoneNumber)
        let fixed = project.providers.phone?.testNumbers[phoneNumber]
        if fixed == nil {
            try await ask(
                .beforeSendSms,
                aboutMessage: JSONObject([
                    ("phone_number", .string(phoneNumber)), ("sms_type", .string(purpose.rawValue)),
                ]))
        }
        let (session, code) = try update { tables in
            let code = fixed ?? tables.random.text(6, from: Array("0123456789".utf8))
            let session = Base64URL.encode(tables.random.bytes(96))
            tables.send(
                PhoneCode(
                    session: session, pool: pool, phoneNumber: phoneNumber, code: code,
                    expires: tables.now + lifetime))
            return (session, code)
        }
        // Nothing is sent to a test number:
        // https://firebase.google.com/docs/auth/web/phone-auth#test-with-fictional-phone-numbers
        if fixed == nil { try text(code, to: phoneNumber) }
        exchange.log(
            "a code for \(phoneNumber) is in the outbox: GET /emulator/v1/projects/\(project.id)/verificationCodes",
            detail: "the code for \(phoneNumber) is \(code)")
        return session
    }

    /// Returns the number that a code proves. The code works once. As in production, a test number's code works again
    /// for a second factor.
    func verifyCode(
        session: String?, code: String?, isSecondFactor: Bool = false
    ) throws -> String {
        guard let session else { throw FirebaseError("MISSING_SESSION_INFO", because: "sessionInfo is missing") }
        guard let code else { throw FirebaseError("MISSING_CODE", because: "code is missing") }
        return try update { tables -> String in
            guard var sent = tables.find(PhoneCode.self, session), sent.pool == pool else {
                throw FirebaseError(
                    "INVALID_SESSION_INFO", because: "no such session was given out, or the world was reset")
            }
            guard !sent.isUsed, sent.expires > tables.now else {
                let reason =
                    sent.isUsed
                    ? "the code was used already" : "the code expired \((tables.now - sent.expires).inWords) ago"
                throw FirebaseError("SESSION_EXPIRED", because: reason)
            }
            guard sent.code == code else {
                throw FirebaseError("INVALID_CODE", because: "the code isn't the one in the outbox")
            }
            let isTest = project.providers.phone?.testNumbers[sent.phoneNumber] != nil
            guard !isSecondFactor || !isTest else { return sent.phoneNumber }
            sent.isUsed = true
            tables.put(sent)
            return sent.phoneNumber
        }
    }
}

extension FirebaseProvider {
    private func requirePhone(_ call: FirebaseCall) throws(FirebaseError) {
        try call.requireNoTenant("signing in by phone")
        guard call.project.isEnabled("phone") == true else {
            throw FirebaseError(
                "OPERATION_NOT_ALLOWED", because: "the project's provider \"phone\" isn't enabled in the seed")
        }
    }

    func sendVerificationCode(_ call: FirebaseCall) async throws -> FirebaseAnswer {
        try requirePhone(call)
        guard let phoneNumber = try call.text("phoneNumber") else {
            throw FirebaseError("INVALID_PHONE_NUMBER", "Invalid format.", because: "phoneNumber is missing")
        }
        let owner = call.read { $0.user(phoneNumber: phoneNumber, in: call.pool) }
        try PhoneSignIn.check(owner)
        // Recorded as `client-permissions#send-new-number`: a number that is to be linked is refused, too.
        if owner == nil { try call.requireSignUp() }
        let session = try await call.sendCode(to: phoneNumber, for: .signIn)
        return FirebaseAnswer(body: JSONObject([("sessionInfo", .string(session))]))
    }

    func signInWithPhoneNumber(_ call: FirebaseCall) async throws -> FirebaseAnswer {
        try requirePhone(call)
        try call.checkRoom()
        let phoneNumber: String
        if let proof = try call.text("temporaryProof") {
            guard let given = try call.text("phoneNumber") else {
                throw FirebaseError("MISSING_PHONE_NUMBER", because: "phoneNumber is missing")
            }
            let known = call.read { $0.valid(TemporaryProof.self, proof, in: call.pool)?.phoneNumber }
            guard let known, known == given else {
                throw FirebaseError(
                    "INVALID_TEMPORARY_PROOF", because: "the proof is unknown, expired or another number's")
            }
            phoneNumber = known
        } else {
            phoneNumber = try call.verifyCode(session: call.text("sessionInfo"), code: call.text("code"))
        }
        let idToken = try call.text("idToken")
        let signedIn: FirebaseCall.SignedIn? = idToken == nil ? nil : try call.signedIn(idToken)
        let request = PhoneSignIn(
            phoneNumber: phoneNumber, signedIn: signedIn, hasProof: call.has("temporaryProof"),
            isReauthentication: ["REAUTH", "2"].contains(call.value("operation")))
        let (decision, agreed) = try await call.decide(SignInEvent(method: "phone")) {
            tables, creation in
            try request.decide(&tables, creation, call.pool)
        } who: {
            if case .done(let user, let isNew) = $0 { (user: user, isNew: isNew) } else { nil }
        }
        switch decision {
        case .numberIsTaken(let proof):
            return FirebaseAnswer(
                body: JSONObject([
                    ("temporaryProof", .string(proof)), ("temporaryProofExpiresIn", "3600"),
                    ("phoneNumber", .string(phoneNumber)),
                ]), diagnosis: Diagnosis("another user has this number: sign in with the temporary proof instead"))
        case .done(let user, let isNew):
            var body = JSONObject([
                ("localId", .string(user.localId)), ("isNewUser", .bool(isNew)), ("phoneNumber", .string(phoneNumber)),
            ])
            try call.signIn(
                agreed?.user ?? user, provider: "phone", customClaims: agreed?.claims ?? JSONObject()
            ).add(to: &body)
            return FirebaseAnswer(body: body)
        }
    }
}

/// A request to sign in with a verified number, or to add it to the signed-in user.
private struct PhoneSignIn: Sendable {
    enum Decision: Sendable {
        /// Another user has the number. The answer has a token that proves it.
        case numberIsTaken(proof: String)
        case done(User, isNew: Bool)
    }

    let phoneNumber: String
    let signedIn: FirebaseCall.SignedIn?
    /// Whether a temporary proof shows that the number was verified earlier.
    let hasProof: Bool
    let isReauthentication: Bool

    func decide(
        _ tables: inout Transaction, _ creation: Creation, _ pool: UserPool
    ) throws(FirebaseError) -> Decision {
        let unknown = FirebaseError("USER_NOT_FOUND", because: "no user has this number, and none is to be made")
        let owner = tables.user(phoneNumber: phoneNumber, in: pool)
        if let owner, owner.disabled {
            throw FirebaseError("USER_DISABLED", because: "the user with this number is disabled")
        }
        try PhoneSignIn.check(owner)
        if let signedIn, !isReauthentication {
            if let owner, owner.localId != signedIn.user.localId {
                guard !hasProof else {
                    throw FirebaseError("PHONE_NUMBER_EXISTS", because: "another user has the number")
                }
                let proof = TemporaryProof(
                    token: Base64URL.encode(tables.random.bytes(48)), pool: pool, phoneNumber: phoneNumber,
                    expires: tables.now + .hours(1))
                tables.put(proof)
                return .numberIsTaken(proof: proof.token)
            }
            var user = try signedIn.user(in: tables)
            try PhoneSignIn.check(user)
            user.phoneNumber = phoneNumber
            tables.put(user)
            return .done(user, isNew: false)
        }
        if let owner { return .done(owner, isNew: false) }
        guard !isReauthentication else { throw unknown }
        var user = creation.user(in: pool, &tables)
        user.validSince = nil
        user.phoneNumber = phoneNumber
        creation.finish(&user)
        tables.put(user)
        return .done(user, isNew: true)
    }

    /// Checks that the number isn't both factors of one user. <https://cloud.google.com/identity-platform/docs/web/mfa>
    static func check(_ user: User?) throws(FirebaseError) {
        guard let user, user.factors.contains(where: { $0.claim == "phone" }) else { return }
        throw FirebaseError(
            "UNSUPPORTED_FIRST_FACTOR", "A phone number cannot be set as a first factor on an SMS based MFA user.",
            because: "the user \"\(user.localId)\" has a phone number as a second factor")
    }
}

/// The proof of a verified number that belongs to another user.
struct TemporaryProof: TokenRow {
    static let table = Table<TemporaryProof>(
        "firebase.temporaryProof", limit: 100_000, indexes: [byPool], droppedAt: { $0.expires })
    static let byPool = Index<TemporaryProof, UserPool>("pool") { $0.pool }

    let token: String
    let pool: UserPool
    let phoneNumber: String
    let expires: Instant
}
