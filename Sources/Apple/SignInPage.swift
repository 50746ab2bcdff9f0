import HTTPServer
import JOSE
import OAuth
import EmulatorCore

/// The pages on which a person chooses an account and consents. They work without scripts and by keyboard, and have no
/// logo.
enum SignInPage {
    static let path = "/auth/authorize/continue"

    static func choosePerson(
        _ exchange: Exchange, _ request: AuthorizationRequest, search: PersonChooser.Search? = nil
    ) -> Response {
        let chooser = PersonChooser(exchange, search)
        let people = chooser.fields { account in
            PersonChooser.button(account, title: account.fullName, notes: notes(on: account))
        }
        let nobody = HTML.tag(
            "p", [], "Nobody is seeded. Add a person to the seed, or with POST /_understudy/v1/accounts.")
        return page(
            exchange, request, title: "Sign in with Apple",
            [
                .tag("h1", [], "Sign in with Apple"),
                .tag(
                    "p", [("class", "soft")],
                    "Choose an account for \(request.client.id), a client of team \(request.client.team)."),
            ], (chooser.isEmpty ? [nobody] : people) + [somebodyElse])
    }

    private static let somebodyElse = HTML.tag(
        "button",
        [("class", "quiet"), ("type", "submit"), ("name", "action"), ("value", "new"), ("formnovalidate", nil)],
        "Use another Apple Account")

    /// Shows the form for a new person. `problem` is the error of the values sent before.
    static func newPerson(
        _ exchange: Exchange, _ request: AuthorizationRequest, _ person: NewPerson, problem: String? = nil
    ) -> Response {
        let alert = problem.map { [HTML.tag("p", [("class", "error"), ("role", "alert")], $0)] } ?? []
        let make = HTML.tag("button", [("type", "submit"), ("name", "action"), ("value", "make")], "Continue")
        let response = page(
            exchange, request, title: "Another Apple Account", status: problem == nil ? 200 : 422,
            [
                .tag("h1", [], "Another Apple Account"),
                .tag("p", [("class", "soft")], "It lasts until this world is reset."),
            ], alert + person.fields + [make])
        return problem.map { response.diagnosed(Diagnosis($0)) } ?? response
    }

    private static func notes(on account: Account) -> String {
        var notes = [account.email]
        if !account.emailVerified { notes.append("address not verified") }
        if !account.apple.shareEmail { notes.append("hides the address by default") }
        return notes.joined(separator: " · ")
    }

    static func consent(
        _ exchange: Exchange, _ request: AuthorizationRequest, _ account: Account, isReturning: Bool
    ) -> Response {
        var fields: [HTML] = [.hidden("account", account.id)]
        if !isReturning, request.scopes.contains(.name) { fields.append(nameFields(account)) }
        if !isReturning, request.scopes.contains(.email) { fields.append(emailFields(account, request)) }
        let others = "\(exchange.address.base(of: AppleProvider.host))/auth/authorize?\(request.form.encoded)"
        fields.append(
            .tag(
                "button", [("type", "submit"), ("name", "action"), ("value", "continue"), ("autofocus", nil)],
                "Continue"))
        fields.append(.tag("a", [("class", "button quiet"), ("href", others)], "Someone else"))
        let introduction =
            isReturning
            ? "\(account.fullName) has used \(request.client.id) before, so there is nothing more to choose."
            : "\(account.fullName) signs in to \(request.client.id) for the first time."
        let title = "Use Sign in with Apple as \(account.fullName)?"
        return page(
            exchange, request, title: title, [.tag("h1", [], title), .tag("p", [("class", "soft")], introduction)],
            fields)
    }

    private static func nameFields(_ account: Account) -> HTML {
        func input(_ name: String, _ label: String, _ value: String, _ hint: String) -> HTML {
            .tag(
                "label", [], .text(label),
                .tag("input", [("type", "text"), ("name", name), ("value", value), ("autocomplete", hint)]))
        }
        return .tag(
            "fieldset", [], .tag("legend", [], "Name"), input("given", "Given name", account.name.given, "given-name"),
            input("family", "Family name", account.name.family, "family-name"))
    }

    private static func emailFields(_ account: Account, _ request: AuthorizationRequest) -> HTML {
        func choice(_ value: String, _ label: String, _ address: String, isChosen: Bool) -> HTML {
            let attributes: [(String, String?)] = [("type", "radio"), ("name", "email"), ("value", value)]
            return .tag(
                "label", [("class", "choice")], .tag("input", attributes + (isChosen ? [("checked", nil)] : [])),
                .tag("span", [], .text(label), .tag("br"), .tag("code", [], address)))
        }
        let relay = AppleIdentifiers.relayAddress(account: account.id, team: request.client.team)
        return .tag(
            "fieldset", [], .tag("legend", [], "E-mail address"),
            choice("share", "Share it", account.email, isChosen: account.apple.shareEmail),
            choice("hide", "Hide it behind a relay address", relay, isChosen: !account.apple.shareEmail))
    }

    private static func page(
        _ exchange: Exchange, _ request: AuthorizationRequest, title: String, status: Int = 200, _ heading: [HTML],
        _ fields: [HTML]
    ) -> Response {
        let action = exchange.address.base(of: AppleProvider.host) + path
        let cancel = HTML.tag(
            "button",
            [("class", "quiet"), ("type", "submit"), ("name", "action"), ("value", "cancel"), ("formnovalidate", nil)],
            "Cancel")
        let form = HTML.element(
            "form", attributes: [(name: "method", value: "post"), (name: "action", value: action)],
            children: [.carrying(request.form)] + fields + [cancel])
        return Page.response(title: title, status: status, look: .apple, heading + [form])
    }
}
