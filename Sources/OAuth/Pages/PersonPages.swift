import HTTPServer
import JOSE
import EmulatorCore

/// Two pages on which a person says who they are and whether they consent, for providers whose sign-in has no quirks of
/// its own. They work without scripts and by keyboard, and keep no session: the request travels in the form.
package struct PersonPages: Sendable {
    /// What the person's form says.
    package enum Answer: Sendable {
        case cancel
        /// Other people to choose from.
        case searched(PersonChooser.Search)
        /// Who it is; consent is still to be asked for.
        case chosen(String)
        case approved(String)
    }

    private let banner: String
    private let host: String
    private let path: String

    /// The form goes to `path` at `host`.
    package init(provider: String, host: String, path: String) {
        banner = Page.banner(standingInFor: provider)
        self.host = host
        self.path = path
    }

    /// The request that the form carries and what the person answered; `nil` for a form that isn't ours.
    package func read(_ form: Form) -> (request: Form, answer: Answer)? {
        guard let request = form.carriedRequest else { return nil }
        if let search = PersonChooser.Search(form) { return (request, .searched(search)) }
        switch (form["action"], form["account"]) {
        case ("continue", let account?): return (request, .approved(account))
        case (nil, let account?): return (request, .chosen(account))
        default: return (request, .cancel)
        }
    }

    package func choose(
        _ exchange: Exchange, client: String, request: Form, hint: String? = nil, search: PersonChooser.Search? = nil
    ) -> Response {
        let suggested = hint.flatMap { hint in
            exchange.world.read { $0.account(hint) ?? $0.first(Account.byEmail, hint.lowercased()) }
        }
        let chooser = PersonChooser(exchange, search, first: suggested)
        let people = chooser.fields { account in
            PersonChooser.button(
                account, title: account.fullName.isEmpty ? account.id : account.fullName,
                notes: account.email + (account.emailVerified ? "" : " · address not verified"),
                isSuggested: search == nil && account.id == suggested?.id)
        }
        return page(
            "Sign in",
            [
                .tag("h1", [], "Who signs in?"), .tag("p", [("class", "soft")], "to go on to \(client)"),
                form(exchange, request, people + [button("Cancel", "cancel", isQuiet: true)]),
            ])
    }

    /// `items` say in words what the client will get.
    package func consent(
        _ exchange: Exchange, client: String, account: Account, items: [String], request: Form
    ) -> Response {
        let list = HTML.element("ul", attributes: [], children: items.map { .tag("li", [], $0) })
        return page(
            "Continue to \(client)",
            [
                .tag("h1", [], "Continue to \(client)?"),
                .tag("p", [("class", "soft")], "\(client) gets, of \(account.fullName) (\(account.email)):"), list,
                form(
                    exchange, request,
                    [
                        .hidden("account", account.id), button("Continue", "continue", isFirst: true),
                        button("Cancel", "cancel", isQuiet: true),
                    ]),
            ])
    }

    /// Asks for the code that a device shows: <https://datatracker.ietf.org/doc/html/rfc8628#section-3.3>. `problem` is what was
    /// wrong with the one before.
    package func enterCode(_ exchange: Exchange, _ code: String, problem: Diagnosis? = nil) -> Response {
        let input: [(String, String?)] = [
            ("type", "text"), ("name", "user_code"), ("value", code), ("autocomplete", "off"), ("maxlength", "32"),
            ("autofocus", nil),
        ]
        var content: [HTML] = [.tag("h1", [], "Connect a device")]
        if let problem { content.append(.tag("p", [("class", "error"), ("role", "alert")], problem.advice)) }
        content.append(
            form(
                exchange, nil,
                [.tag("label", [], .text("The code that it shows"), .tag("input", input)), button("Go on", "enter")]))
        let page = page("Connect a device", status: problem == nil ? 200 : 400, content)
        return problem.map { page.diagnosed($0) } ?? page
    }

    /// Asks a question that is answered with yes or no.
    package func ask(_ exchange: Exchange, _ title: String, _ text: String, yes: String, request: Form) -> Response {
        page(
            title,
            [
                .tag("h1", [], title), .tag("p", [("class", "soft")], text),
                form(
                    exchange, request,
                    [button(yes, "yes", isFirst: true), button("Cancel", "cancel", isQuiet: true)]),
            ])
    }

    /// Says that something is done.
    package func notice(_ title: String, _ text: String) -> Response {
        page(title, [.tag("h1", [], title), .tag("p", [("class", "soft")], text)])
    }

    /// An error that stays here.
    package func problem(_ status: Int, _ title: String, _ diagnosis: Diagnosis) -> Response {
        page(
            title, status: status,
            [.tag("h1", [], title), .tag("h2", [], "Why"), .tag("p", [], diagnosis.line)]
        ).diagnosed(diagnosis)
    }

    private func page(_ title: String, status: Int = 200, _ content: [HTML]) -> Response {
        var response = Page.response(title: title, status: status, banner: banner, content)
        response.headers.append((name: "X-Frame-Options", value: "deny"))
        return response
    }

    private func form(_ exchange: Exchange, _ request: Form?, _ children: [HTML]) -> HTML {
        .element(
            "form",
            attributes: [
                (name: "method", value: "post"), (name: "action", value: exchange.address.url(of: host, path)),
            ],
            children: (request.map { [.carrying($0)] } ?? []) + children)
    }

    private func button(_ label: String, _ action: String, isQuiet: Bool = false, isFirst: Bool = false) -> HTML {
        var attributes: [(String, String?)] = [("type", "submit"), ("name", "action"), ("value", action)]
        if isQuiet { attributes.append(("class", "quiet")) }
        if isFirst { attributes.append(("autofocus", nil)) }
        return .tag("button", attributes, label)
    }
}
