import EmulatorCore
import HTTPServer

// The list of the people in the world, page by page.

extension Inspector {
    var peopleEndpoints: [Endpoint] {
        [
            page("GET", "people") { try people($0) }, page("GET", "new/person") { newPerson($0) },
            page("GET", "people/:id") { try person($0) }, page("GET", "people/:id/edit") { try editPerson($0) },
            form("new/person") { exchange, form in try await addPerson(exchange, form) },
            form("people/:id/edit") { exchange, form in try await changePerson(exchange, form) },
            form("people/:id/act") { exchange, form in try await act(exchange, form) },
            form("people/:id/delete") { exchange, _ in try await deletePerson(exchange) },
        ]
    }

    /// The number of lines on a page of a list.
    static let linesShown = 50

    private func people(_ exchange: Exchange) throws -> Response {
        let form = exchange.request.queryForm
        let search = form["q"] ?? ""
        if !search.isEmpty { exchange.world.seed.people.prepareOrder() }
        let (found, count) = exchange.world.read { tables in
            (
                tables.people(search: search, after: form["after"], limit: Inspector.linesShown),
                tables.count(Account.self)
            )
        }
        let make = HTML.tag("a", [("class", "button"), ("href", exchange.inspector("new/person"))], "New person")
        let content: HTML =
            found.people.isEmpty
            ? .tag("p", [("class", "empty")], search.isEmpty ? "There is nobody here." : "Nobody is found.")
            : table(found.people, exchange)
        return page(
            exchange, .people, title: "People",
            lead: [
                .tag("span", [("class", "soft")], count == 1 ? "1 person" : "\(Inspector.grouped(count)) people"), make,
            ],
            [
                try notice(exchange),
                .tag(
                    "p", [("class", "soft")],
                    "Who can sign in at every provider. What apps make of them are app users: those are under App users."
                ),
                Inspector.search("Name, address or ID begins with", search, at: "people", exchange), content,
                Inspector.paging(
                    [("q", search)], after: form["after"], next: found.next, at: "people", exchange),
            ])
    }

    private func table(_ people: [Account], _ exchange: Exchange) -> HTML {
        let rows = people.map { account in
            HTML.tag(
                "tr", [],
                .tag(
                    "td", [],
                    .tag(
                        "a", [("href", exchange.inspector("people/\(Exchange.segment(account.id))"))],
                        ShownText.isolated(account.fullName.isEmpty ? account.id : account.fullName))),
                .tag("td", [("data-label", "ID")], .tag("code", [], ShownText.isolated(account.id))),
                .tag(
                    "td", [("data-label", "Address")], ShownText.isolated(account.email), .text(" "),
                    account.emailVerified
                        ? .group([]) : .tag("span", [("class", "badge warn")], "not verified")),
                .tag("td", [("data-label", "Phone number")], ShownText.isolated(account.phoneNumber ?? "–")))
        }
        return Inspector.table(["Name", "ID", "Address", "Phone number"], rows)
    }

    // MARK: - Parts of all lists

    static func table(_ columns: [String], _ rows: [HTML]) -> HTML {
        let head = columns.map { HTML.tag("th", [("scope", "col")], $0) }
        return .tag(
            "table", [("class", "stack people-list")],
            .tag("thead", [], .element("tr", attributes: [], children: head)),
            .element("tbody", attributes: [], children: rows))
    }

    static func search(_ label: String, _ text: String, at path: String, _ exchange: Exchange) -> HTML {
        .tag(
            "form", [("class", "people-search"), ("role", "search"), ("action", exchange.inspector(path))],
            .tag(
                "label", [], .text(label),
                .tag(
                    "input",
                    [("type", "search"), ("name", "q"), ("value", text), ("maxlength", "254"), ("autocomplete", "off")])
            ),
            .tag("button", [("class", "quiet")], "Search"))
    }

    /// Returns links to the first page and to the next one.
    static func paging(
        _ fields: [(String, String)], after: String?, next: String?, at path: String, _ exchange: Exchange,
        cursor: String = "after"
    ) -> HTML {
        func link(_ text: String, _ more: [(String, String)]) -> HTML {
            let query = Form(
                fields: (fields.filter { !$0.1.isEmpty } + more).map { Form.Field(name: $0.0, value: $0.1) }
            ).encoded
            let address = exchange.inspector(path) + (query.isEmpty ? "" : "?\(query)")
            return .tag("a", [("class", "button quiet"), ("href", address)], text)
        }
        var links: [HTML] = []
        if after != nil { links.append(link("First page", [])) }
        if let next { links.append(link("Next page", [(cursor, next)])) }
        guard !links.isEmpty else { return .group([]) }
        return .element(
            "nav", attributes: [(name: "class", value: "row people-paging"), (name: "aria-label", value: "Pages")],
            children: links)
    }

    /// Returns a number with commas: `100,000`.
    static func grouped(_ count: Int) -> String {
        let digits = Array(String(count))
        return digits.enumerated().reduce("") { text, digit in
            let isGroup = digit.offset > 0 && (digits.count - digit.offset) % 3 == 0
            return text + (isGroup ? "," : "") + String(digit.element)
        }
    }
}
