import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth

// GET and POST /gsi/select: the pop-up of the Sign in with Google button, or with ux_mode=redirect its page, which
// posts the credential to `login_uri`. https://developers.google.com/identity/gsi/web/guides/verify-google-id-token
//
// Quirks: the person consents to openid, email and profile, even if the client may request more. The page that opened
// the pop-up isn't notified when the person cancels.

/// A sign-in request that a page makes by Google's script for browsers.
struct BrowserSignIn: CheckedAuthorization {
    /// The way in which the app's page gets the ID token.
    enum Mode: Sendable {
        case popup
        /// The ID token is posted to this address, which is one of the client's redirect URIs.
        case redirect(to: String)
    }

    static let scopes = GoogleScopes(["openid", "email", "profile"])

    let client: GoogleClient
    let origin: JavaScriptOrigin
    let mode: Mode
    /// The fields of the sign-in request, unchanged. The sign-in page sends these fields again with the person's
    /// answer.
    let form: Form

    init(_ form: Form, _ provider: GoogleProvider) throws(GoogleError) {
        guard let id = form["client_id"], !id.isEmpty else { throw .missing("client_id") }
        client = try provider.client(named: id)
        origin = try client.origin(form)
        if form["ux_mode"] == "redirect" {
            guard let address = form["login_uri"], !address.isEmpty else { throw .missing("login_uri") }
            // The address must be one of the authorized redirect URIs:
            // https://developers.google.com/identity/gsi/web/reference/js-reference#login_uri.
            mode = .redirect(
                to: try client.registeredURI(Form(fields: [Form.Field(name: "redirect_uri", value: address)])))
        } else {
            mode = .popup
        }
        self.form = form
    }

    /// The person whom the sign-in page suggests: the one in `login_hint`, or else the one who most recently signed in
    /// with this browser.
    var hint: String? { [form["login_hint"], form["session"]].compactMap { $0 }.first { !$0.isEmpty } }

    /// A function that tells whether a person belongs to the Workspace domain in the parameter `hd`, and so comes first
    /// in the account chooser; `nil` if the request has no `hd`.
    var prefersAccount: ((Account) -> Bool)? {
        form["hd"].flatMap { domain in domain.isEmpty ? nil : { $0.google.isAt(domain) } }
    }

    /// Returns a page that posts a message to the app's page, which opened this page in a pop-up or shows it in a
    /// frame. Pages of other origins can't read the message.
    func message(_ message: JSONObject) -> Response {
        AuthorizationResponse(redirectURI: origin.text, mode: .webMessage).messagePage(.object(message))
    }
}

/// The sign-in by the button "Sign in with Google" of Google's script.
struct ButtonSignIn: PersonPagesFlow {
    let google: GoogleProvider

    var provider: String { google.name }

    var missingRequest: Diagnosis {
        Diagnosis("the form lacks the parameters of the sign-in: press the sign-in button again")
    }

    func pages(_ exchange: Exchange) -> PersonPages {
        PersonPages(.google, .google, host: GoogleProvider.host, path: GoogleProvider.selectPath)
    }

    func request(_ form: Form, isAnswer: Bool, _ exchange: Exchange) throws(RefusedAuthorization) -> BrowserSignIn {
        try google.browserSignIn(form)
    }

    /// Ends a sign-in that was cancelled, or for which a test or the seed has requested an error. Google doesn't
    /// document the result of a cancelled sign-in.
    func answer(to request: BrowserSignIn, _ end: AuthorizationEnd, _ exchange: Exchange) -> Response {
        let diagnosis = Diagnosis(end.reason)
        if case .error(let error, _) = end {
            let status = GoogleError.statusesOfPageErrors.first { $0.name == error }?.status ?? 400
            return google.page(GoogleError(error, nil, status: status, diagnosis))
        }
        let response =
            switch request.mode {
            case .popup: request.message(JSONObject([("error", "user_cancel")]))
            case .redirect: Response.redirect(to: "\(request.origin.text)/")
            }
        return response.diagnosed(diagnosis).known(by: .chosen("nothing public says what follows a cancel"))
    }

    func hint(_ request: BrowserSignIn, _ exchange: Exchange) -> String? {
        request.hint.map { google.accountID(of: $0, exchange) }
    }

    func preference(_ request: BrowserSignIn) -> ((Account) -> Bool)? { request.prefersAccount }

    /// Returns the person whom the `login_hint` names: "If successful, account selection is skipped."
    /// <https://developers.google.com/identity/gsi/web/reference/js-reference#login_hint>
    func personSignedIn(_ request: BrowserSignIn, _ exchange: Exchange) -> Account? {
        request.form["login_hint"].flatMap { google.account(hinted: $0, exchange) }
    }

    func consentPage(_ request: BrowserSignIn, for account: Account, _ exchange: Exchange) -> Response? {
        google.isKnown(account, to: request, exchange)
            ? nil : consentPage(request, for: account, items: BrowserSignIn.scopes.descriptions, exchange)
    }

