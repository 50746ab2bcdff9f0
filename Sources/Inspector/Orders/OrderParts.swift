import Control
import EmulatorCore
import HTTPServer
import JSON

// Parts that the pages of orders and settings share.

extension Inspector {
    /// Returns the menu of the pages of an area. `current` is the path of the page that is shown.
    func tabs(_ exchange: Exchange, _ label: String, _ pages: [(path: String, title: String)], current: String) -> HTML
    {
        let items = pages.map { page -> HTML in
            let isCurrent = page.path == current
            return .tag(
                "li", [],
                .tag(
                    "a",
                    [("href", exchange.inspector(page.path))] + (isCurrent ? [("aria-current", "page")] : []),
                    page.title))
        }
        return .tag(
            "nav", [("class", "orders-tabs"), ("aria-label", label)], .element("ul", attributes: [], children: items))
    }

    /// Returns the reason for a refusal, to be shown above the form, which stays filled in.
    func refusalNote(_ refusal: CallRefusal?) -> HTML {
        guard let refusal else { return .group([]) }
        let issues =
            refusal.issues.isEmpty ? [(path: refusal.path ?? "", message: refusal.message)] : refusal.issues
        let lines = issues.map { issue -> HTML in
            .tag(
                "li", [], issue.path.isEmpty ? .group([]) : .group([.tag("code", [], issue.path), .text(": ")]),
                .tag("span", [("class", "text")], ShownText.source(issue.message)))
        }
        return .tag(
            "div", [("class", "note bad"), ("role", "alert")],
            .tag("p", [], .tag("strong", [], "Nothing was done.")),
            .element("ul", attributes: [], children: lines),
            refusal.more.map { .tag("p", [], $0) } ?? .group([]))
    }

    /// Shows the call that a form makes, to be read and copied: so people learn the control API.
    func sentCall(_ exchange: Exchange, _ method: String, _ path: String, _ body: JSONValue?) -> HTML {
        let url = "\(exchange.address.ownBase)\(ControlAPI.root)/\(path)"
        var command = "curl "
        if method != (body == nil ? "GET" : "POST") { command += "-X \(method) " }
        command += ShellWord.quoted(url)
        if let body { command += " \\\n    -d \(ShellWord.quoted(body.text))" }
        return .tag(
            "section", [("class", "card orders-sent"), ("id", "sent"), ("aria-labelledby", "sent-title")],
            .tag("h2", [("id", "sent-title")], "The call that this makes"),
            .tag("p", [], .tag("code", [], "\(method) \(ControlAPI.root)/\(path)")),
            body.map {
                .tag(
                    "pre", [("id", "sent-json"), ("tabindex", "0"), ("aria-label", "Body")],
                    ShownText.source($0.indented()))
            }
                ?? .group([]),
            .tag(
                "pre", [("id", "sent-curl"), ("tabindex", "0"), ("aria-label", "As a command")],
                ShownText.source(command)),
            copyButton("sent-curl", "Copy the command"))
    }

    /// Returns a button that copies the text of the element with this ID.
    func copyButton(_ id: String, _ text: String = "Copy", spoken: String? = nil) -> HTML {
        OrderField.button(
            text, spoken: spoken, "quiet small needs-script", [("type", "button"), ("data-copy-from", id)])
    }

    /// Returns a page after a refusal, with the refusal as its diagnosis.
    func refused(_ page: Response, _ refusal: CallRefusal?) -> Response {
        guard page.status >= 400 else { return page }
        let place = refusal?.path.map { "\($0): " } ?? ""
        return page.diagnosed(Diagnosis(place + (refusal?.message ?? "choose what the form offers")))
    }

    // MARK: - Options

    /// Returns the provider with this name.
    func provider(_ name: String?) -> (any Provider)? { providers.first { $0.name == name } }

    func title(_ provider: any Provider) -> String { provider.facts.title }

    /// The number of clients or people that a field offers. Any other can be typed.
    private static let offered = 100

    /// Returns the seed's clients of a provider.
    func clientOptions(_ exchange: Exchange, _ provider: String) -> [(value: String, text: String)] {
        exchange.world.seed.sections.filter { type(of: $0).name == provider }.flatMap(\.seededClients)
            .prefix(Inspector.offered).map { (value: $0.id, text: $0.kind) }
    }

    func personOptions(_ exchange: Exchange) -> [(value: String, text: String)] {
        exchange.world.read { $0.people(limit: Inspector.offered).people }.map { person in
            (
                value: person.id,
                text: ShownText.source([person.fullName, person.email].filter { !$0.isEmpty }.joined(separator: ", "))
            )
        }
    }

    /// Returns a field for a person: the first ones are offered, a script searches for others.
    func personField(_ exchange: Exchange, _ form: Form, hint: String) -> HTML {
        OrderField.line(
            "Person", "account", form, hint: hint, options: personOptions(exchange),
            [("data-search", exchange.inspector("orders/people"))])
    }

    /// Answers the script that searches while a person types a name: `orders/people?search=ad`, with an ID and a name
    /// for each person found.
    func foundPeople(_ exchange: Exchange) -> Response {
        let search = exchange.request.queryForm["search"] ?? ""
        let found = exchange.world.read { $0.people(search: search, limit: 20).people }
        let people = found.map { person -> JSONValue in
            ["value": .string(person.id), "text": .string("\(person.fullName), \(person.email)")]
        }
        return Response(
            status: 200, contentType: "application/json", headers: Inspector.protection,
            body: JSONValue.array(people).serialized())
    }
}
