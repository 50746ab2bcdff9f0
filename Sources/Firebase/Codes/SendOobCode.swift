import HTTPServer
import JOSE
import JSON
import OAuth
import EmulatorCore
import Time

// accounts:sendOobCode (getOobConfirmationCode)
// https://cloud.google.com/identity-platform/docs/reference/rest/v1/accounts/sendOobCode
//
// Quirks: nothing is sent: the mail lands in the world's inbox, its code in the outbox and in the log. With email enumeration
// protection an unknown address is answered like a known one. For a message to a provider's relay address, the provider's own
// rules decide. Who asks for the link (returnOobLink) gets it in place of a mail.

extension FirebaseProvider {
    func sendOobCode(_ call: FirebaseCall) async throws(FirebaseError) -> FirebaseAnswer {
        guard let kind = OutOfBandCode.Kind(request: call.value("requestType") ?? "") else {
            throw FirebaseError(
                "MISSING_REQ_TYPE",
                diagnosis: Diagnosis(
                    received: "requestType \(Diagnosis.quote(call.value("requestType") ?? ""))",
                    expected: OutOfBandCode.Kind.requested.map(\.rawValue).joined(separator: ", "), "send one of these")
            )
        }
        if kind == .emailSignIn { try call.require("emailLink", or: "OPERATION_NOT_ALLOWED") }
        let continueURL = try checkContinueURL(call, kind)
        let newEmail = try kind == .verifyAndChangeEmail ? newAddress(call) : nil
        let (email, isKnown) = try recipient(call, kind)
        if let newEmail {
            let isTaken = call.read { $0.user(email: newEmail, in: call.pool) != nil }
            guard !isTaken else { throw FirebaseError("EMAIL_EXISTS", because: "another user has the address") }
        }
        var body = JSONObject([
            ("kind", "identitytoolkit#GetOobConfirmationCodeResponse"), ("email", .string(email)),
        ])
        guard isKnown else {
            return FirebaseAnswer(
                body: body,
                note: Note(
                    "nobody has this address: with email enumeration protection Firebase answers as if somebody had, and sends "
                        + "nothing"))
        }
        if let type = kind.askedAs {
            try await call.ask(
                .beforeSendEmail,
                aboutMessage: JSONObject([("email", .string(email)), ("email_type", .string(type))]))
        }
        let mail = make(call, kind, email: email, newEmail: newEmail, continueURL: continueURL)
        call.exchange.log(
            "a \(kind.rawValue) message for \(email) is in the outbox: GET /emulator/v1/projects/\(call.project.id)/oobCodes",
            detail: mail.link)
        if call.isAdmin, try call.flag("returnOobLink") ?? false {
            body["oobCode"] = .string(mail.code)
            body["oobLink"] = .string(mail.link)
            return FirebaseAnswer(body: body)
        }
        return FirebaseAnswer(body: body, diagnosis: await call.mail(mail))
    }

    private func newAddress(_ call: FirebaseCall) throws(FirebaseError) -> String {
        guard let address = try call.text("newEmail")?.lowercased() else {
            throw FirebaseError("MISSING_NEW_EMAIL", because: "newEmail is missing")
        }
        guard TextRule.email.holds(address) else {
            throw FirebaseError("INVALID_NEW_EMAIL", because: "\(Diagnosis.quote(address)) isn't an e-mail address")
        }
        return address
    }

    /// Whose address it is, and whether anything is to be sent there.
    private func recipient(_ call: FirebaseCall, _ kind: OutOfBandCode.Kind) throws(FirebaseError) -> (String, Bool) {
        if [.verifyEmail, .verifyAndChangeEmail].contains(kind), !call.isAdmin || call.has("idToken") {
            let missing = kind == .verifyEmail ? "INVALID_ID_TOKEN" : "MISSING_ID_TOKEN"
            let signedIn = try call.signedIn(call.text("idToken"), missing: missing)
            guard let email = signedIn.user.email else {
                throw FirebaseError("MISSING_EMAIL", because: "the user has no address")
            }
            return (email, true)
        }
        guard let email = try call.text("email")?.lowercased() else {
            throw FirebaseError("MISSING_EMAIL", because: "email is missing")
        }
        guard TextRule.email.holds(email) else {
            throw FirebaseError("INVALID_EMAIL", because: "\(Diagnosis.quote(email)) isn't an e-mail address")
        }
        if kind == .emailSignIn { return (email, true) }
        let user = call.read { $0.user(email: email, in: call.pool) }
        guard user == nil else {
            if user?.disabled ?? false { throw FirebaseError("USER_DISABLED", because: "the user is disabled") }
            return (email, true)
        }
        // An administrator who has an address verified names a user; who has a password reset, only an address.
        let namesUser = call.isAdmin && kind != .passwordReset
        guard call.project.hidesEmails, !namesUser else {
            throw FirebaseError(namesUser ? "USER_NOT_FOUND" : "EMAIL_NOT_FOUND", because: "nobody has this address")
        }
        return (email, false)
    }

    private func checkContinueURL(_ call: FirebaseCall, _ kind: OutOfBandCode.Kind) throws(FirebaseError) -> String? {
        guard let text = try call.text("continueUrl") else {
            // The official emulator makes such a link all the same.
            guard kind == .emailSignIn, !call.project.takesFakes else { return nil }
            throw FirebaseError("MISSING_CONTINUE_URI", because: "continueUrl is missing: a sign-in link leads there")
        }
        _ = try call.project.checkedReturnURL(text)
        return text
    }

    private func make(
        _ call: FirebaseCall, _ kind: OutOfBandCode.Kind, email: String, newEmail: String?, continueURL: String?
    ) -> OutOfBandCode {
        let apiKey = call.exchange.request.queryForm["key"] ?? call.project.apiKeys.first ?? call.project.id
        return call.update { tables in
            let code = Base64URL.encode(tables.random.bytes(40))
            let mail = OutOfBandCode(
                code: code, pool: call.pool, kind: kind, email: email, newEmail: newEmail,
                link: call.actionLink(kind, code: code, apiKey: apiKey, continueURL: continueURL),
                expires: tables.now + kind.lifetime)
            tables.send(mail)
            return mail
        }
    }
}

extension FirebaseCall {
    /// Where a message that carries a code leads.
    func actionLink(
        _ kind: OutOfBandCode.Kind, code: String, apiKey: String, continueURL: String? = nil
    ) -> String {
        var fields = [("mode", kind.mode), ("lang", locale), ("oobCode", code), ("apiKey", apiKey)]
        if let continueURL { fields.append(("continueUrl", continueURL)) }
        if let tenant { fields.append(("tenantId", tenant)) }
        let page = project.notification.callbackURI ?? actionPage
        let mark = page.contains("?") ? "&" : "?"
        return page + mark + Form(fields: fields.map { Form.Field(name: $0.0, value: $0.1) }).encoded
    }
}

extension OutOfBandCode.Kind {
    /// What `beforeSendEmail` is told of it: `nil` for a mail that it isn't asked about. Recorded as `blocking/send#verify-mail-echo`.
    /// <https://firebase.google.com/docs/reference/functions/2nd-gen/node/firebase-functions.identity>
    fileprivate var askedAs: String? {
        switch self {
        case .passwordReset: "PASSWORD_RESET"
        case .emailSignIn: "EMAIL_SIGN_IN"
        case .verifyEmail, .verifyAndChangeEmail, .recoverEmail, .revertSecondFactorAddition: nil
        }
    }
}
