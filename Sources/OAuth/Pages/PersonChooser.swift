import EmulatorCore
import HTTPServer

/// The list of people on a sign-in page: twenty at a time, with a search if there are more. It consists of fields of
/// the page's own form, so it works without scripts.
package struct PersonChooser: Sendable {
    package static let pageSize = 20

    /// A search: the beginning of people's names or addresses, and the person after whom to continue.
    package struct Search: Sendable {
        let text: String
        let after: String?

        /// Reads a search from a form, or from the query of a page. Returns `nil` if there is none.
        package init?(_ form: Form) {
            guard form["action"] == "search" || form["after"] != nil else { return nil }
            text = form["search"] ?? ""
            after = form["after"]
        }
    }

    package let people: [Account]
    private let search: Search?
    private let next: String?
    /// The address of searches, if the form is sent elsewhere.
    private let searchAddress: String?

    /// Reads the people of a page. `first` is the first of the list, unless the form searches for others. The preferred
    /// people of a page precede the rest. Searches are posted with the form; with `searchAddress`, they are sent there,
    /// as a query with all fields of the form.
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

    /// Returns the search field, a button for each person, and a button for more.
    package func fields(_ button: (Account) -> HTML) -> [HTML] {
        var fields: [HTML] = []
        // The Enter key presses a form's first button.
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

    /// Returns the button of a person.
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
