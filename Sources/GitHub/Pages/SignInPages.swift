import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time
import Worlds

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// GET /login, POST /session, GET and POST /signup, POST /logout: a person signs in on these pages. There are no
// passwords: people are chosen from a list.

extension Pages {
    /// Redirects to GitHub's sign-in page, which returns to the authorization request.
    static func redirectToSignIn(_ exchange: Exchange, _ request: AuthorizationRequest) -> Response {
        var fields = [Form.Field(name: "client_id", value: request.app.clientID)]
        if let login = request.login { fields.append(Form.Field(name: "login", value: login)) }
        if !request.allowsSignup { fields.append(Form.Field(name: "allow_signup", value: "false")) }
        return redirectToSignIn(exchange, fields, then: "/login/oauth/authorize?\(request.form.encoded)")
    }

    static func redirectToSignIn(_ exchange: Exchange, _ fields: [Form.Field] = [], then path: String) -> Response {
        let form = Form(fields: fields + [Form.Field(name: "return_to", value: path)])
        return .redirect(to: "\(base(exchange))/login?\(form.encoded)")
    }
}

extension GitHubProvider {
    func signInPage(_ exchange: Exchange) -> Response {
        let query = exchange.request.queryForm
        let returnTo = GitHubProvider.local(query["return_to"])
        let suggested = query["login"].flatMap { login in
            exchange.world.read { $0.account(gitHubLogin: login) }
        }
        let search = PersonChooser.Search(query)
        let chooser = PersonChooser(
            exchange, search, first: suggested, searchAddress: "\(Pages.base(exchange))/login")
        let people = chooser.fields { account in
            let isSuggested = account.id == suggested?.id
            return PersonChooser.button(
                account, title: account.github.login,
                notes: GitHubProvider.notes(on: account, isSuggested: isSuggested),
                // The browser would scroll to a focused person further down.
                isSuggested: isSuggested && search == nil)
        }
        var content: [HTML] = [.tag("h1", [], "Sign in to GitHub")]
        if let app = query["client_id"].flatMap({ directory.apps[$0] }) {
            content.append(.tag("p", [("class", "soft")], "to continue to \(app.name)"))
        }
        if chooser.isEmpty { content.append(.tag("p", [], "Nobody is seeded yet.")) }
        // A search keeps the query's other parameters.
        let carried = ["client_id", "login", "allow_signup"].compactMap { name in
            query[name].map { HTML.hidden(name, $0) }
        }
        content.append(
            Pages.form(exchange, to: "/session", [.hidden("return_to", returnTo)] + carried + people))
        if query["allow_signup"] != "false" {
            let signup = Form(fields: [Form.Field(name: "return_to", value: returnTo)]).encoded
            content.append(Pages.link(exchange, "Create an account", to: "/signup?\(signup)"))
        }
        return Pages.page("Sign in to GitHub", content)
    }

    private static func notes(on account: Account, isSuggested: Bool) -> String {
        var notes = [account.github.name ?? account.fullName, account.github.primaryEmail?.email ?? "no address"]
        if account.github.primaryEmail?.verified == false { notes.append("address not verified") }
        if isSuggested { notes.append("suggested by the app") }
        return notes.joined(separator: " · ")
    }

    func startSession(_ exchange: Exchange) throws -> Response {
        let answer = exchange.request.bodyForm
        return try signIn(answer["account"] ?? "", exchange, then: answer["return_to"] ?? "/")
    }

    func endSession(_ exchange: Exchange) throws -> Response {
        guard let session = session(exchange) else { return try signOut(exchange) }
        guard session.holds(exchange.request.bodyForm["authenticity_token"]) else { return Pages.forged(exchange) }
        return try signOut(exchange)
    }

    // MARK: - Creating an account

    func signUpPage(_ exchange: Exchange) -> Response {
        signUpPage(exchange, exchange.request.queryForm, issue: nil)
    }

