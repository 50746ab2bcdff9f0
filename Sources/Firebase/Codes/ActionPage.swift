import HTTPServer
import JSON
import OAuth
import EmulatorCore

// The page to which links in e-mails lead: GET and POST /emulator/action, and /__/auth/action at a project's own
// domain.
// https://firebase.google.com/docs/auth/custom-email-handler
//
// Quirks: a sign-in link leads on to the app's continueUrl with the code in it; the other codes are applied here. A
// program, which doesn't accept HTML, gets the Emulator Suite's JSON.

extension FirebaseProvider {
    func actionEndpoints(at hosts: [String], _ path: String) -> [Endpoint] {
        let step = SignInStep(.page, "open an e-mail's link")
        return [
            Endpoint("GET", hosts, path, step: step) { try action($0, $0.request.queryForm) },
            Endpoint("POST", hosts, path, step: step) { try action($0, $0.request.bodyForm) },
        ]
    }

    private func action(_ exchange: Exchange, _ form: Form) throws -> Response {
        do {
            let key = form["apiKey"] ?? ""
            let project = try project(apiKey: key, in: exchange)
            let call = try scoped(exchange, project, tenant: form["tenantId"])
            let code = form["oobCode"]
            // This is checked before the code is used: a link that was tampered with leads nowhere and reveals no code.
            if let target = form["continueUrl"] { _ = try project.checkedReturnURL(target) }
            switch form["mode"] {
            case "signIn": return try goOn(call, code, form)
            case "resetPassword": return try reset(call, code, form)
            case "verifyEmail", "verifyAndChangeEmail", "recoverEmail", "revertSecondFactorAddition":
                let mail = try call.mail(code, OutOfBandCode.Kind.applied)
                _ = try applyCode(call, mail.code)
                return done(exchange, form, FirebaseProvider.result(of: mail.kind), email: mail.newEmail ?? mail.email)
            case let mode:
                throw FirebaseError(
                    "INVALID_MODE",
                    diagnosis: Diagnosis(
                        received: "mode \(Diagnosis.quote(mode ?? ""))", expected: "the mode of a link that was sent",
                        "open the link from a mail in the inbox"))
            }
        } catch let error as FirebaseError {
            return refused(exchange, error)
        }
    }

    private static func result(of kind: OutOfBandCode.Kind) -> String {
        switch kind {
        case .verifyEmail: "The email has been successfully verified."
        case .revertSecondFactorAddition: "The second factor has been removed."
        default: "The email has been successfully changed."
        }
    }

    private func goOn(_ call: FirebaseCall, _ code: String?, _ form: Form) throws(FirebaseError) -> Response {
        _ = try call.mail(code, [.emailSignIn])
        guard let target = form["continueUrl"] else {
            throw FirebaseError(
                "MISSING_CONTINUE_URI", because: "the sign-in link has no continueUrl to which to redirect")
        }
        let own = form.fields.filter { ["mode", "lang", "oobCode", "apiKey", "tenantId"].contains($0.name) }
        return .redirect(to: target + (target.contains("?") ? "&" : "?") + Form(fields: own).encoded)
    }

    private func reset(_ call: FirebaseCall, _ code: String?, _ form: Form) throws -> Response {
        let mail = try call.mail(code, [.passwordReset])
        let wanted = form["newPassword"] ?? ""
        let isPlaceholder = wanted == FirebaseProvider.placeholder && call.exchange.address.host == nil
        guard !wanted.isEmpty, !isPlaceholder else {
            if call.exchange.address.host == nil, !acceptsPages(call.exchange) {
                return passwordTemplate(of: mail, isPlaceholder: isPlaceholder)
            }
            return passwordPage(call.exchange, form, mail, fault: nil)
        }
        let password = wanted
        do {
            _ = try resetPassword(
                FirebaseCall(
                    call.exchange, project: call.project, tenant: call.tenant,
                    body: JSONObject(["oobCode": mail.code, "newPassword": password])))
        } catch let error as FirebaseError where error.code == "WEAK_PASSWORD" && acceptsPages(call.exchange) {
            return passwordPage(call.exchange, form, mail, fault: error.message).diagnosed(error.diagnosis)
        }
        return done(call.exchange, form, "The password has been successfully updated.", email: mail.email)
    }

