import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time
import Worlds

// The method accounts:sendOobCode (getOobConfirmationCode):
// https://cloud.google.com/identity-platform/docs/reference/rest/v1/accounts/sendOobCode
//
// Quirks: nothing is sent: the mail goes to the world's inbox, its code to the outbox and the log. With email
// enumeration protection an unknown address is answered like a known one. A message to a provider's relay address is
// subject to the provider's rules. A caller who asks for the link (returnOobLink) gets it instead of a mail.

extension FirebaseProvider {
    func sendOobCode(_ call: FirebaseCall) async throws -> FirebaseAnswer {
        let kind = try kind(call)
        let returnsLink = try call.flag("returnOobLink") ?? false
        guard !returnsLink || call.isAdmin else {
            throw FirebaseError(
                "INSUFFICIENT_PERMISSION",
                because: "only administrators may send returnOobLink: send Authorization: Bearer owner")
        }
        if kind == .emailSignIn { try call.require("emailLink", or: "OPERATION_NOT_ALLOWED") }
        let newEmail = try kind == .verifyAndChangeEmail ? newAddress(call) : nil
        let recipient = try recipient(call, kind)
        let email = recipient.email
        var body = JSONObject(["kind": "identitytoolkit#GetOobConfirmationCodeResponse", "email": email])
        guard recipient.isKnown else {
            return FirebaseAnswer(
                body: body,
                note: Note(
                    "nobody has this address: with email enumeration protection Firebase answers as if somebody had, and sends "
                        + "nothing"))
        }
        let mobile = call.isInEmulatorMode ? nil : try MobileLink(call)
        let continueURL = try checkContinueURL(call, kind).map { mobile?.continueURL($0) ?? $0 }
        if let newEmail, call.read({ $0.user(email: newEmail, in: call.pool) != nil }) {
            // With email enumeration protection, the answer doesn't tell that the address is taken.
            guard call.project.hidesEmails, !call.isInEmulatorMode else {
                throw FirebaseError("EMAIL_EXISTS", because: "another user already has this e-mail address")
            }
            return FirebaseAnswer(
                body: body,
                note: Note(
                    "\(Diagnosis.quote(newEmail)) is taken, so nothing is sent: email enumeration protection hides it"))
        }
        if let type = kind.askedAs {
            try await call.ask(
                .beforeSendEmail,
                aboutMessage: JSONObject(["email": email, "email_type": type]))
        }
        // A sign-in link is for any user with the address, but in production it ends with the user who had it.
        let owner = kind == .emailSignIn && call.isInEmulatorMode ? nil : recipient.user?.localId
        let mail = try call.update { tables in
            var mail = call.code(
                kind, for: email, newEmail: newEmail, owner: owner, continueURL: continueURL,
                apiKey: call.exchange.request.queryForm["key"], &tables)
            mail.link = mobile?.link(mail.link) ?? mail.link
            if !call.isInEmulatorMode { tables.retire(kind, of: email, in: call.pool) }
            // A user who was deleted while a function was asked gets no code.
            guard owner.map({ tables.user($0, in: call.pool) != nil }) ?? true else { return mail }
            tables.send(mail)
            return mail
        }
        call.exchange.log(
            "a \(kind.rawValue) code for \(email) is ready: "
                + "GET /emulator/v1/projects/\(call.project.id)/oobCodes",
            detail: mail.link)
        if returnsLink {
            body["oobCode"] = .string(mail.code)
            body["oobLink"] = .string(mail.link)
            return FirebaseAnswer(body: body)
        }
        return FirebaseAnswer(body: body, diagnosis: try await call.mail(mail))
    }

    private func kind(_ call: FirebaseCall) throws(FirebaseError) -> OutOfBandCode.Kind {
        let text = call.value("requestType") ?? ""
        if let kind = OutOfBandCode.Kind(request: text) { return kind }
        if !call.isInEmulatorMode, !text.isEmpty {
            guard ["OOB_REQ_TYPE_UNSPECIFIED", "0"].contains(text) else {
                throw .wrongType(
                    "req_type", "type.googleapis.com/google.cloud.identitytoolkit.v1.OobReqType", .string(text))
            }
            throw FirebaseError(
                "INVALID_REQ_TYPE", because: "requestType is unspecified: send the kind of mail, such as PASSWORD_RESET"
            )
        }
        throw FirebaseError(
            "MISSING_REQ_TYPE",
            diagnosis: Diagnosis(
                received: "requestType \(Diagnosis.quote(text))",
                expected: OutOfBandCode.Kind.requested.map(\.rawValue).joined(separator: ", "),
                "send one of the allowed values"))
    }

    private func newAddress(_ call: FirebaseCall) throws(FirebaseError) -> String {
        try FirebaseCall.checked(email: call.required("newEmail").lowercased(), or: "INVALID_NEW_EMAIL")
    }