    private func signUpPage(_ exchange: Exchange, _ form: Form, issue: String?) -> Response {
        func input(_ name: String, _ label: String, _ hint: String, isRequired: Bool = true) -> HTML {
            let attributes: [(String, String?)] = [
                ("type", "text"), ("name", name), ("value", form[name] ?? ""), ("autocomplete", hint),
            ]
            return .tag(
                "label", [], .text(label), .tag("input", attributes + (isRequired ? [("required", nil)] : [])))
        }
        var fields: [HTML] = [.hidden("return_to", GitHubProvider.local(form["return_to"]))]
        if let issue { fields.append(.tag("p", [("class", "error"), ("role", "alert")], issue)) }
        fields += [
            input("login", "User name", "username"), input("email", "E-mail address", "email"),
            input("name", "Name, if the profile has one", "name", isRequired: false),
            Pages.submit("Create account", name: "action", value: "create"),
        ]
        return Pages.page(
            "Create your GitHub account", status: issue == nil ? 200 : 422,
            [
                .tag("h1", [], "Create your GitHub account"),
                .tag("p", [("class", "soft")], "It lasts until this world is reset. Its address counts as verified."),
                Pages.form(exchange, to: "/signup", fields),
            ])
    }

    func signUp(_ exchange: Exchange) throws -> Response {
        let form = exchange.request.bodyForm
        let login = form["login"] ?? ""
        let email = form["email"] ?? ""
        guard TextRule.identifier.holds(login), login.utf8.count <= 39 else {
            return refuseSignUp(exchange, form, "A user name is 1 to 39 letters, digits, \"-\", \"_\" and \".\".")
        }
        var members = JSONObject()
        if let name = form["name"], !name.isEmpty {
            let words = name.split(separator: " ", maxSplits: 1).map { JSONValue.string(String($0)) }
            members["name"] = ["given": words.first ?? "", "family": words.count > 1 ? words[1] : ""]
        }
        do {
            _ = try NewPerson.make(id: login, members: members, email: email, in: exchange) { tables in
                tables.account(gitHubLogin: login) == nil ? nil : "The user name \"\(login)\" is taken."
            }
        } catch let error as NewPerson.Refusal {
            return refuseSignUp(exchange, form, error.sentence)
        }
        return try signIn(login, exchange, then: form["return_to"] ?? "/")
    }

    private func refuseSignUp(_ exchange: Exchange, _ form: Form, _ issue: String) -> Response {
        signUpPage(exchange, form, issue: issue).diagnosed(Diagnosis(issue))
    }
}

/// A person's session with a browser at github.com.
struct Session: Row {
    static let table = Table<Session>("github.session", limit: 100_000, indexes: [byAccount]) { $0.expires }
    static let byAccount = Index<Session, String>("account") { $0.account }

    /// The value of the session's cookie.
    let key: String
    let account: String
    let expires: Instant
    /// The token against cross-site request forgery that the github.com forms for a signed-in person carry.
    let authenticityToken: String
    /// Whether the person has chosen the account, and no authorization request has used this choice yet.
    var isFresh = true

    /// The session's ID in the control API. It isn't the cookie's value, because that is a secret.
    var id: String { Hex.encode(Array(Digest.sha256(key).prefix(8))) }
}

/// A browser's session at github.com, with the person who signed in.
struct SignedIn: Sendable {
    let id: String
    let account: Account
    let authenticityToken: String
    let isFresh: Bool

    func holds(_ token: String?) -> Bool { token?.isSecret(authenticityToken) ?? false }
}

extension GitHubProvider {
    static let cookie = "understudy_github_session"
    private static let sessionLifetime = TimeSpan.days(14)

    func session(_ exchange: Exchange) -> SignedIn? {
        guard let id = Cookies(exchange.request.header("Cookie") ?? "")[GitHubProvider.cookie] else { return nil }
        return exchange.world.read { tables in
            guard let session = tables.find(Session.self, id), session.expires > tables.now,
                let account = tables.account(session.account)
            else { return nil }
            return SignedIn(
                id: id, account: account, authenticityToken: session.authenticityToken, isFresh: session.isFresh)
        }
    }

    /// Signs an account in at github.com, and redirects to `path` on that host.
    func signIn(_ account: String, _ exchange: Exchange, then path: String) throws -> Response {
        let id = try exchange.world.update(for: account) { tables in
            let session = Session(
                key: Hex.encode(tables.random.bytes(16)), account: account,
                expires: tables.now + GitHubProvider.sessionLifetime,
                authenticityToken: Hex.encode(tables.random.bytes(16)))
            tables.put(session)
            return session.key
        }
        guard let id else {
            return Pages.problem(
                exchange, 422, "Nobody by that name", Diagnosis("there is \(exchange.noAccount(account))"))
        }
        var response = Response.redirect(to: Pages.base(exchange) + GitHubProvider.local(path))
        response.headers.append(
            (name: "Set-Cookie", value: "\(GitHubProvider.cookie)=\(id); \(cookieAttributes(exchange))"))
        return response
    }

