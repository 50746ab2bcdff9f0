import JSON
import Worlds

extension Account: Row {
    package static let table = Table<Account>(
        "people", indexes: [byEmail, byPhoneNumber, byIdentifier], sortedBy: names)

    package var key: String { id }

    /// The largest number of people to which a test world can grow while the daemon runs. A seed (initial data) may
    /// have more people.
    package static let limit = 100_000

    package static let byEmail = Index<Account, String>("email") { $0.email.lowercased() }
    package static let byPhoneNumber = Index<Account, String>("phoneNumber") { $0.phoneNumber }
    /// The accounts by the identifiers that providers have for a person or for the person's groups: see
    /// `AccountProfile.identifiers`.
    package static let byIdentifier = Index<Account, String>("identifier", each: { $0.identifiers })
    /// The accounts by their search texts. A search finds an account by the beginning of any of the account's texts.
    package static let names = SortedIndex<Account>("names") { account in
        Set(account.searchNames.map { $0.lowercased() }).map { "\($0)\u{0}\(account.id)" }
    }

    /// Returns the account's first search text, in alphabetical order, that begins with `prefix`.
    fileprivate static func firstName(of account: Account, beginningWith prefix: String) -> String? {
        names.texts(account).filter { $0.hasPrefix(prefix) }.min()
    }
}

extension TableReading where Self: ~Copyable {
    package func account(_ id: String) -> Account? { find(Account.self, id) }

    /// Returns the first identifier of `account` that another person has already: its path in the JSON of the request
    /// (`written`), and the ID of the other person. Identifiers that the request doesn't contain, and those that the
    /// account had before it (`earlier`), aren't checked.
    package func takenIdentifier(
        of account: Account, written: JSONValue, before earlier: Account? = nil
    ) -> (path: String, owner: String)? {
        let known = Set(earlier?.uniqueIdentifiers.map(\.identifier) ?? [])
        for unique in account.uniqueIdentifiers where !known.contains(unique.identifier) {
            guard let value = written[unique.profile]?[unique.member], !value.isNull else { continue }
            let owners = rows(Account.byIdentifier, unique.identifier, limit: 2)
            guard let owner = owners.first(where: { $0.id != account.id }) else { continue }
            return (path: "$.\(unique.profile).\(unique.member)", owner: owner.id)
        }
        return nil
    }

    /// Returns the person who signs in when no sign-in page is shown: the account of `outcome`, else that of the
    /// `interaction` setting, else the account that was added first. Returns `nil` if there is no such account.
    package func personSigningIn(_ interaction: Interaction, _ outcome: Outcome?) -> Account? {
        (outcome?.account ?? interaction.account).map { account($0) } ?? first(Account.self)
    }
}

extension World {
    /// Changes table rows that belong to a person, such as grants, codes and sessions. Returns `nil`, and changes
    /// nothing, when the person has been removed meanwhile, so that no row is left for a new person with the same ID.
    package func update<Outcome: Sendable>(
        for person: String, _ body: (inout Transaction) -> Outcome
    ) throws(StoreFailure) -> Outcome? {
        try update { tables in tables.account(person) == nil ? nil : body(&tables) }
    }
}

extension Exchange {
    /// Returns the message "no account …". If the ID is similar to that of an account, the message suggests that
    /// account.
    package func noAccount(_ id: String) -> String {
        // Words are compared one by one, so only with a number that is quick.
        let known = world.read { $0.rows(Account.self, limit: 1_000).map(\.id) }
        return "no account \(Diagnosis.quote(id))" + Spelling.hint(id, among: known)
    }
}

extension Transaction {
    package var outcomes: OutcomeQueue {
        get { self[OutcomeQueue.self] }
        _modify { yield &self[OutcomeQueue.self] }
    }

    package var faults: FaultQueue {
        get { self[FaultQueue.self] }
        _modify { yield &self[FaultQueue.self] }
    }
}

package struct PeoplePage: Sendable {
    package let people: [Account]
    /// The ID of the last person on the page, with which the next page is requested; `nil` on the last page.
    package let next: String?
}

extension TableReading where Self: ~Copyable {
    /// Returns at most `limit` people after the person with the ID `after`. With a `search`, these are people whose ID,
    /// e-mail address, name, a word of the name, or a name in a provider's profile begins with `search`, in upper or
    /// lower case. Without a search, all people are listed in the order in which they were added.
    package func people(search: String = "", after: String? = nil, limit: Int) -> PeoplePage {
        guard !search.isEmpty else {
            let found = rows(Account.self, after: after, limit: limit + 1)
            return PeoplePage(
                people: Array(found.prefix(limit)), next: found.count > limit ? found[limit - 1].id : nil)
        }
        let prefix = search.lowercased()
        var found: [Account] = []
        var place = after.flatMap { account($0) }.flatMap { Account.firstName(of: $0, beginningWith: prefix) }
        repeat {
            let entries = rows(Account.names, prefix: prefix, after: place, limit: 2 * limit)
            // A person whom several words match is listed at the first of them.
            found += entries.filter { Account.firstName(of: $0.row, beginningWith: prefix) == $0.text }.map(\.row)
            place = entries.last?.text
        } while place != nil && found.count <= limit
        return PeoplePage(
            people: Array(found.prefix(limit)), next: found.count > limit ? found[limit - 1].id : nil)
    }
}
