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

        /// `nil` when the form asks for no search.
        package init?(_ form: Form) {
            guard form["action"] == "search" || form["after"] != nil else { return nil }
            text = form["search"] ?? ""
            after = form["after"]
        }
    }

    package let people: [Account]
    private let search: Search?
    private let next: String?

    /// `first` stands before all others, if the form doesn't search for somebody else.
    package init(_ exchange: Exchange, _ search: Search?, first: Account? = nil) {
        self.search = search
        let page = exchange.world.read { tables in
            tables.people(search: search?.text ?? "", after: search?.after, limit: PersonChooser.pageSize)
        }
        next = page.next
        guard let first, search == nil else {
            people = page.people
            return
        }
        people = [first] + page.people.filter { $0.id != first.id }
    }

    package var isEmpty: Bool { people.isEmpty && search == nil }

    /// The search field, a button for each person, and one for more of them.
    package func fields(_ button: (Account) -> HTML) -> [HTML] {
        var fields: [HTML] = []
        // The first button of a form is the one that the Enter key presses.
        if next != nil || search != nil { fields += searchFields }
        fields += people.map(button)
        if people.isEmpty, search != nil { fields.append(.tag("p", [("role", "status")], "Nobody is found.")) }
        if let next {
            fields.append(
                .tag(
                    "button", [("class", "quiet"), ("type", "submit"), ("name", "after"), ("value", next)],
                    "More people"))
        }
        return fields
    }

    private var searchFields: [HTML] {
        [
            .tag(
                "label", [], .text("Name or address"),
                .tag(
                    "input",
                    [
                        ("type", "search"), ("name", "search"), ("value", search?.text ?? ""), ("autocomplete", "off"),
                        ("maxlength", "254"),
                    ])),
            .tag(
                "button", [("class", "quiet"), ("type", "submit"), ("name", "action"), ("value", "search")], "Search"),
        ]
    }

    /// The button of a person.
    package static func button(
        _ account: Account, title: String, notes: String, isSuggested: Bool = false
    ) -> HTML {
        let attributes: [(String, String?)] = [
            ("class", "person"), ("type", "submit"), ("name", "account"), ("value", account.id),
        ]
        return .tag(
            "button", attributes + (isSuggested ? [("autofocus", nil)] : []), .tag("strong", [], title),
            .tag("span", [("class", "soft small")], notes))
    }
}