    private struct Recipient: Sendable {
        let email: String
        /// The user with the recipient's address; `nil` if no user has it.
        let user: User?
        /// Whether a mail is sent to the address. It is `false` if no user has the address and the answer must not
        /// reveal this.
        var isKnown = true
    }

    private func recipient(_ call: FirebaseCall, _ kind: OutOfBandCode.Kind) throws(FirebaseError) -> Recipient {
        // Production takes an administrator's word for a new address, not an ID token.
        let takesToken = call.has("idToken") && (kind == .verifyEmail || call.isInEmulatorMode)
        if [.verifyEmail, .verifyAndChangeEmail].contains(kind), !call.isAdmin || takesToken {
            let missing = kind == .verifyEmail ? "INVALID_ID_TOKEN" : "MISSING_ID_TOKEN"
            let signedIn = try call.signedIn(call.text("idToken"), missing: missing)
            guard let email = signedIn.user.email else {
                throw FirebaseError(
                    "MISSING_EMAIL", because: "the user has no e-mail address: set one first, or sign in another way")
            }
            return Recipient(email: email, user: signedIn.user)
        }
        let email = try FirebaseCall.checked(email: call.required("email").lowercased())
        let user = call.read { $0.user(email: email, in: call.pool) }
        if let user {
            // An administrator gets the link, and in the official emulator everybody does. The method to which it leads
            // refuses the user.
            let isRefused = !call.isInEmulatorMode && (!call.isAdmin || kind == .emailSignIn)
            guard !user.disabled || !isRefused else { throw .userIsDisabled(user) }
            return Recipient(email: email, user: user)
        }
        if kind == .emailSignIn {
            // Recorded as `client-permissions#link-new`: an administrator is refused, too.
            try call.requireSignUp()
            return Recipient(email: email, user: nil)
        }
        // To verify an address, an administrator names a user; to reset a password, only an address.
        let namesUser = call.isAdmin && kind != .passwordReset
        guard call.project.hidesEmails, !namesUser else {
            throw FirebaseError(
                namesUser ? "USER_NOT_FOUND" : "EMAIL_NOT_FOUND", because: "no user has this e-mail address")
        }
        return Recipient(email: email, user: nil, isKnown: false)
    }

    private func checkContinueURL(_ call: FirebaseCall, _ kind: OutOfBandCode.Kind) throws(FirebaseError) -> String? {
        guard let text = try call.isInEmulatorMode ? call.text("continueUrl") : call.given("continueUrl") else {
            // The official emulator makes such a link all the same.
            let opensInApp = try call.isInEmulatorMode ? false : call.flag("canHandleCodeInApp") ?? false
            // A tenant's administrator gets a sign-in link without one. Recorded as `tenant/actions#link-code-a1`.
            let isTenants = call.isAdmin && call.tenant != nil
            let leadsThere = kind == .emailSignIn && !isTenants || opensInApp
            guard leadsThere, !call.project.takesFakes else { return nil }
            throw FirebaseError(
                "MISSING_CONTINUE_URI", because: "continueUrl is missing: send the URL to which the link leads")
        }
        guard !call.isInEmulatorMode else {
            _ = try call.project.checkedReturnURL(text)
            return text
        }
        guard let address = WebAddress(text) else {
            throw FirebaseError(
                "INVALID_CONTINUE_URI", "Missing domain in continue url", because: "continueUrl isn't an absolute URL")
        }
        // The host `localhost` must be authorized like any other domain.
        guard call.project.returnDomains.contains(address.host) else {
            throw FirebaseError(
                "UNAUTHORIZED_DOMAIN", "Domain not allowlisted by project",
                because:
                    "the domain isn't authorized: add \(Diagnosis.quote(address.host)) to authorizedDomains of the project in the seed"
            )
        }
        _ = try call.project.checkedReturnURL(text)
        return text
    }
}

extension FirebaseCall {
    /// Makes a one-time code (`oobCode`) for a mail, with the link that contains the code.
    func code(
        _ kind: OutOfBandCode.Kind, for email: String, newEmail: String? = nil, owner: String?,
        continueURL: String? = nil, apiKey: String? = nil, _ tables: inout Transaction
    ) -> OutOfBandCode {
        let code = Base64URL.encode(tables.random.bytes(40))
        let key = apiKey ?? project.apiKeys.first ?? project.id
        var fields = [("mode", kind.mode), ("lang", locale), ("oobCode", code), ("apiKey", key)]
        if let continueURL { fields.append(("continueUrl", continueURL)) }
        if let tenant { fields.append(("tenantId", tenant)) }
        let page = project.notification.callbackURI ?? actionPage
        let mark = page.contains("?") ? "&" : "?"
        let link = page + mark + Form(fields: fields.map { Form.Field(name: $0.0, value: $0.1) }).encoded
        return OutOfBandCode(
            code: code, pool: pool, kind: kind, email: email, newEmail: newEmail, localId: owner, link: link,
            expires: tables.now + kind.lifetime)
    }
}

