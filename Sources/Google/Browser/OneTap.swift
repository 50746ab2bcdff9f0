import EmulatorCore
import HTTPServer
import JSON
import OAuth

// GET and POST /gsi/iframe: One Tap, in a frame that the script shows over the page.
// https://developers.google.com/identity/gsi/web/guides/display-google-one-tap
//
// Quirks: there are no sessions at Google here, so every person of the seed is signed in there, and the last one to
// sign in with this browser is listed first. The browser's own dialog (FedCM) isn't served.

extension GoogleProvider {
    func oneTap(_ exchange: Exchange, _ form: Form) throws -> Response {
        let request: BrowserSignIn
        do throws(GoogleError) { request = try BrowserSignIn(form, self) } catch { return page(error) }
        switch try exchange.decision(provider: name, client: request.client.id, interaction: request.client.interaction)
        {
        case .cancel: return frame(request, ended: "user_cancel", Diagnosis("a cancel was ordered as an outcome"))
        case .error: return frame(request, ended: "issuing_failed", Diagnosis("this error was ordered as an outcome"))
        case .nobody: return frame(request, ended: "issuing_failed", Diagnosis("there is no account to sign in"))
        case .approve(let account, _): return try signedIn(exchange, request, account)
        case .ask: break
        }
        // This person signed in last, has consented, and hasn't signed out:
        // https://developers.google.com/identity/gsi/web/guides/automatic-sign-in-sign-out
        if form["auto_select"] == "true", let session = form["session"],
            let (account, isKnown) = person(accountID(of: session, exchange), of: request, exchange), isKnown
        {
            return try signedIn(exchange, request, account, by: "auto")
        }
        return choose(exchange, request)
    }

    func decideByOneTap(_ exchange: Exchange) throws -> Response {
        let form = exchange.request.bodyForm
        guard let original = form.carriedRequest else {
            return page(
                GoogleError("invalid_request", nil, Diagnosis("the form lacks the page's request: load it again")))
        }
        let request: BrowserSignIn
        do throws(GoogleError) { request = try BrowserSignIn(original, self) } catch { return page(error) }
        if let search = PersonChooser.Search(form) { return choose(exchange, request, search) }
        guard form["action"] != "cancel" else {
            return frame(request, ended: "user_cancel", Diagnosis("the person closed One Tap"))
        }
        guard let (account, isKnown) = person(form["account"] ?? "", of: request, exchange) else {
            return choose(exchange, request)
        }
        guard form["action"] == "continue" || isKnown else { return confirm(exchange, request, account) }
        return try signedIn(exchange, request, account)
    }

    private func signedIn(
        _ exchange: Exchange, _ request: BrowserSignIn, _ account: Account, by selectBy: String? = nil
    ) throws -> Response {
        if blocked(request.client, BrowserSignIn.scopes, account) != nil {
            return frame(request, ended: "issuing_failed", Diagnosis("\(account.id) may not use this client"))
        }
        let isKnown = person(account.id, of: request, exchange)?.isKnown ?? false
        do {
            guard let credential = try credential(exchange, request, account) else { return choose(exchange, request) }
            return frame(
                request,
                JSONObject([
                    ("credential", .string(credential)),
                    ("select_by", .string(selectBy ?? (isKnown ? "user" : "user_1tap"))),
                ]))
        } catch let error as GoogleError { return frame(request, ended: "issuing_failed", error.diagnosis) }
    }

    // MARK: - The frame's pages

    private func choose(_ exchange: Exchange, _ request: BrowserSignIn, _ search: PersonChooser.Search? = nil)
        -> Response
    {
        let hinted = request.hint.flatMap { hint in
            let id = accountID(of: hint, exchange)
            return exchange.world.read { $0.account(id) ?? $0.first(Account.byEmail, id.lowercased()) }
        }
        let chooser = PersonChooser(exchange, search, first: hinted, preferring: request.prefersAccount)
        let people = chooser.fields { account in
            PersonChooser.button(
                account, title: account.fullName.isEmpty ? account.id : account.fullName, notes: account.email)
        }
        return card(exchange, request, people)
    }

    private func confirm(_ exchange: Exchange, _ request: BrowserSignIn, _ account: Account) -> Response {
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
        let verb = GoogleProvider.contexts[request.form["context"] ?? ""] ?? "Sign in to"
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

    /// Returns the frame's last page, which the script removes.
    private func frame(_ request: BrowserSignIn, _ message: JSONObject) -> Response {
        framed(request, "Signing in…", message: .object(message), [.tag("p", [], "One Tap is over.")])
    }

    private func frame(_ request: BrowserSignIn, ended reason: String, _ diagnosis: Diagnosis) -> Response {
        frame(request, JSONObject([("reason", .string(reason))])).diagnosed(diagnosis)
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
    /// The theme of One Tap: a small card that fills its frame.
    static let oneTap = Look(
        name: "Google",
        style: """
            :root{--ink:#1f1f1f;--soft:#444746;--paper:#fff;--card:#fff;--line:#dadce0;--act:#1a73e8;--on-act:#fff;\
            --link:#1a73e8;--radius:4px}\
            body{font-family:Roboto,Arial,system-ui,sans-serif;font-size:.875rem}\
            .banner{padding:.3rem .75rem;font-size:.75rem}.brand{display:none}\
            main,main:has(.wide){border:0;border-radius:0;margin:0;padding:.75rem 1rem 1rem;max-width:none}\
            h1{font-size:1rem;font-weight:500;margin:0 0 .25rem}\
            button,.button{padding:.5rem .75rem}\
            button.person{border:0;border-top:1px solid var(--line);border-radius:0;margin:0;padding:.5rem .25rem}\
            button.person strong{font-weight:500}\
            button.quiet{border-color:transparent;margin-top:.25rem}
            """)
}
