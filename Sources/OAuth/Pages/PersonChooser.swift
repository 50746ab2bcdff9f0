import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Text
import Worlds

/// The account chooser on a sign-in page. It lists twenty people at a time, with a search if there are more. It
/// consists of fields of the page's own form, so it works without scripts.
package struct PersonChooser: Sendable {
    package static let pageSize = 20

    /// A search for people in the account chooser: the beginning of a name, an email address or an account ID, and the
    /// person after whom the list continues.
    package struct Search: Sendable {
        let text: String
        let after: String?

        /// Reads a search for people from a form, or from the query of a page. Returns `nil` if there is none.
        package init?(_ form: Form) {
            guard form["action"] == "search" || form["after"] != nil else { return nil }
            text = form["search"] ?? ""
            after = form["after"]
        }
    }

    package let people: [Account]
    private let search: Search?
    private let next: String?
    /// The address to which searches for people are sent, if it isn't the address of the page's form.
    private let searchAddress: String?

    /// Reads the people for one page of the account chooser.
    ///
    /// - Parameters:
    ///   - first: The account at the head of the list; without effect if `search` isn't `nil`.
    ///   - searchAddress: The address to which searches are sent by GET. If it is `nil`, searches are posted with the
    ///     page's form.
    ///   - isPreferred: Returns `true` for the people who precede the others on the page.
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

/// A new account that somebody creates on a sign-in page. The account exists until the test world is reset.
package struct NewPerson: Sendable {
    /// The reason why the new account can't be created, as a sentence for the page.
    package struct Refusal: Error, Sendable {
        package let sentence: String

        package init(_ sentence: String) { self.sentence = sentence }
    }

    let given: String
    let family: String
    let email: String
    let isVerified: Bool

    /// Reads the form for a new account. Without a sent form, the fields are empty, and the box that marks the email
    /// address as verified is ticked.
    package init(_ form: Form?) {
        func text(_ name: String) -> String {
            (form?[name] ?? "").trimmed
        }
        (given, family, email) = (text("given"), text("family"), text("email"))
        isVerified = form?["email"] == nil || form?["verified"] != nil
    }

    /// Makes an account in the test world of the request.
    ///
    /// - Parameters:
    ///   - id: the account's ID for the control API; by default made of the email address.
    ///   - obstacle: returns why the provider can't create the account, as a sentence for the page.
    package static func make(
        id: String? = nil, members: JSONObject, email: String, in exchange: Exchange,
        unless obstacle: (borrowing Transaction) -> String? = { _ in nil }
    ) throws -> Account {
        guard TextRule.email.holds(email) else { throw Refusal("\"\(email)\" isn't an e-mail address.") }
        let (free, owner) = try exchange.world.update { tables in
            (tables.freeID(id ?? NewPerson.id(from: email)), tables.first(Account.byEmail, email.lowercased()))
        }
        if let owner { throw Refusal("\(email) is the address of \(owner.fullName), who is here already.") }
        guard id == nil || id == free else { throw Refusal("The user name \"\(id ?? "")\" is taken.") }
        var wanted = JSONObject([("id", .string(free)), ("email", .string(email))])
        wanted.merge(members)
        let account: Account
        do {
            account = try exchange.world.seed.format.account.value(checking: LocatedJSON(.object(wanted), file: "form"))
        } catch {
            throw Refusal("\(error)")
        }
        let met = try exchange.world.update { tables -> String? in
            if let obstacle = obstacle(tables) { return obstacle }
            guard tables.account(free) == nil, tables.first(Account.byEmail, email.lowercased()) == nil else {
                return "Somebody else has just taken \"\(free)\" or \(email): try again."
            }
            guard tables.count(Account.self) < Account.limit else {
                return "There are \(Account.limit) people already."
            }
            tables.put(account)
            return nil
        }
        if let met { throw Refusal(met) }
        return account
    }

    package func make(in exchange: Exchange) throws -> Account {
        guard !given.isEmpty || !family.isEmpty else { throw Refusal("A name is missing.") }
        return try NewPerson.make(
            members: JSONObject([
                ("name", ["given": .string(given), "family": .string(family)]), ("emailVerified", .bool(isVerified)),
            ]), email: email, in: exchange)
    }

    /// Returns the local part of an email address, at most 40 characters, without those that an account ID can't
    /// contain; `person` if the rest is no valid ID.
    private static func id(from email: String) -> String {
        let local = email.lowercased().prefix { $0 != "@" }.prefix(40)
        let id = String(local.filter { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) })
        return TextRule.identifier.holds(id) ? id : "person"
    }

    /// The fields of the form for a new account, filled with the values that the person has sent.
    package var fields: [HTML] {
        func input(_ name: String, _ label: String, _ value: String, _ type: String, _ hint: String) -> HTML {
            var attributes: [(String, String?)] = [
                ("type", type), ("name", name), ("value", value), ("autocomplete", hint), ("maxlength", "254"),
            ]
            if name == "given" { attributes.append(("autofocus", nil)) }
            return .tag("label", [], .text(label), .tag("input", attributes))
        }
        let box: [(String, String?)] = [("type", "checkbox"), ("name", "verified"), ("value", "1")]
        return [
            input("given", "Given name", given, "text", "given-name"),
            input("family", "Family name", family, "text", "family-name"),
            input("email", "E-mail address", email, "email", "email"),
            .tag(
                "label", [("class", "choice")], .tag("input", box + (isVerified ? [("checked", nil)] : [])),
                .tag("span", [], "The provider has verified the address")),
        ]
    }
}

extension Transaction {
    /// Returns `id`, or `id` with a random ending if an account with that ID exists.
    fileprivate mutating func freeID(_ id: String) -> String {
        account(id) == nil ? id : "\(id)-\(Hex.encode(random.bytes(4)))"
    }
}