    func approve(
        _ request: BrowserSignIn, by account: Account, _ approval: SignInApproval, _ exchange: Exchange
    ) throws -> Response? {
        if let page = google.blocked(request.client, BrowserSignIn.scopes, account) { return page }
        // https://developers.google.com/identity/gsi/web/reference/js-reference#select_by
        let selectBy = google.isKnown(account, to: request, exchange) ? "btn" : "btn_confirm"
        let credential: String
        do {
            guard let text = try google.credential(exchange, request, account) else { return nil }
            credential = text
        } catch let error as GoogleError { return google.page(error) }
        let state = exchange.redirectState(request.form.field("state"))
        switch request.mode {
        case .popup:
            var message = JSONObject([("credential", .string(credential)), ("select_by", .string(selectBy))])
            message["state"] = state.map { .string($0.value) }
            return request.message(message)
        case .redirect(let address):
            var response = AuthorizationResponse(redirectURI: exchange.reachable(address), mode: .formPost)
            response.append("credential", credential)
            response.append("g_csrf_token", request.form["g_csrf_token"])
            response.append("select_by", selectBy)
            response.append("state", state?.value)
            return response.deliver()
        }
    }
}

extension GoogleProvider {
    fileprivate func browserSignIn(_ form: Form) throws(RefusedAuthorization) -> BrowserSignIn {
        do throws(GoogleError) { return try BrowserSignIn(form, self) } catch {
            throw RefusedAuthorization(page(error))
        }
    }

    /// Whether a person has already granted the client the scopes that Google's script requests.
    fileprivate func isKnown(_ account: Account, to request: BrowserSignIn, _ exchange: Exchange) -> Bool {
        exchange.world.read { $0.hasConsented(account.id, to: request.client.id, scopes: BrowserSignIn.scopes) }
    }

    /// Records the person's consent to the sign-in, and returns the ID token; `nil` if the account doesn't exist any
    /// more.
    func credential(
        _ exchange: Exchange, _ request: BrowserSignIn, _ account: Account
    ) throws -> String? {
        let details = GoogleGrant.TokenDetails(
            scopes: BrowserSignIn.scopes, nonce: request.form["nonce"].flatMap { $0.isEmpty ? nil : $0 },
            isOffline: false)
        let made = try exchange.world.update(for: account.id) { tables in
            _ = tables.consent(account.id, to: request.client, scopes: BrowserSignIn.scopes)
            return (tables.now, Hex.encode(tables.random.bytes(20)))
        }
        guard let (now, identifier) = made else { return nil }
        let token = IDToken(
            issuer: issuer(exchange), client: request.client.id, account: account, details: details, issuedAt: now,
            identifier: identifier)
        do { return try token.minted(exchange) } catch {
            throw GoogleError(
                "server_error", nil, status: 500,
                Diagnosis("the ID token can't be signed: \(error.description)"))
        }
    }
}

// GET and POST /gsi/iframe: One Tap, in a frame that the script shows over the page.
// https://developers.google.com/identity/gsi/web/guides/display-google-one-tap
//
// Quirks: there are no sessions at Google here, so every person of the seed is signed in there, and the last one to
// sign in with this browser is listed first.

/// The sign-in by One Tap, a frame that Google's script shows over a page.
struct OneTapSignIn: AuthorizationFlow {
    let google: GoogleProvider

    var provider: String { google.name }

    func request(_ form: Form, isAnswer: Bool, _ exchange: Exchange) throws(RefusedAuthorization) -> BrowserSignIn {
        try google.browserSignIn(form)
    }

    func answer(to request: BrowserSignIn, _ end: AuthorizationEnd, _ exchange: Exchange) -> Response {
        switch end {
        case .cancelled(let isOrdered):
            frame(
                request, ended: "user_cancel", Diagnosis(isOrdered ? end.reason : "the user closed the One Tap prompt"))
        case .error, .nobodySignedIn, .consentMissing: frame(request, ended: "issuing_failed", Diagnosis(end.reason))
        }
    }

    func nobody(_ request: BrowserSignIn, _ exchange: Exchange) -> Response {
        frame(
            request, ended: "issuing_failed",
            Diagnosis("there is no account to sign in with: add one in the seed, or with POST accounts"))
    }

    func answer(
        _ form: Form, _ exchange: Exchange
    ) throws(RefusedAuthorization) -> (request: Form, answer: PersonPages.Answer) {
        guard let request = form.carriedRequest else {
            throw RefusedAuthorization(
                google.page(
                    GoogleError(
                        "invalid_request", nil,
                        Diagnosis("the form lacks the parameters of the sign-in: reload the page"))))
        }
        if let search = PersonChooser.Search(form) { return (request, .searched(search)) }
        let account = form["account"] ?? ""
        return switch form["action"] {
        case "cancel": (request, .cancel)
        case "continue": (request, .approved(account))
        default: (request, .chosen(account))
        }
    }

