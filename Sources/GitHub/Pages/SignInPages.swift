import HTTPServer
import JSON
import JOSE
import OAuth
import EmulatorCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// GET /login, POST /session, GET and POST /signup, POST /logout: a person signs in on these pages. There are no
// passwords: people are chosen from a list.

extension Pages {
    /// Redirects to the sign-in page, which returns to the request.
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