extension OutOfBandCode.Kind {
    /// The mail's kind as the blocking function `beforeSendEmail` gets it; `nil` for a kind about which the function
    /// isn't called. Production's behaviour is known from the recording `blocking/send#verify-mail-echo`.
    /// <https://firebase.google.com/docs/reference/functions/2nd-gen/node/firebase-functions.identity>
    fileprivate var askedAs: String? {
        switch self {
        case .passwordReset: "PASSWORD_RESET"
        case .emailSignIn: "EMAIL_SIGN_IN"
        case .verifyEmail, .verifyAndChangeEmail, .recoverEmail, .revertSecondFactorAddition: nil
        }
    }
}

// Links in e-mails that open an app: https://firebase.google.com/docs/auth/web/passing-state-in-email-actions
//
// Production wraps such a link as `https://DOMAIN/__/auth/links?link=…`, which the phone gives to the app. Recorded as
// `mobile-links` (https://github.com/t-k/fireemu, conformance/auth-config-sdk-production.json). The official emulator
// knows no such links. That a browser without the app is led on to the link isn't documented.

/// A request's settings for a mail whose link opens an app.
struct MobileLink {
    /// The domain of the link that opens the app.
    private let domain: String
    /// Whether the app applies the code in the mail's link. Otherwise a web page applies it, and the app opens
    /// afterwards.
    private let opensInApp: Bool
    private let hasApp: Bool

    /// Reads the app's link settings from a request.
    ///
    /// - Throws: `INVALID_HOSTING_LINK_DOMAIN` if `linkDomain` isn't a link domain of the project;
    ///   `DYNAMIC_LINK_NOT_ACTIVATED` if the request names an app, and the project still uses links of Firebase Dynamic
    ///   Links.
    init(_ call: FirebaseCall) throws(FirebaseError) {
        opensInApp = try call.flag("canHandleCodeInApp") ?? false
        let apps = [try call.given("iOSBundleId"), try call.given("androidPackageName")]
        hasApp = apps.contains { $0 != nil }
        let wanted = try call.given("linkDomain")?.lowercased()
        domain = wanted ?? call.project.host
        guard wanted.map({ call.project.linkDomains.contains($0) }) ?? true else {
            throw FirebaseError(
                "INVALID_HOSTING_LINK_DOMAIN",
                "The provided hosting link domain is not configured in Firebase Hosting or is not owned by the current "
                    + "project. This cannot be a default hosting domain (web.app or firebaseapp.com).",
                because: "linkDomain \(Diagnosis.quote(domain)) isn't in linkDomains of the project in the seed")
        }
        let kind = call.project.otherSettings["mobileLinksConfig"]?["domain"]?.string
        guard !hasApp || kind != "FIREBASE_DYNAMIC_LINK_DOMAIN" else {
            throw FirebaseError(
                "DYNAMIC_LINK_NOT_ACTIVATED", "FDL domain is not configured",
                because: "mobileLinksConfig.domain is FIREBASE_DYNAMIC_LINK_DOMAIN, but Dynamic Links were shut down")
        }
    }

    /// Returns the continue URL for the link in a mail. Usually, it is `url`. If an app is to open after a web page has
    /// applied the link's one-time code, it is a URL that opens the app and contains `url`. Like production, this
    /// doesn't percent-encode `url`.
    func continueURL(_ url: String) -> String { hasApp && !opensInApp ? "\(opening)?link=\(url)" : url }

    /// Returns the link that the mail contains. If the app is to apply the link's one-time code, the link is wrapped
    /// into one that opens the app.
    func link(_ link: String) -> String {
        guard hasApp, opensInApp else { return link }
        return "\(opening)?\(Form(fields: [Form.Field(name: "link", value: link)]).encoded)"
    }

    private var opening: String { "https://\(domain)\(FirebaseProvider.linkPath)" }
}

extension FirebaseProvider {
    static let linkPath = "/__/auth/links"

    func linkEndpoints(at hosts: [String]) -> [Endpoint] {
        [
            Endpoint(
                "GET", hosts, FirebaseProvider.linkPath, step: SignInStep(.page, "open an e-mail's link for an app"),
                .page
            ) { try openLink($0) }
        ]
    }

    /// Redirects the browser to the URL in the query parameter `link`, if that URL is on an authorized domain of the
    /// project or on this machine. A browser comes here only on a device where the app isn't installed.
    private func openLink(_ exchange: Exchange) throws -> Response {
        do {
            let project = try project(id: client(of: exchange) ?? "", in: exchange)
            guard let link = exchange.request.queryForm["link"] else {
                throw FirebaseError("MISSING_LINK", because: "link is missing")
            }
            _ = try project.checkedReturnURL(link, named: "link")
            return .redirect(to: link)
        } catch let error as FirebaseError {
            return FirebaseProvider.problem(error.status, "This link doesn't work", error.diagnosis)
        }
    }
}
