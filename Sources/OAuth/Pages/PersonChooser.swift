import EmulatorCore
import HTTPServer

/// The people to choose from on a sign-in page: twenty at a time, with a search where there are more. All of it are fields of
/// the page's own form, so that it works without scripts.
package struct PersonChooser: Sendable {
    package static let pageSize = 20

    /// What a search asked for: a text that people's names or addresses begin with, and after whom to go on.
    package struct Search: Sendable {
        let text: String
        let after: String?

        /// `nil` when the form, or the query of a page that is asked for with its search, has none.
        package init?(_ form: Form) {
            guard form["action"] == "search" || form["after"] != nil else { return nil }
            text = form["search"] ?? ""
            after = form["after"]
        }
    }

    package let people: [Account]
    private let search: Search?
    private let next: String?
    /// Where searches go, when the form is answered elsewhere.
    private let searchAddress: String?

    /// `first` stands before all others, if the form doesn't search for somebody else, and of those on a page the preferred ones
    /// before the rest. Searches are posted with the form;
    /// with `searchAddress` they go there, as a query of all the form's fields.
    package init(
        _ exchange: Exchange, _ search: Search?, first: Account? = nil, searchAddress: String? = nil,
        preferring isPreferred: ((Account) -> Bool)? = nil
    ) {
        self.search = search
        self.searchAddress = searchAddress
        if search?.text.isEmpty == false { exchange.world.seed.people.prepareOrder() }
        let page = exchange.world.read { tables in
            tables.people(search: search?.text ?? "", after: search?.after, limit: PersonChooser.pageSize)
        }
        next = page.next
        let ordered =
            isPreferred.map { isPreferred in
                page.people.filter(isPreferred) + page.people.filter { !isPreferred($0) }
            } ?? page.people
        guard let first, search == nil else {
            people = ordered
            return
        }
        people = [first] + ordered.filter { $0.id != first.id }
    }

    package var isEmpty: Bool { people.isEmpty && search == nil }

    /// The search field, a button for each person, and one for more of them.
    package func fields(_ button: (Account) -> HTML) -> [HTML] {
        var fields: [HTML] = []
        // The first button of a form is the one that the Enter key presses.
        if next != nil || search != nil { fields.append(searchFields) }
        if !people.isEmpty {
            fields.append(
                .element(
                    "div", attributes: [(name: "class", value: "people")], children: people.map(button)))
        }
        if people.isEmpty, search != nil { fields.append(.tag("p", [("role", "status")], "Nobody is found.")) }
        if let next { fields.append(searchButton("More people", name: "after", value: next)) }
        return fields
    }

    private func searchButton(_ label: String, name: String, value: String) -> HTML {
        var attributes: [(String, String?)] = [
            ("class", "quiet"), ("type", "submit"), ("name", name), ("value", value),
        ]
        if let searchAddress { attributes += [("formmethod", "get"), ("formaction", searchAddress)] }
        return .tag("button", attributes, label)
    }

    private var searchFields: HTML {
        .tag(
            "div", [("class", "search")],
            .tag(
                "label", [], .text("Name or address"),
                .tag(
                    "input",
                    [
                        ("type", "search"), ("name", "search"), ("value", search?.text ?? ""), ("autocomplete", "off"),
                        ("maxlength", "254"),
                    ])),
            searchButton("Search", name: "action", value: "search"))
    }

    /// The button of a person.
    package static func button(
        _ account: Account, title: String, notes: String, isSuggested: Bool = false
    ) -> HTML {
        let attributes: [(String, String?)] = [
            ("class", "person"), ("type", "submit"), ("name", "account"), ("value", account.id),
            ("data-initial", title.prefix(1).uppercased()),
        ]
        return .tag(
            "button", attributes + (isSuggested ? [("autofocus", nil)] : []),
            .tag("span", [], .tag("strong", [], title), .tag("span", [("class", "soft small")], notes)))
    }
}