    /// Returns the person who is signed in automatically: the one who most recently signed in with this browser, if
    /// that person has consented and hasn't signed out.
    /// <https://developers.google.com/identity/gsi/web/guides/automatic-sign-in-sign-out>
    func personSignedIn(_ request: BrowserSignIn, _ exchange: Exchange) -> Account? {
        guard request.form["auto_select"] == "true", let session = request.form["session"] else { return nil }
        let id = google.accountID(of: session, exchange)
        return exchange.world.read { $0.account(id) }.flatMap { google.isKnown($0, to: request, exchange) ? $0 : nil }
    }

    func approve(
        _ request: BrowserSignIn, by account: Account, _ approval: SignInApproval, _ exchange: Exchange
    ) throws -> Response? {
        if google.blocked(request.client, BrowserSignIn.scopes, account) != nil {
            return frame(
                request, ended: "issuing_failed", Diagnosis("the account \(account.id) may not sign in to this client"))
        }
        var selectBy = google.isKnown(account, to: request, exchange) ? "user" : "user_1tap"
        if case .remembered = approval { selectBy = "auto" }
        do {
            guard let credential = try google.credential(exchange, request, account) else { return nil }
            return frame(
                request, JSONObject([("credential", .string(credential)), ("select_by", .string(selectBy))]))
        } catch let error as GoogleError { return frame(request, ended: "issuing_failed", error.diagnosis) }
    }

    // MARK: - The frame's pages

    func choosePerson(
        _ request: BrowserSignIn, _ search: PersonChooser.Search?, _ exchange: Exchange
    ) -> Response {
        let hinted = request.hint.flatMap { google.account(hinted: $0, exchange) }
        let chooser = PersonChooser(exchange, search, first: hinted, preferring: request.prefersAccount)
        let people = chooser.fields { account in
            PersonChooser.button(
                account, title: account.fullName.isEmpty ? account.id : account.fullName, notes: account.email)
        }
        return card(exchange, request, people)
    }

    func consentPage(_ request: BrowserSignIn, for account: Account, _ exchange: Exchange) -> Response? {
        guard !google.isKnown(account, to: request, exchange) else { return nil }
        let text =
            "To continue, Google will share the name, e-mail address and picture of \(account.fullName) (\(account.email)) with "
            + "\(request.client.name)."
        return card(
            exchange, request,
            [
                .tag("p", [("class", "soft small")], text), .hidden("account", account.id),
                .tag(
                    "button", [("type", "submit"), ("name", "action"), ("value", "continue"), ("autofocus", nil)],
                    "Continue as \(account.name.given)"),
            ])
    }

    private static let contexts = ["signin": "Sign in to", "signup": "Sign up to", "use": "Use"]

    private func card(_ exchange: Exchange, _ request: BrowserSignIn, _ fields: [HTML]) -> Response {
        let verb = OneTapSignIn.contexts[request.form["context"] ?? ""] ?? "Sign in to"
        let title = "\(verb) \(request.client.name) with Google"
        let close = HTML.tag(
            "button",
            [("class", "quiet"), ("type", "submit"), ("name", "action"), ("value", "cancel"), ("formnovalidate", nil)],
            "Close")
        let form = HTML.element(
            "form",
            attributes: [
                (name: "method", value: "post"),
                (name: "action", value: exchange.address.url(of: GoogleProvider.host, GoogleProvider.oneTapPath)),
            ], children: [.carrying(request.form)] + fields + [close])
        return framed(request, title, message: nil, [.tag("h1", [], title), form])
    }

    /// Returns the page with which a sign-in in One Tap's frame ends. Google's script then removes the frame.
    private func frame(_ request: BrowserSignIn, _ message: JSONObject) -> Response {
        framed(request, "Signing in…", message: .object(message), [.tag("p", [], "One Tap is over.")])
    }

    private func frame(_ request: BrowserSignIn, ended reason: String, _ diagnosis: Diagnosis) -> Response {
        frame(request, JSONObject([("reason", .string(reason))])).diagnosed(diagnosis)
            .known(by: GoogleProvider.evidence.ofError(reason))
    }

    private func framed(_ request: BrowserSignIn, _ title: String, message: JSONValue?, _ content: [HTML]) -> Response {
        let answer = HTML.tag(
            "div", [("id", "answer"), ("data-message", message?.text ?? ""), ("data-origin", request.origin.text)])
        var response = Page.response(title: title, look: .oneTap, content + [answer, .script(Scripts.onetap)])
        // Only pages of the client's own origin may contain it.
        response.headers.append((name: "Content-Security-Policy", value: "frame-ancestors \(request.origin.text)"))
        return response
    }
}

extension Look {
    /// The look of One Tap: a small card that fills its frame.
    static let oneTap = Look(name: "Google", style: StyleSheets.oneTap)
}