    func signOut(_ exchange: Exchange) throws -> Response {
        var response = Response.redirect(to: Pages.base(exchange) + "/login")
        if let session = session(exchange) { try exchange.world.update { $0.remove(Session.self, session.id) } }
        response.headers.append(
            (name: "Set-Cookie", value: "\(GitHubProvider.cookie)=; Max-Age=0; \(cookieAttributes(exchange))"))
        return response
    }

    private func cookieAttributes(_ exchange: Exchange) -> String {
        "Path=\(exchange.address.cookiePath); HttpOnly; SameSite=Lax"
    }

    /// Returns `path` if it is a path on github.com, and `/` for anything that could lead to a different host.
    static func local(_ path: String?) -> String {
        guard let path, path.hasPrefix("/"), !path.hasPrefix("//"), !path.contains("\\"),
            !path.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F })
        else { return "/" }
        return path
    }
}

extension Transaction {
    /// Returns whether the person has just chosen the account. The choice counts for one authorization request only, so
    /// this function returns `false` for the next one.
    mutating func useFreshness(of session: String) -> Bool {
        guard var known = find(Session.self, session), known.isFresh else { return false }
        known.isFresh = false
        put(known)
        return true
    }
}

/// The pages of the stand-in for github.com. They work without scripts and by keyboard, and have no logo.
enum Pages {
    static func base(_ exchange: Exchange) -> String { exchange.address.base(of: GitHubProvider.host) }

    static func page(_ title: String, status: Int = 200, _ content: [HTML]) -> Response {
        var response = Page.response(title: title, status: status, look: .github, content)
        // A page that asks for consent must not be shown within another.
        response.headers += [
            (name: "X-Frame-Options", value: "deny"),
            (name: "Content-Security-Policy", value: "frame-ancestors 'none'"),
        ]
        return response
    }

    static func form(_ exchange: Exchange, to path: String, _ children: [HTML]) -> HTML {
        .element(
            "form", attributes: [(name: "method", value: "post"), (name: "action", value: base(exchange) + path)],
            children: children)
    }

    static func submit(_ label: String, name: String, value: String, isQuiet: Bool = false, isFirst: Bool = false)
        -> HTML
    {
        var attributes: [(String, String?)] = [("type", "submit"), ("name", name), ("value", value)]
        if isQuiet { attributes.append(("class", "quiet")) }
        if isFirst { attributes.append(("autofocus", nil)) }
        return .tag("button", attributes, label)
    }

    static func link(_ exchange: Exchange, _ label: String, to path: String) -> HTML {
        .tag("a", [("class", "button quiet"), ("href", base(exchange) + path)], label)
    }

    // MARK: - Problems

    static func problem(_ exchange: Exchange, _ status: Int, _ title: String, _ diagnosis: Diagnosis) -> Response {
        page(
            title, status: status,
            [.tag("h1", [], title), Page.why(diagnosis)]
        ).diagnosed(diagnosis)
    }

    /// Returns github.com's page for an unknown `client_id` or address.
    static func notFound(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response {
        problem(exchange, 404, "This page doesn't exist", diagnosis)
    }

    static func mismatch(_ exchange: Exchange, _ app: GitHubSection.App, _ diagnosis: Diagnosis) -> Response {
        let (title, text) = ("Be careful!", "The redirect_uri is not associated with this application.")
        return page(
            title, status: 400,
            [
                .tag("h1", [], title), .tag("p", [("class", "error")], text),
                .tag(
                    "p", [],
                    "\(app.name) may be configured wrongly, or something tries to send you to a place you don't expect."
                ),
                Page.why(diagnosis),
            ]
        ).diagnosed(diagnosis).known(by: GitHubProvider.evidence.ofError(title, text))
    }

    static func forged(_ exchange: Exchange) -> Response {
        problem(
            exchange, 422, "This form can't be used",
            Diagnosis("authenticity_token doesn't belong to this session: reload the page, and submit the form on it"))
    }

    static func nobody(_ exchange: Exchange) -> Response {
        problem(
            exchange, 400, "Nobody can sign in",
            Diagnosis("there is no account to sign in with: add one in the seed, or with POST accounts"))
    }
}