    // MARK: - Pages

    private func acceptsPages(_ exchange: Exchange) -> Bool {
        exchange.request.header("Accept")?.contains("text/html") ?? false
    }

    private static let placeholder = "NEW_PASSWORD_HERE"

    /// Answers a program that follows a password reset link: the JSON says how to send the new password, as in the
    /// Firebase emulator.
    private func passwordTemplate(of mail: OutOfBandCode, isPlaceholder: Bool) -> Response {
        let fault =
            isPlaceholder
            ? "newPassword must be something other than '\(FirebaseProvider.placeholder)'"
            : "missing newPassword query parameter"
        let body: JSONValue = [
            "authEmulator": [
                "error": .string(fault),
                "instructions": .string(
                    "To reset the password of \(mail.email), request urlTemplate with a password in it."),
                "urlTemplate": .string("\(mail.link)&newPassword=\(FirebaseProvider.placeholder)"),
            ]
        ]
        return FirebaseProvider.json(body, status: 400).diagnosed(Diagnosis("newPassword is missing from the query"))
            .known(by: FirebaseProvider.inEmulator)
    }

    private func passwordPage(_ exchange: Exchange, _ form: Form, _ mail: OutOfBandCode, fault: String?) -> Response {
        let hidden = form.fields.filter { $0.name != "newPassword" }.map { HTML.hidden($0.name, $0.value) }
        let target = exchange.address.host == nil ? "/emulator/action" : "/__/auth/action"
        let base = exchange.address.host.map { exchange.address.base(of: $0) } ?? exchange.address.ownBase
        var fields = hidden
        if let fault { fields.append(.tag("p", [("class", "error"), ("role", "alert")], fault)) }
        fields += [
            .tag(
                "label", [], .text("New password"),
                .tag(
                    "input",
                    [
                        ("type", "password"), ("name", "newPassword"), ("autocomplete", "new-password"),
                        ("required", nil),
                        ("autofocus", nil),
                    ])), .tag("button", [("type", "submit")], "Save"),
        ]
        return Page.response(
            title: "Choose a new password", status: fault == nil ? 200 : 422, look: .firebase,
            [
                .tag("h1", [], "Choose a new password"), .tag("p", [("class", "soft")], "for \(mail.email)"),
                .element(
                    "form", attributes: [(name: "method", value: "post"), (name: "action", value: base + target)],
                    children: fields),
            ])
    }

    private func done(_ exchange: Exchange, _ form: Form, _ text: String, email: String) -> Response {
        if let target = form["continueUrl"] { return .redirect(to: target) }
        guard acceptsPages(exchange) else {
            return FirebaseProvider.json(["authEmulator": ["success": .string(text), "email": .string(email)]])
        }
        return Page.response(
            title: "Done", look: .firebase,
            [.tag("h1", [], "Done"), .tag("p", [], text), .tag("p", [("class", "soft")], email)])
    }

    private func refused(_ exchange: Exchange, _ error: FirebaseError) -> Response {
        guard acceptsPages(exchange) else {
            let body: JSONValue = [
                "authEmulator": ["error": .string(error.message), "instructions": .string(error.diagnosis.line)]
            ]
            return FirebaseProvider.json(body, status: error.status).diagnosed(error.diagnosis)
                .known(by: FirebaseProvider.inEmulator)
        }
        return Page.response(
            title: error.code, status: error.status, look: .firebase,
            [
                .tag("h1", [], "This link doesn't work"), .tag("p", [("class", "error")], error.message),
                Page.why(error.diagnosis),
            ]
        ).diagnosed(error.diagnosis)
    }
}
