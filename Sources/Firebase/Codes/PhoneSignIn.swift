import JOSE
import JSON
import EmulatorCore
import Time

// accounts:sendVerificationCode, accounts:signInWithPhoneNumber (verifyPhoneNumber)
// https://cloud.google.com/identity-platform/docs/reference/rest/v1/accounts/sendVerificationCode
//
// Quirks: nothing is sent: the code lands in the outbox. Test numbers have a code of their own. A link to a number that
// another user has brings a temporary proof, with which the SDK signs in as that user.

extension FirebaseCall {
    /// Not documented.
    private static let lifetime = TimeSpan.minutes(10)

    /// Puts a code for the number into the outbox; its session.
    func sendCode(to phoneNumber: String) throws(FirebaseError) -> String {
        guard TextRule.phoneNumber.holds(phoneNumber) else {
            throw FirebaseError(
                "INVALID_PHONE_NUMBER", "Invalid format.",
                because: "\(Diagnosis.quote(phoneNumber)) isn't a number in E.164: a plus sign and digits")
        }
        let fixed = project.providers.phone?.testNumbers[phoneNumber]
        let (session, code) = update { state, context in
            let code = fixed ?? context.random.text(6, from: Array("0123456789".utf8))
            let session = Base64URL.encode(context.random.bytes(96))
            state.outbox.add(
                Outbox.Message(
                    phoneNumber: phoneNumber, code: code, session: session, expires: context.now + FirebaseCall.lifetime
                ))
            return (session, code)
        }
        exchange.log(
            "a code for \(phoneNumber) is in the outbox: GET /emulator/v1/projects/\(project.id)/verificationCodes",
            detail: "the code for \(phoneNumber) is \(code)")
        return session
    }

    /// The number that a code proves. The code works once.
    func verifyCode(session: String?, code: String?) throws(FirebaseError) -> String {
        guard let session else { throw FirebaseError("MISSING_SESSION_INFO", because: "sessionInfo is missing") }
        guard let code else { throw FirebaseError("MISSING_CODE", because: "code is missing") }
        let outcome = update { state, context -> Result<String, FirebaseError> in
            guard let message = state.outbox.message(session) else {
                return .failure(
                    FirebaseError(
                        "INVALID_SESSION_INFO", because: "no such session was given out, or the world was reset"))
            }
            guard !message.isUsed, message.expires > context.now else {
                let reason = message.isUsed ? "the code was used already" : "the code is older than ten minutes"
                return .failure(FirebaseError("SESSION_EXPIRED", because: reason))
            }
            guard message.code == code else {
                return .failure(FirebaseError("INVALID_CODE", because: "the code isn't the one in the outbox"))
            }
            state.outbox.use(message: session)
            return .success(message.phoneNumber)
        }
        return try outcome.get()
    }
}

extension FirebaseProvider {
    private func requirePhone(_ call: FirebaseCall) throws(FirebaseError) {
        guard call.project.isEnabled("phone") == true else {
            throw FirebaseError(
                "OPERATION_NOT_ALLOWED", because: "the project's provider \"phone\" isn't enabled in the seed")
        }
    }

    func sendVerificationCode(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        try requirePhone(call)
        guard let phoneNumber = try call.text("phoneNumber") else {
            throw FirebaseError("MISSING_PHONE_NUMBER", because: "phoneNumber is missing")
        }
        return FirebaseAnswer(body: JSONObject([("sessionInfo", .string(try call.sendCode(to: phoneNumber)))]))
    }

    func signInWithPhoneNumber(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        try call.checkRoom()
        try requirePhone(call)
        let phoneNumber: String
        if let proof = try call.text("temporaryProof") {
            let given = try call.text("phoneNumber")
            let known = call.update { state, context in
                state.temporaryProofs[proof].flatMap { $0.expires > context.now ? $0.value : nil }
            }
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
        let isReauthentication = ["REAUTH", "2"].contains(call.value("operation"))
        let outcome = call.update { state, context -> PhoneOutcome in
            let owner = state.user(phoneNumber: phoneNumber)
            if let owner, owner.disabled { return .disabled }
            if let signedIn, !isReauthentication {
                if let owner, owner.localId != signedIn.user.localId {
                    let proof = Base64URL.encode(context.random.bytes(48))
                    state.temporaryProofs.insert(
                        phoneNumber, as: proof, expires: context.now + .hours(1), now: context.now)
                    return .taken(proof)
                }
                guard var user = state.users[signedIn.user.localId] else { return .unknown }
                user.phoneNumber = phoneNumber
                state.insert(user)
                return .done(user, isNew: false)
            }
            if let owner { return .done(owner, isNew: false) }
            guard !isReauthentication else { return .unknown }
            var user = User(localId: ProjectState.localId(&context.random), now: context.now)
            user.phoneNumber = phoneNumber
            state.insert(user)
            return .done(user, isNew: true)
        }
        switch outcome {
        case .disabled: throw FirebaseError("USER_DISABLED", because: "the user with this number is disabled")
        case .unknown: throw FirebaseError("USER_NOT_FOUND", because: "no user has this number, and none is to be made")
        case .taken(let proof):
            return FirebaseAnswer(
                body: JSONObject([
                    ("temporaryProof", .string(proof)), ("temporaryProofExpiresIn", "3600"),
                    ("phoneNumber", .string(phoneNumber)),
                ]), diagnosis: Diagnosis("another user has this number: sign in with the temporary proof instead"))
        case .done(let user, let isNew):
            var body = JSONObject([
                ("localId", .string(user.localId)), ("isNewUser", .bool(isNew)), ("phoneNumber", .string(phoneNumber)),
            ])
            try call.signIn(user, provider: "phone").add(to: &body)
            return FirebaseAnswer(body: body)
        }
    }

    private enum PhoneOutcome: Sendable {
        case disabled
        case unknown
        case taken(String)
        case done(User, isNew: Bool)
    }
}
